"""Volume expansion: the PVCs first, then the StatefulSet, and never a pod."""

import copy

from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.types import Object, uid_of
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.bench import KEY, Bench, running_bench
from tests.managers.cluster.deletion_bench import claim

CLAIMS = [f"data-x-{n}" for n in range(3)]
GROW = [f"patch PersistentVolumeClaim {name}" for name in CLAIMS]


def volume(ordinal: int, size: str) -> Object:
    obj = claim(ordinal)
    obj["spec"] = {"resources": {"requests": {"storage": size}}, "storageClassName": "fast"}
    obj["status"] = {"phase": "Bound", "capacity": {"storage": size}}
    return obj


def grant(bench: Bench) -> None:
    """Act as the storage driver."""
    for pvc in bench.api.of(PVC):
        pvc["status"]["capacity"] = pvc["spec"]["resources"]["requests"]
        bench.api.with_objects((PVC, pvc))


async def three_volumes() -> Bench:
    bench = await running_bench(gen.cluster())
    bench.api.with_objects(*((PVC, volume(n, "1Gi")) for n in range(3)))
    await bench.until_quiet()
    assert bench.condition("StorageConfigured") == ("True", "StorageClassDefaulted")
    return bench


def template_size(bench: Bench) -> str:
    (live,) = bench.api.of(STATEFUL_SET)
    (template,) = live["spec"]["volumeClaimTemplates"]
    return str(template["spec"]["resources"]["requests"]["storage"])


def claim_writes(bench: Bench) -> list[str]:
    return [word for word in bench.writes if "Event" not in word and "OpenBaoCluster" not in word]


async def test_the_pvcs_grow_before_the_stateful_set_and_no_pod_restarts() -> None:
    bench = await three_volumes()
    pods = {uid_of(pod) for pod in bench.api.of(POD)}
    bench.ask_for(storage={"size": "2Gi"})
    await bench.turn()
    assert claim_writes(bench) == GROW
    assert bench.condition("StorageConfigured") == ("False", "StorageResizing")
    grant(bench)
    await bench.turn()
    assert claim_writes(bench) == ["delete StatefulSet x"]
    assert bench.api.of(STATEFUL_SET) == []
    await bench.turn()
    assert claim_writes(bench) == ["apply StatefulSet x"]
    assert template_size(bench) == "2Gi"
    (live,) = bench.api.of(STATEFUL_SET)
    assert live["spec"]["replicas"] == 3
    assert {uid_of(pod) for pod in bench.api.of(POD)} == pods
    await bench.outside.clock.advance(10.0)
    bench.api.with_objects((STATEFUL_SET, {**live, "status": {"observedGeneration": 9}}))
    await bench.until_quiet()
    assert bench.condition("Ready") == ("True", "AllReplicasReady")
    assert bench.condition("StorageConfigured") == ("True", "StorageClassDefaulted")


async def test_a_new_process_recreates_the_stateful_set_around_orphaned_pods() -> None:
    """The former process ended between the delete and the apply; its status is lost, too."""
    bench = await three_volumes()
    bench.ask_for(storage={"size": "2Gi"})
    await bench.turn()
    grant(bench)
    del bench.api.objects[(STATEFUL_SET, KEY)]
    forgotten = copy.deepcopy(bench.cluster)
    forgotten["status"] = {}
    bench.api.with_objects((CLUSTERS, forgotten))
    await bench.turn()
    (live,) = bench.api.of(STATEFUL_SET)
    assert live["spec"]["replicas"] == 3
    volumes = live["spec"]["template"]["spec"]["volumes"]
    assert "init" not in {volume["name"] for volume in volumes}


async def test_a_refused_expansion_is_reported_and_costs_one_request_each() -> None:
    bench = await three_volumes()
    bench.ask_for(storage={"size": "2Gi"})
    bench.clusters.says(*bench.api.of(CLUSTERS))
    for word in GROW:
        bench.api.refuse(word, api_error(403))
    await bench.turn()
    assert claim_writes(bench) == GROW
    for _ in range(5):
        await bench.turn(after=15.0)
        assert claim_writes(bench) == []
    assert bench.condition("Stalled") == ("True", "StorageResizeNotSupported")
    assert bench.condition("Available")[0] == "True"
    await bench.turn(after=300.0)
    assert claim_writes(bench) == GROW
