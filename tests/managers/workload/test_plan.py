"""managers.workload.plan: the replicas, the template, and the waits."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.records.desired import RolloutProgress
from contracts.records.effects import ReplacePod
from contracts.records.observed import Quorum, RaftServer, ServerClientConfig
from managers.workload.plan import Inputs, plan
from managers.workload.rollout.reload import Files
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.managers.workload.plans import (
    EMPTY,
    FILES,
    INPUTS,
    OLD,
    digest,
    plan_workload,
    serving,
    set_of,
    template,
)

NEW = gen.cluster()
UPDATED = gen.pod(2).with_template(digest()).with_files(FILES.digest)


# sentence: (cluster, world, replicas of the StatefulSet, reason of the wait; "" for none)
ROWS: dict[str, tuple[gen.Cluster, gen.World, int, str]] = {
    "without data one server starts": (NEW, EMPTY, 1, "FirstBoot"),
    "without data one server is enough": (
        NEW.with_spec(replicas=5),
        EMPTY.with_set(gen.stateful_set().first_boot()).with_pods(gen.pod()),
        1,
        "FirstBoot",
    ),
    "with data all servers start": (
        OLD,
        EMPTY.with_set(gen.stateful_set().first_boot()).with_pods(
            gen.pod().with_template(digest()).with_files(FILES.digest).ready(leading=True)
        ),
        3,
        "NotReady",
    ),
    "all are ready": (OLD, serving(), 3, ""),
    "one is not ready": (OLD, serving(2, size=3), 3, "NotReady"),
    "more replicas": (OLD.with_spec(replicas=5), serving(), 5, "NotReady"),
    "fewer replicas without a leader": (
        OLD.with_spec(replicas=1),
        serving(),
        3,
        "ScaleDownBlocked",
    ),
    "a deleted StatefulSet is recreated with all replicas": (OLD, EMPTY, 3, "NotReady"),
    "one outdated pod is replaced": (OLD, serving(template="old"), 3, "RollingOut"),
    "the template was just changed": (
        OLD,
        serving(template="old").with_set(gen.stateful_set().with_template("old")),
        3,
        "RollingOut",
    ),
    "a single server that serves": (
        OLD.with_spec(replicas=1),
        serving(1, template=digest(OLD.with_spec(replicas=1))),
        1,
        "",
    ),
}


@pytest.mark.parametrize(("cluster", "world", "replicas", "reason"), ROWS.values(), ids=ROWS)
def test_row(cluster: gen.Cluster, world: gen.World, replicas: int, reason: str) -> None:
    plan = plan_workload(cluster, world)
    assert set_of(plan)["replicas"] == replicas
    assert ("" if isinstance(plan.outcome, Done) else plan.outcome.reason) == reason
    assert not plan.gate


def test_a_replaced_pod_is_identified_by_uid() -> None:
    plan = plan_workload(OLD, serving(template="old"))
    assert plan.effects == (ReplacePod("x-2", "uid-x-2", evict=True),)
    assert plan.outcome == Wait("RollingOut", "3 of 3 pods run an older template", 0.5)


def test_no_pod_is_replaced_before_data_exists() -> None:
    world = EMPTY.with_set(gen.stateful_set().first_boot()).with_pods(
        gen.pod().with_template("old")
    )
    assert plan_workload(NEW, world).effects == ()


class TestTwoTemplates:
    """Only the first pod has the first-boot settings (rule I05)."""

    @pytest.mark.parametrize(
        "cluster", [NEW, NEW.self_init()], ids=["a root token is left", "it initializes itself"]
    )
    def test_the_templates_differ_only_by_first_boot_parts(self, cluster: gen.Cluster) -> None:
        first, later = template(cluster), template(cluster.initialized())
        first_pod, later_pod = first["spec"], later["spec"]
        (a,), (b,) = first_pod.pop("containers"), later_pod.pop("containers")
        extra_volumes = [v for v in first_pod["volumes"] if v not in later_pod["volumes"]]
        extra_mounts = [m for m in a["volumeMounts"] if m not in b["volumeMounts"]]
        assert {v["name"] for v in extra_volumes} == {"init", "root-token"}
        assert {m["name"] for m in extra_mounts} == {"init", "root-token"}
        assert a["command"] == [*b["command"], "-config=/etc/bao/init"]
        # The first pod can restart after the self-init document was deleted.
        assert all((v.get("configMap") or v["secret"])["optional"] for v in extra_volumes)
        first_pod["volumes"] = [v for v in first_pod["volumes"] if v not in extra_volumes]
        a["volumeMounts"] = [m for m in a["volumeMounts"] if m not in extra_mounts]
        a["command"] = b["command"]
        assert a.pop("terminationMessagePolicy") == "FallbackToLogsOnError"
        assert (first, a) == (later, b)


# sentence: (spec, inputs, whether pods are replaced)
DIGESTS: dict[str, tuple[dict[str, Any], Inputs, bool]] = {
    "nothing changed": ({}, INPUTS, False),
    "the number of servers": ({"replicas": 5}, INPUTS, False),
    "the profile": ({"profile": "Development"}, INPUTS, False),
    "the deletion policy": ({"deletionPolicy": "DeleteAll"}, INPUTS, False),
    "a name in the policy": ({"network": {"dnsNamespace": "dns"}}, INPUTS, False),
    "the Service": ({"service": {"type": "NodePort"}}, INPUTS, False),
    "the version": ({"version": "2.4.1"}, INPUTS, True),
    "the image": ({"image": "example.com/bao:2.4.0"}, INPUTS, True),
    "the resources": ({"resources": {"requests": {"cpu": "1"}}}, INPUTS, True),
    "a label of the pods": ({"podMetadata": {"labels": {"a": "b"}}}, INPUTS, True),
    "the restart field": ({"runtime": {"restartAt": "now"}}, INPUTS, True),
    "the account": ({"serviceAccount": {"name": "mine"}}, INPUTS, True),
    "settings that need a restart": ({}, Inputs("another", FILES), True),
    "settings that are reloaded": ({}, Inputs(INPUTS.restart, Files("x", "y", "z")), False),
}


@pytest.mark.parametrize(("spec", "inputs", "replaces"), DIGESTS.values(), ids=DIGESTS)
def test_which_changes_replace_pods(spec: dict[str, Any], inputs: Inputs, replaces: bool) -> None:
    assert (digest(OLD.with_spec(**spec), inputs) != digest()) is replaces


def test_the_volume_claim_template_is_unchanged() -> None:
    """The API server would refuse the whole apply."""
    cluster = OLD.with_spec(storage={"size": "5Gi"})
    (claim,) = set_of(plan_workload(cluster, serving()))["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert "storageClassName" not in claim["spec"]


def test_a_new_stateful_set_has_the_volume_of_the_spec() -> None:
    cluster = OLD.with_spec(storage={"size": "5Gi", "storageClassName": "fast"})
    made = set_of(plan_workload(cluster, EMPTY))
    (claim,) = made["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "5Gi"
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["metadata"]["annotations"] == {"openbao.org/owner-uid": "uid-x"}
    # Volumes outlive the set.
    assert "ownerReferences" not in claim["metadata"]
    policy = made["persistentVolumeClaimRetentionPolicy"]
    assert policy == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_immutable_fields_never_change() -> None:
    small = set_of(plan_workload(NEW, EMPTY))
    large = set_of(plan_workload(OLD.with_spec(replicas=5, version="2.4.1"), serving()))
    for field in ("selector", "serviceName", "podManagementPolicy"):
        assert small[field] == large[field], field


@pytest.mark.parametrize(
    ("minutes", "reason"),
    [(None, "NotReady"), (1, "RollingOut"), (6, "RolloutStuck")],
    ids=["out of a roll", "the last pod of a roll", "a roll that takes too long"],
)
def test_a_missing_pod_is_reported_as_a_rollout_for_a_while(
    minutes: int | None, reason: str
) -> None:
    world = serving(2, size=3)
    if minutes is not None:
        world = world.rolling_for(timedelta(minutes=minutes))
    assert gen.expect(Wait, plan_workload(OLD, world).outcome).reason == reason


# sentence: (world, progress of the rollout)
PROGRESS: dict[str, tuple[gen.World, RolloutProgress]] = {
    "all pods are updated": (serving(), RolloutProgress((0, 1, 2), complete=True)),
    "one is not ready": (
        serving(2, size=3).with_pods(*serving(2).pods, UPDATED.unready()),
        RolloutProgress((0, 1), pod="x-2"),
    ),
    "one is terminating": (
        serving(2, size=3).with_pods(*serving(2).pods, UPDATED.ready().terminating()),
        RolloutProgress((0, 1), pod="x-2"),
    ),
}


@pytest.mark.parametrize(("world", "progress"), PROGRESS.values(), ids=PROGRESS)
def test_progress_of_the_rollout(world: gen.World, progress: RolloutProgress) -> None:
    assert plan_workload(OLD, world).rollout == progress


def test_no_pod_is_replaced_while_a_server_is_removed() -> None:
    well = Quorum(tuple(RaftServer(f"x-{n}", voter=True, healthy=True) for n in range(3)), 1)
    there = serving(template="old").with_quorum(well)
    facts = replace(there.facts(), client_config=ServerClientConfig("the authority", "the name"))
    workload_plan = plan(gen.resolved(OLD.with_spec(replicas=2), there), facts, INPUTS)
    assert [effect.name for effect in workload_plan.effects] == ["remove-peer"]


def test_a_stuck_pod_is_reported() -> None:
    world = serving(2, size=3)
    late = world.with_pods(*world.pods, UPDATED.terminating()).at(gen.LATER)
    outcome = gen.expect(Blocked, plan_workload(OLD, late).outcome)
    assert outcome.reason == "PodStuckTerminating"
