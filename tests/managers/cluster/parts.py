"""The parts of a cluster reconciler for the benches of this package."""

import random
from collections.abc import Mapping
from typing import Any

from managers.cluster.apply.apply import Applier
from managers.cluster.observe.observer import ClusterObserver, ObserverDependencies
from managers.context.context import FIELD_MANAGER, MARKS
from managers.context.installation import Installation
from managers.context.reads.api_server import ApiServer
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.cache.informer import Informer
from runtime.clock import Clock
from runtime.testing.clock import ManualClock
from runtime.types import Resource
from tests import gen
from tests.gen.api import UNREAD, FakeApi, Outside


def applier_of(
    api: FakeApi, caches: Mapping[Resource, Informer], clock: Clock | None = None
) -> Applier:
    """Applies to this API server, with these caches."""
    owned = OwnedApply(
        api,
        caches,
        field_manager=FIELD_MANAGER,
        marks=MARKS,
        metrics=UNREAD,
        apply_cache=ApplyCache(clock or ManualClock(), random.Random(1)),
    )
    return Applier(owned)


def observer_of(
    outside: Outside,
    caches: Mapping[Resource, Any],
    installation: Installation | None = None,
    **dependencies: Any,
) -> ClusterObserver:
    """Observes these caches; dependencies are further fields of ObserverDependencies."""
    return ClusterObserver(
        caches,
        outside.secrets,
        ApiServer(outside.api, outside.clock, "10.96.0.1"),
        outside.clock,
        installation or gen.INSTALLATION,
        ObserverDependencies(outside.logins, outside.context.attempts, **dependencies),
    )
