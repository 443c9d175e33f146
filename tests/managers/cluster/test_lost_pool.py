"""A status without the serving pool: no server is created while others have the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.cluster.resolve.resolve import resolve
from runtime.outcome import Blocked
from tests import gen

REVISION = "0123456789abcdef"
STRAY = f"x-{REVISION}"


def meant(
    cluster: gen.Cluster, facts: Observed, status: dict[str, Any] | None = None
) -> Resolved | Blocked:
    having = cluster.with_status(blueGreen=status) if status is not None else cluster
    return resolve(having.read(), having.owner(), facts, gen.INSTALLATION)


@pytest.mark.parametrize("cluster", [gen.cluster(), gen.cluster().initialized()])
@pytest.mark.parametrize("status", [None, {"blueRevision": REVISION}])
def test_no_server_is_created_while_an_unknown_pool_has_data(
    cluster: gen.Cluster, status: dict[str, Any] | None
) -> None:
    resolved = meant(cluster, replace(gen.world().facts(), unknown_pools=(STRAY,)), status)
    assert isinstance(resolved, Blocked)
    assert resolved.reason == "PrerequisitesMissing"
    assert STRAY in resolved.message
    assert "--subresource=status" in resolved.message


def test_volumes_of_an_abandoned_pool_do_not_block_a_cluster_with_a_status() -> None:
    """The serving StatefulSet was deleted: it is recreated on its volumes."""
    cluster = gen.cluster().initialized()
    facts = replace(gen.running(cluster).facts(), stateful_set=None, unknown_pools=("x",))
    assert facts.pods
    assert not isinstance(meant(cluster, facts, {"blueRevision": REVISION}), Blocked)
    assert isinstance(meant(cluster, facts), Blocked)


def test_without_unknown_pools_nothing_is_refused() -> None:
    assert not isinstance(meant(gen.cluster().initialized(), gen.world().facts()), Blocked)
