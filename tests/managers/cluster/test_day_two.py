"""Reconciles of hibernated, fenced, paused and maintained clusters; and forged annotations."""

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from managers.cluster.observe import observer
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.outcome import Done
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.managers.cluster.bench import STATUS, Bench, running_bench

THREE = gen.cluster()


def live(bench: Bench, resource: Resource, name: str) -> Object:
    return copy.deepcopy(bench.api.objects[(resource, ObjectKey(gen.NAMESPACE, name))])


def delete_pods(bench: Bench) -> None:
    """Act as the StatefulSet controller and the kubelet."""
    for n in range(3):
        bench.api.objects.pop((POD, ObjectKey(gen.NAMESPACE, f"x-{n}")), None)


def volumes(bench: Bench, **marks: str) -> None:
    """Create the volumes, as the StatefulSet controller does before the pods."""
    for n in range(3):
        annotations = {labels.OWNER_UID: "uid-x", **marks}
        claim = gen.claim(names.data_claim("x", n), annotations=annotations)
        bench.api.with_objects((PVC, claim))


async def asleep() -> Bench:
    bench = await running_bench(THREE)
    volumes(bench)
    bench.ask_for(hibernate=True)
    await bench.turn()
    delete_pods(bench)
    await bench.until_quiet()
    return bench


async def test_hibernation_writes_the_stateful_set_once(bench: Bench) -> None:
    bench.ask_for(hibernate=True)
    await bench.turn()
    assert [write for write in bench.writes if write != STATUS] == ["apply StatefulSet x"]
    assert live(bench, STATEFUL_SET, "x")["spec"]["replicas"] == 0
    delete_pods(bench)
    await bench.until_quiet()
    assert bench.condition("Hibernated") == ("True", "Hibernated")
    for _ in range(3):
        await bench.turn(after=60.0)
        assert bench.writes == []


async def test_waking_is_reported_until_all_servers_are_ready() -> None:
    bench = await asleep()
    bench.ask_for(hibernate=False, replicas=1)
    await bench.turn()
    assert live(bench, STATEFUL_SET, "x")["spec"]["replicas"] == 3
    assert bench.condition("Hibernated") == ("False", "Waking")
    assert bench.cluster["status"]["operation"]["kind"] == "Waking"
    bench.ask_for(replicas=3)
    bench.start_pods(2)
    await bench.turn()
    assert bench.condition("Reconciling") == ("True", "Waking")
    bench.start_pods(3)
    await bench.until_quiet()
    assert bench.condition("Ready") == ("True", "AllReplicasReady")
    assert "Hibernated" not in str(bench.cluster["status"]["conditions"])
    assert "operation" not in bench.cluster["status"]


async def test_a_certificate_is_renewed_during_hibernation() -> None:
    bench = await asleep()
    del bench.api.objects[(SECRET, ObjectKey(gen.NAMESPACE, names.tls_server_secret("x")))]
    await bench.until_quiet(after=60.0)
    assert live(bench, SECRET, names.tls_server_secret("x"))["data"]
    assert bench.condition("Hibernated") == ("True", "Hibernated")


async def test_a_lost_unseal_key_is_reported_during_hibernation_and_not_recreated() -> None:
    bench = await asleep()
    del bench.api.objects[(SECRET, ObjectKey(gen.NAMESPACE, names.unseal_key_secret("x")))]
    await bench.turn(after=60.0)
    assert bench.condition("Stalled") == ("True", "UnsealKeyMissing")
    assert bench.condition("Hibernated") == ("True", "Hibernated")
    bench.ask_for(hibernate=False)
    await bench.turn()
    assert live(bench, STATEFUL_SET, "x")["spec"]["replicas"] == 0


async def test_hibernation_needs_the_unseal_key(bench: Bench) -> None:
    del bench.api.objects[(SECRET, ObjectKey(gen.NAMESPACE, names.unseal_key_secret("x")))]
    await bench.outside.clock.advance(60.0)
    bench.ask_for(hibernate=True)
    await bench.turn()
    assert live(bench, STATEFUL_SET, "x")["spec"]["replicas"] == 3
    assert bench.condition("Stalled") == ("True", "UnsealKeyMissing")


