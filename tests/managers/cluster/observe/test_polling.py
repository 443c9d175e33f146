"""managers.cluster.observe.polling: reconciles with polled caches; every request is counted."""

import copy

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from contracts.owned_kinds import PRUNED
from managers.cluster.delete import PODS_RECHECK
from managers.cluster.observe.polling import (
    HEALTH_INTERVAL,
    IDLE,
    IDLE_AFTER,
    JITTER,
    PACE,
    SLOWEST,
    SWIFT,
)
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, SERVICE, STATEFUL_SET
from runtime.errors import Transient
from runtime.outcome import timer_of
from runtime.types import Object, ObjectKey
from tests import gen
from tests.managers.cluster.bench import KEY
from tests.managers.cluster.observe.polled_bench import PolledBench


async def running_bench(cluster: gen.Cluster | None = None) -> PolledBench:
    bench = PolledBench(cluster or gen.cluster(replicas=3))
    replicas = bench.cluster["spec"]["replicas"]
    await bench.follow(3.0)
    bench.start_pods(1)
    await bench.follow(5.0)
    bench.start_pods(replicas)
    bench.servers.leader = bench.address(0)
    await bench.follow(3.0 * IDLE_AFTER)
    return bench


async def test_a_new_cluster_is_created_without_reads_of_its_children() -> None:
    bench = PolledBench(gen.cluster())
    await bench.turn()
    for kind in PRUNED:
        assert bench.reads_of(kind.kind) == []
    assert bench.reads_of("StatefulSet") == ["x", "x-read"]
    # The ordinals that retained volumes could have.
    claims = bench.reads_of("PersistentVolumeClaim")
    assert claims[:3] == ["data-x-0", "data-x-1", "data-x-2"]
    assert len(claims) <= 7


async def test_objects_of_the_serving_and_the_green_pool_are_read() -> None:
    blue, green = "0" * 16, "1" * 16
    bluegreen = {"blueRevision": blue, "greenRevision": green}
    cluster = gen.cluster().initialized().with_status(blueGreen=bluegreen)
    bench = PolledBench(cluster.with_metadata(finalizers=[names.FINALIZER]))
    await bench.turn()
    assert bench.reads_of("StatefulSet") == sorted((f"x-{blue}", f"x-{green}", "x-read"))
    for row in ("x-{}-0", "x-{}-1"):
        assert {row.format(blue), row.format(green)} <= set(bench.reads_of("Pod"))
    claims = bench.reads_of("PersistentVolumeClaim")
    assert {f"data-x-{blue}-2", f"data-x-{green}-0"} <= set(claims)
    assert "data-x-0" not in claims
    assert {f"x-{blue}-config", f"x-{green}-config"} <= set(bench.reads_of("ConfigMap"))


async def test_a_starting_server_is_read_more_often() -> None:
    bench = PolledBench(gen.cluster(replicas=1))
    await bench.follow(3.0)
    assert timer_of(await bench.turn()) == PACE
    bench.start_pods(1)
    key = (POD, ObjectKey(gen.NAMESPACE, "x-0"))
    ready = copy.deepcopy(bench.api.objects[key])
    started = copy.deepcopy(ready)
    for condition in started["status"]["conditions"]:
        condition["status"] = "False"
    bench.api.with_objects((POD, started))
    await bench.follow(2 * PACE)
    assert timer_of(await bench.turn()) == SWIFT
    bench.api.with_objects((POD, ready))
    await bench.follow(2 * SWIFT)
    assert bench.condition("Ready")[0] == "True"


async def test_the_deletion_of_several_pods_is_observed() -> None:
    cluster = gen.cluster(replicas=3, deletionPolicy="DeleteAll")
    bench = await running_bench(cluster)
    bench.delete()
    await bench.turn()
    for ordinal in range(3):
        bench.api.objects.pop((POD, ObjectKey(gen.NAMESPACE, f"x-{ordinal}")))
    bench.api.objects.pop((STATEFUL_SET, KEY), None)
    await bench.follow(PODS_RECHECK * 1.5)
    assert not bench.mirrors[POD].list()
    left = bench.api.objects.get((CLUSTERS, KEY)) or {"metadata": {}}
    assert not left["metadata"].get("finalizers")


async def test_a_foreign_object_is_detected_by_the_write_and_not_changed() -> None:
    bench = PolledBench(gen.cluster())
    other: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": gen.NAMESPACE, "name": "x-public"},
        "spec": {},
    }
    bench.api.with_objects((SERVICE, other))
    with pytest.raises(Transient):
        await bench.follow(8.0)
    await bench.follow(8.0)
    assert bench.condition("Conflict") == ("True", "ForeignObject")
    live = bench.api.objects[(SERVICE, ObjectKey(gen.NAMESPACE, "x-public"))]
    assert live["metadata"]["resourceVersion"] == other["metadata"].get(
        "resourceVersion", live["metadata"]["resourceVersion"]
    )
    assert live["spec"] == {}


