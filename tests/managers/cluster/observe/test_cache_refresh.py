"""managers.cluster.observe.cache_refresh.

How soon caches that are told of everything are looked at again.
"""

from dataclasses import replace

from contracts.records.desired import AppliedSet, Desired
from managers.cluster.observe.cache_refresh import WatchCacheRefresher
from managers.cluster.status.cluster_status import ReconcileResult
from runtime.outcome import Wait
from tests import gen
from tests.managers.cluster.passes import a_pass

CLUSTER = gen.cluster().initialized()
OWNER = CLUSTER.owner()
WELL = replace(a_pass(CLUSTER), applied=AppliedSet(Desired((), (), (), (), complete=True)))
WAITING: ReconcileResult = replace(WELL, outcome=Wait("PodsStarting", "one is missing"))


def test_secrets_of_a_cluster_that_is_well_are_believed_for_longer() -> None:
    sight = WatchCacheRefresher(15.0, when_well=60.0)
    assert sight.secret_age(OWNER) == 15.0
    assert sight.next_refresh(WELL) == sight.secret_age(OWNER) == 60.0
    assert sight.next_refresh(WAITING) == sight.secret_age(OWNER) == 15.0
    sight.next_refresh(WELL)
    sight.forget(OWNER.key)
    assert sight.secret_age(OWNER) == 15.0


def test_where_nothing_else_is_said_all_are_looked_at_alike() -> None:
    sight = WatchCacheRefresher(15.0)
    assert (
        sight.next_refresh(WELL) == sight.next_refresh(WAITING) == sight.secret_age(OWNER) == 15.0
    )
