"""The parts of a cluster reconciler for the benches of this package."""

from collections.abc import Mapping
from typing import Any

from managers.cluster.apply.apply import Applier
from managers.cluster.observe.observer import ClusterObserver, ObserverDependencies
from managers.context.installation import Installation
from managers.context.reads.api_server import ApiServer
from runtime.cache.informer import Informer
from runtime.clock import Clock
from runtime.types import Resource
from tests import gen
from tests.gen.api import FakeApi, Outside, owned_apply


def applier_of(
    api: FakeApi, caches: Mapping[Resource, Informer], clock: Clock | None = None
) -> Applier:
    """Applies to this API server, with these caches."""
    return Applier(owned_apply(api, caches, clock))


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