# sentence: other settings of the spec
WISHES: dict[str, dict[str, Any]] = {
    "sleep": {"hibernate": True},
    "a fence": {"fencedPods": ["x-2"]},
    "a restart": {"runtime": {"restartAt": "now"}},
    "maintenance": {"maintenance": {"enabled": True}},
    "fewer servers": {"replicas": 1},
    "another log level": {"configuration": {"logLevel": "debug"}},
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
async def test_a_pause_sends_nothing_but_the_status(
    monkeypatch: pytest.MonkeyPatch, wish: dict[str, Any]
) -> None:
    async def nobody(*_: object) -> None:
        raise AssertionError("a paused cluster's leader was asked")

    bench = await running_bench(THREE)
    monkeypatch.setattr(observer, "read_quorum", nobody)
    bench.ask_for(paused=True, **wish)
    before = live(bench, STATEFUL_SET, "x")
    assert await bench.turn() == Done()
    assert bench.writes == [STATUS]
    assert bench.condition("Paused") == ("True", "Paused")
    assert live(bench, STATEFUL_SET, "x") == before
    assert bench.cluster["status"]["readyReplicas"] == 3
    await bench.turn()
    assert bench.writes == []


async def test_a_pause_stops_a_rollout(bench: Bench) -> None:
    bench.ask_for(runtime={"restartAt": "now"})
    await bench.turn()
    bench.ask_for(paused=True)
    await bench.turn()
    assert bench.writes == [STATUS]
    bench.ask_for(paused=False)
    await bench.turn()
    assert bench.condition("Reconciling") == ("True", "RollingOut")


async def test_the_status_of_a_paused_cluster_is_frozen_until_it_resumes(bench: Bench) -> None:
    bench.ask_for(paused=True)
    await bench.turn()
    del bench.api.objects[(POD, ObjectKey(gen.NAMESPACE, "x-2"))]
    await bench.turn()
    assert bench.writes == []
    bench.ask_for(paused=True, replicas=3)
    await bench.turn()
    assert bench.writes == [STATUS]
    assert bench.cluster["status"]["observedGeneration"] == bench.cluster["metadata"]["generation"]
    bench.ask_for(paused=False)
    await bench.turn()
    assert bench.cluster["status"]["readyReplicas"] == 2


async def test_maintenance_annotates_pods_and_replaces_none(bench: Bench) -> None:
    bench.ask_for(maintenance={"enabled": True})
    await bench.until_quiet()
    before = {live(bench, POD, f"x-{n}")["metadata"]["uid"] for n in range(3)}
    for resource, name in ((STATEFUL_SET, "x"), *((POD, f"x-{n}") for n in range(3))):
        marks = live(bench, resource, name)["metadata"]["annotations"]
        assert marks[labels.MAINTENANCE] == "true", name
    assert bench.condition("Maintenance") == ("True", "Maintenance")
    bench.ask_for(maintenance={"enabled": False})
    await bench.until_quiet()
    for n in range(3):
        assert labels.MAINTENANCE not in live(bench, POD, f"x-{n}")["metadata"]["annotations"]
    assert {live(bench, POD, f"x-{n}")["metadata"]["uid"] for n in range(3)} == before
    assert "Maintenance" not in str(bench.cluster["status"]["conditions"])


# --- what an editor of the namespace may write on our objects ------------------------------------

ON_THE_CLUSTER = {
    key: {key: value}
    for key, value in {
        labels.MAINTENANCE: "true",
        "openbao.org/maintenance-allowed": "true",
        "openbao.org/force-rollback": "true",
        "openbao.org/trigger-backup": "now",
        labels.RESTART_AT: "now",
        labels.INTENT_HASH: "forged",
        labels.TEMPLATE_HASH: "forged",
        labels.OWNER_UID: "another",
        labels.ADOPT: "another",
        labels.REMOVED_PEER: "x-0",
        labels.UNSEAL_KEYS: "forged=key",
    }.items()
}


@pytest.mark.parametrize("marks", ON_THE_CLUSTER.values(), ids=ON_THE_CLUSTER)
async def test_attack_t12_marks_on_a_cluster_change_nothing(
    bench: Bench, marks: dict[str, str]
) -> None:
    forged = copy.deepcopy(bench.cluster)
    forged["metadata"]["annotations"] = marks
    forged["metadata"].setdefault("labels", {}).update(marks)
    bench.api.with_objects((CLUSTERS, forged))
    await bench.turn()
    assert bench.writes == []


# annotation: (value, its worst effect on a pod; each at most once)
ON_A_POD: dict[str, tuple[str, set[str]]] = {
    # An editor may delete the pod, too.
    labels.TEMPLATE_HASH: ("forged", {"delete Pod x-2"}),
    # The server reloads its files, or its pod is replaced if a reload is impossible.
    labels.RELOAD_HASH: ("forged", {"delete Pod x-2"}),
    labels.MAINTENANCE: ("true", {"patch Pod x-2"}),
    labels.UNSEAL_REWRAPPED: ("forged", set()),
    labels.INTENT_HASH: ("forged", set()),
    labels.OWNER_UID: ("another", set()),
    labels.REMOVED_PEER: ("x-2", set()),
    labels.ADOPT: ("another", set()),
    labels.RESTART_AT: ("now", set()),
    labels.CONFIG_HASH: ("forged", set()),
    labels.TLS_CERT_HASH: ("forged", set()),
}


LOGIN = "create/token ServiceAccount the-operator"


@pytest.mark.parametrize("mark", ON_A_POD)
async def test_attack_t12_marks_on_a_pod_do_no_more_than_its_deletion(mark: str) -> None:
    value, worst = ON_A_POD[mark]
    bench = await running_bench(THREE)
    pod = live(bench, POD, "x-2")
    pod["metadata"]["annotations"][mark] = value
    bench.api.with_objects((POD, pod))
    await bench.turn()
    assert set(bench.writes) - {STATUS, LOGIN} <= worst
    assert live(bench, STATEFUL_SET, "x")["spec"]["replicas"] == 3


ON_THE_SET: dict[str, str] = {
    labels.MAINTENANCE: "true",
    labels.INTENT_HASH: "forged",
    labels.OWNER_UID: "another",
    labels.REMOVED_PEER: "x-2",
    labels.IMAGE_VERIFICATION: "forged",
    labels.RESTART_AT: "now",
    labels.CREATION_HASH: "forged",
}


@pytest.mark.parametrize("mark", ON_THE_SET)
async def test_attack_t12_marks_on_the_stateful_set_touch_no_pod(bench: Bench, mark: str) -> None:
    forged = live(bench, STATEFUL_SET, "x")
    forged["metadata"].setdefault("annotations", {})[mark] = ON_THE_SET[mark]
    bench.api.with_objects((STATEFUL_SET, forged))
    await bench.turn()
    assert not [write for write in bench.writes if "Pod" in write.split()]
    after = live(bench, STATEFUL_SET, "x")["spec"]
    assert (after["replicas"], after["template"]) == (3, forged["spec"]["template"])


@pytest.mark.parametrize("mark", [labels.REMOVED_PEER, labels.OWNER_UID, labels.ADOPT])
async def test_attack_t12_marks_on_a_volume_delete_nothing(bench: Bench, mark: str) -> None:
    """While its server runs; docs/scaling.md explains the annotation without a server."""
    volumes(bench, **{mark: "x-2"})
    await bench.turn()
    assert len(bench.api.of(PVC)) == 3
    assert not [write for write in bench.writes if write.startswith("delete")]


async def test_attack_t12_a_scheduling_gate_in_a_template_fences_no_pod(bench: Bench) -> None:
    """It is reverted, and a gated pod is released."""
    forged = live(bench, STATEFUL_SET, "x")
    forged["spec"]["template"]["spec"]["schedulingGates"] = [{"name": labels.FENCE_GATE}]
    bench.api.with_objects((STATEFUL_SET, forged))
    pod = live(bench, POD, "x-2")
    pod["spec"]["schedulingGates"] = [{"name": labels.FENCE_GATE}]
    bench.api.with_objects((POD, pod))
    await bench.turn()
    assert live(bench, POD, "x-2")["spec"]["schedulingGates"] == []


async def test_attack_t12_a_forged_list_of_unseal_keys_is_reverted(bench: Bench) -> None:
    """Every pod and the status have another one."""
    template = live(bench, STATEFUL_SET, "x")["spec"]["template"]["metadata"]["annotations"]
    for n in range(3):
        pod = live(bench, POD, f"x-{n}")
        pod["metadata"]["annotations"][labels.UNSEAL_KEYS] = template[labels.UNSEAL_KEYS]
        bench.api.with_objects((POD, pod))
    await bench.until_quiet()
    forged = live(bench, STATEFUL_SET, "x")
    forged["spec"]["template"]["metadata"]["annotations"][labels.UNSEAL_KEYS] = "forged=key"
    bench.api.with_objects((STATEFUL_SET, forged))
    await bench.turn()
    assert bench.writes == ["apply StatefulSet x"]
    after = live(bench, STATEFUL_SET, "x")["spec"]["template"]["metadata"]["annotations"]
    assert after == template


async def test_attack_t12_a_key_list_of_a_pod_is_kept(bench: Bench) -> None:
    """No forged annotation may take a key from servers that need it."""
    forged = live(bench, STATEFUL_SET, "x")
    forged["spec"]["template"]["metadata"]["annotations"][labels.UNSEAL_KEYS] = "forged=key"
    bench.api.with_objects((STATEFUL_SET, forged))
    pod = live(bench, POD, "x-2")
    pod["metadata"]["annotations"][labels.UNSEAL_KEYS] = "forged=key"
    bench.api.with_objects((POD, pod))
    await bench.turn()
    assert bench.writes == [STATUS]
    assert bench.condition("Stalled") == ("True", "UnsealKeyRotationRefused")