async def test_a_calm_cluster_polls_its_servers_and_rarely_the_api() -> None:
    bench = await running_bench()
    assert bench.condition("Ready") == ("True", "AllReplicasReady")
    assert bench.condition("Available")[0] == "True"
    before = bench.servers.request_count
    requests = await bench.follow(600.0)
    assert bench.servers.request_count - before >= 3 * 600 / (HEALTH_INTERVAL * (1 + JITTER)) * 0.9
    assert sum(requests.values()) / 10.0 <= 6.0, requests
    assert {what.split()[0] for what in requests} <= {"get", "peek"}
    # Unreachable servers cost no more than others.
    bench.servers.silent |= {bench.address(ordinal) for ordinal in range(3)}
    await bench.follow(60.0)
    requests = await bench.follow(600.0)
    assert sum(requests.values()) / 10.0 <= 6.0, requests


async def test_an_unresponsive_server_is_detected_by_the_next_health_poll() -> None:
    bench = await running_bench()
    live = copy.deepcopy(bench.api.objects[(POD, ObjectKey(gen.NAMESPACE, "x-1"))])
    for condition in live["status"]["conditions"]:
        condition["status"] = "False"
    bench.servers.silent.add(bench.address(1))
    bench.api.with_objects((POD, live))
    await bench.follow(HEALTH_INTERVAL * (1 + JITTER) + PACE)
    assert bench.cluster["status"]["readyReplicas"] == 2


async def test_a_new_process_reads_once_and_writes_nothing() -> None:
    bench = await running_bench()
    before = {what: obj["metadata"]["resourceVersion"] for what, obj in bench.api.objects.items()}
    bench.restart()
    requests = await bench.follow(30.0)
    assert {what.split()[0] for what in requests} <= {"get", "peek"}
    for what, obj in bench.api.objects.items():
        assert obj["metadata"]["resourceVersion"] == before.pop(what), what
    assert not before


async def test_a_new_process_finds_objects_that_are_still_to_be_pruned() -> None:
    bench = await running_bench()
    left = copy.deepcopy(bench.api.objects[(CONFIG_MAP, ObjectKey(gen.NAMESPACE, "x-config"))])
    left["metadata"]["name"] = names.self_init_config_map("x")
    left["metadata"]["uid"] = "uid-left"
    bench.api.with_objects((CONFIG_MAP, left))
    bench.restart()
    await bench.follow(10.0)
    assert [obj["metadata"]["name"] for obj in bench.api.of(CONFIG_MAP)] == ["x-config"]


async def test_a_user_edit_is_reverted_within_the_age_of_a_calm_cluster() -> None:
    bench = await running_bench()
    key = (SERVICE, ObjectKey(gen.NAMESPACE, "x-public"))
    edited = copy.deepcopy(bench.api.objects[key])
    edited["spec"]["selector"] = {}
    bench.api.with_objects((SERVICE, edited))
    await bench.follow(IDLE.children * 1.2)
    assert bench.api.objects[key]["spec"]["selector"] != {}


async def test_paused_and_hibernated_clusters_are_not_polled() -> None:
    bench = await running_bench()
    bench.ask_for(paused=True)
    assert timer_of(await bench.turn()) is None
    bench.ask_for(paused=False, hibernate=True)
    await bench.follow(5.0)
    assert bench.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"] == 0
    assert gen.present(timer_of(await bench.turn())) <= SLOWEST, "its pods still exist"
    for ordinal in range(3):
        del bench.api.objects[(POD, ObjectKey(gen.NAMESPACE, f"x-{ordinal}"))]
    await bench.follow(20.0)
    after = timer_of(await bench.turn())
    assert after is None or after > 3600.0, "the age of certificates alone"
    bench.ask_for(hibernate=False)
    await bench.follow(2.0)
    assert bench.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"] > 0


async def test_the_interval_grows_for_a_persistent_state() -> None:
    bench = PolledBench(gen.cluster())
    await bench.follow(600.0)
    requests = await bench.follow(600.0)
    # Pod 0 is expected and not created.
    assert requests["get Pod"] <= 600 / SLOWEST * 1.3


async def test_objects_of_a_deleted_cluster_are_not_read() -> None:
    bench = await running_bench()
    del bench.api.objects[(CLUSTERS, KEY)]
    await bench.turn()
    assert bench.api.take_requests() == []
    assert not any(mirror.list() for mirror in bench.mirrors.values())
    assert bench.servers.closed <= 1


async def test_volumes_of_removed_servers_are_found_one_after_the_other() -> None:
    bench = PolledBench(gen.cluster(replicas=1))
    bench.api.with_objects(
        *((PVC, gen.claim(f"data-x-{ordinal}", annotations={})) for ordinal in (0, 1, 3, 5))
    )
    await bench.turn()
    claim_names = {obj["metadata"]["name"] for obj in bench.mirrors[PVC].list()}
    assert claim_names == {"data-x-0", "data-x-1", "data-x-3", "data-x-5"}
