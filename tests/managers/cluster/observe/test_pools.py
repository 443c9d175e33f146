"""managers.cluster.observe.pools: which pods, volumes and StatefulSets belong to which pool."""

from typing import Any

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from managers.cluster.observe.pools import ObservedPools, pools_of
from runtime.types import Object, ObjectKey
from tests import gen

BLUE, GREEN = "0123456789abcdef", "fedcba9876543210"
ALL = ("", BLUE, GREEN)


def volume(name: str) -> Object:
    annotations = {labels.OWNER_UID: "uid-x"}
    metadata = {"namespace": gen.NAMESPACE, "name": name, "uid": f"uid-{name}"}
    return {"metadata": {**metadata, "annotations": annotations}}


PODS = [gen.pod(n).of(revision).object() for revision in ALL for n in range(2)]
PODS.append(gen.read_pod(0).object())
VOLUMES = [volume(ServerPool("x", revision).data_claim(0)) for revision in ALL]
VOLUMES.append(volume("data-x-read-0"))
SETS = {f"x-{revision}".rstrip("-"): gen.stateful_set().of(revision).object() for revision in ALL}


def observe_pools(sets: dict[str, Object] | None = None, **status: Any) -> ObservedPools:
    cluster = gen.cluster().with_status(blueGreen=status)
    live = SETS if sets is None else sets

    def one(key: ObjectKey) -> Object | None:
        return live.get(key.name)

    return pools_of(cluster.read(), cluster.owner(), one, (PODS, VOLUMES))


def pool_names(found: ObservedPools) -> list[list[str]]:
    pools = (found.voters, found.green, found.read)
    return [[p.name for p in pool.pods] + [c.name for c in pool.claims] for pool in pools]


def set_of(revision: str) -> list[str]:
    voters = ServerPool("x", revision)
    return [voters.pod(0), voters.pod(1), voters.data_claim(0)]


READERS = ["x-read-0", "data-x-read-0"]


def test_without_a_status_only_the_first_pool_is_observed() -> None:
    pools = observe_pools()
    assert pool_names(pools) == [set_of(""), [], READERS]
    assert gen.present(pools.voters.stateful_set).uid == "uid-sts-x"
    assert pools.green.stateful_set is None


def test_green_is_observed_with_the_first_pool() -> None:
    pools = observe_pools(greenRevision=GREEN)
    assert pool_names(pools) == [set_of(""), set_of(GREEN), READERS]
    assert gen.present(pools.green.stateful_set).uid == f"uid-sts-x-{GREEN}"


def test_blue_serves_once_it_has_a_revision() -> None:
    pools = observe_pools(blueRevision=BLUE, greenRevision=GREEN)
    assert pool_names(pools) == [set_of(BLUE), set_of(GREEN), READERS]
    assert gen.present(pools.voters.stateful_set).uid == f"uid-sts-x-{BLUE}"


def test_a_foreign_stateful_set_is_no_evidence_unless_it_was_adopted() -> None:
    green, blue = gen.stateful_set().of(GREEN).object(), gen.stateful_set().object()
    for theirs in (green, blue):
        del theirs["metadata"]["ownerReferences"]
    green["metadata"]["labels"] = {}
    pools = observe_pools({f"x-{GREEN}": green, "x": blue}, greenRevision=GREEN)
    assert (pools.green.stateful_set, pools.voters.stateful_set) == (None, None)
    blue["metadata"]["annotations"] = {labels.ADOPT: "x"}
    assert observe_pools({"x": blue}).voters.stateful_set is not None


def test_pod_facts_return_to_the_pool_of_the_pod() -> None:
    before = observe_pools(greenRevision=GREEN)
    after = before.with_pod_facts(tuple(gen.pod(7).facts() for _ in before.servers))
    counts = [len(pool.pods) for pool in (after.voters, after.green, after.read)]
    assert counts == [2, 2, 1]
    assert {pod.name for pod in after.servers} == {"x-7"}
    assert after.green.claims == before.green.claims
    assert after.green.stateful_set == before.green.stateful_set


def test_unknown_pools_are_reported_when_the_serving_pool_is_missing() -> None:
    assert observe_pools().unknown_pools == ()
    assert observe_pools({}).unknown_pools == (f"x-{BLUE}", f"x-{GREEN}")
    assert observe_pools({}, blueRevision=BLUE).unknown_pools == ("x", f"x-{GREEN}")
