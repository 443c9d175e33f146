"""baoctl.controllers.sharding: the requests and clusters of the process of a shard."""

from collections.abc import Callable

import pytest

from baoctl.controllers.sharding import ClustersOfShard, cluster_of_run, owns_run
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from runtime.leader.shard import Shard, shard_of
from runtime.types import Object, ObjectKey, Resource, key_of
from tests import gen
from tests.gen.api import StillInformer
from tests.gen.calls import CallCount
from tests.managers.backup.bench import by_hand, restore

SHARDS = (Shard(0, 2), Shard(1, 2))
CLUSTER = ObjectKey(gen.NAMESPACE, "x")
# Names that are in the shard of their cluster would prove nothing.
ELSEWHERE = [
    name
    for name in (f"run-{number}" for number in range(20))
    if shard_of(ObjectKey(gen.NAMESPACE, name), 2) != shard_of(CLUSTER, 2)
]


def cache(resource: Resource, *objects: Object) -> StillInformer:
    informer = StillInformer(resource)
    informer.says(
        *({**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}} for obj in objects)
    )
    return informer


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize(
    ("resource", "make"), [(BACKUPS, by_hand), (RESTORES, restore)], ids=["backup", "restore"]
)
def test_a_run_belongs_to_the_shard_of_its_cluster(
    resource: Resource, make: Callable[..., Object], name: str
) -> None:
    runs = cache(resource, make(name))
    request = ObjectKey(gen.NAMESPACE, name)
    for shard in SHARDS:
        assert owns_run(shard, runs)(request) is shard.owns(CLUSTER)


def test_a_run_belongs_to_the_shard_of_its_cluster_while_it_is_deleted() -> None:
    leaving = by_hand(ELSEWHERE[0])
    leaving["metadata"]["deletionTimestamp"] = "2026-11-26T00:00:00Z"
    for shard in SHARDS:
        owns = owns_run(shard, cache(BACKUPS, leaving))
        assert owns(key_of(leaving)) is shard.owns(CLUSTER)


def test_a_deleted_run_is_reconciled_by_every_shard() -> None:
    for shard in SHARDS:
        assert owns_run(shard, cache(BACKUPS))(ObjectKey(gen.NAMESPACE, "gone"))


@pytest.mark.parametrize("spec", [None, {}, {"cluster": 7}, "text"])
def test_a_run_without_a_cluster_belongs_to_the_shard_of_its_name(spec: object) -> None:
    run = {**by_hand("broken"), "spec": spec}
    assert cluster_of_run(run) == key_of(run)


def test_metrics_cover_the_clusters_of_the_shard() -> None:
    clusters = [gen.cluster(name=f"c-{number}").object() for number in range(20)]
    everything = cache(CLUSTERS, *clusters)
    parts = [ClustersOfShard(everything, shard) for shard in SHARDS]
    listed = [{key_of(obj) for obj in part.list()} for part in parts]
    assert all(listed)
    assert listed[0] | listed[1] == {key_of(cluster) for cluster in clusters}
    assert not listed[0] & listed[1]
    for part, keys in zip(parts, listed, strict=True):
        assert {key_of(namespace) for namespace in part.list(gen.NAMESPACE)} == keys
        assert part.list("elsewhere") == []
        assert {key_of(cluster) for cluster in clusters if part.get(key_of(cluster))} == keys


def test_without_shards_a_list_costs_the_same_for_any_number_of_clusters() -> None:
    """A scrape lists the clusters for each family of metrics."""

    def calls(number: int) -> int:
        clusters = [gen.cluster(name=f"c-{index}").object() for index in range(number)]
        listed = ClustersOfShard(cache(CLUSTERS, *clusters), Shard())
        with CallCount() as count:
            assert len(listed.list()) == number
        return count.calls

    assert calls(20) == calls(1)
