"""Temporary parts of the template (fences, maintenance), and what they hold."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.naming import labels
from contracts.records.desired import Plan
from contracts.records.effects import MarkPod, ReloadPod, ReplacePod, StepDown, UngatePod
from managers.workload.objects.annotations import pod_marks, with_marks
from managers.workload.objects.statefulset import template_digest
from managers.workload.plan import wants_quorum
from managers.workload.rollout.holds import hold
from runtime.outcome import Done, Wait
from tests import gen
from tests.managers.workload.plans import FILES, digest, plan_workload, serving, set_of

OLD = gen.cluster().initialized()
FENCED = OLD.with_spec(fencedPods=["x-2"])
MAINTAINED = OLD.with_spec(maintenance={"enabled": True})
GATE = [{"name": "openbao.org/fence"}]
MARK = {"openbao.org/maintenance": "true"}


def template_of(plan: Plan) -> dict[str, Any]:
    template: dict[str, Any] = set_of(plan)["template"]
    return template


def names_of(plan: Plan) -> list[tuple[str, str]]:
    return [(effect.name, effect.target) for effect in plan.effects]


def test_a_fence_is_a_scheduling_gate_and_replaces_no_pod() -> None:
    plan = plan_workload(FENCED, serving())
    assert template_of(plan)["spec"]["schedulingGates"] == GATE
    assert ReplacePod.name not in {effect.name for effect in plan.effects}
    assert "schedulingGates" not in template_of(plan_workload(OLD, serving()))["spec"]


def test_maintenance_is_an_annotation_and_replaces_no_pod() -> None:
    plan = plan_workload(MAINTAINED, serving())
    (servers,) = [intent for intent in plan.intents if intent.resource.kind == "StatefulSet"]
    assert servers.body["metadata"]["annotations"][labels.MAINTENANCE] == "true"
    assert template_of(plan)["metadata"]["annotations"][labels.MAINTENANCE] == "true"
    assert names_of(plan) == [(MarkPod.name, f"x-{n}") for n in range(3)]
    plain = plan_workload(OLD, serving())
    assert labels.MAINTENANCE not in template_of(plain)["metadata"]["annotations"]


@pytest.mark.parametrize("cluster", [FENCED, MAINTAINED])
def test_neither_changes_the_digest_of_the_template(cluster: gen.Cluster) -> None:
    digests = {template_digest(gen.resolved(item), "text") for item in (OLD, cluster)}
    assert len(digests) == 1


def test_read_replicas_have_no_scheduling_gate() -> None:
    template = {"metadata": {"annotations": {}}, "spec": {"containers": []}}
    meant = gen.resolved(FENCED)
    assert with_marks(replace(meant, reads=True), template) == template
    assert with_marks(meant, template)["spec"]["schedulingGates"] == GATE


def test_pods_are_annotated_once() -> None:
    marked = gen.pod(0).ready().in_maintenance()
    world = gen.world().with_pods(marked, gen.pod(1).ready(), gen.pod(2).terminating())
    world = world.with_readers(gen.read_set(), gen.read_pod(0).ready())
    on = pod_marks(gen.resolved(MAINTAINED), world.facts())
    assert [effect.target for effect in on] == ["x-1", "x-read-0"]
    assert on[0] == MarkPod("x-1", "uid-x-1", maintenance=True)
    off = pod_marks(gen.resolved(OLD), world.facts())
    assert off == (MarkPod("x-0", "uid-x-0", maintenance=False),)
    # A pod without annotations is ignored.
    bare = gen.world().with_pods(gen.pod(0).with_template(""))
    assert pod_marks(gen.resolved(MAINTAINED), bare.facts()) == ()


RESTORE = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 1}
# sentence: (cluster, reason of the hold; "" for none)
HELD = {
    "no request": (OLD, ""),
    "a fence": (FENCED, "PodsFenced"),
    "maintenance": (MAINTAINED, "Maintenance"),
    "both": (FENCED.with_spec(maintenance={"enabled": True}), "PodsFenced"),
    "a restore before its restart": (OLD.with_status(operationLock=RESTORE), "RestoreInProgress"),
    "a restore that requested a restart": (
        OLD.with_status(operationLock=RESTORE, restore={"name": "monday", "uid": "r"}),
        "",
    ),
    "another restore afterwards": (
        OLD.with_status(
            operationLock=RESTORE,
            restore={"name": "monday", "uid": "q", "restartCompletedAt": "2030-01-01T00:00:00Z"},
        ),
        "RestoreInProgress",
    ),
    "a backup": (OLD.with_status(operationLock={**RESTORE, "operation": "Backup"}), ""),
    "maintenance that has ended": (OLD.with_spec(maintenance={"enabled": False}), ""),
}


@pytest.mark.parametrize("what", HELD)
def test_which_settings_hold_the_rollout(what: str) -> None:
    cluster, reason = HELD[what]
    held = hold(gen.resolved(cluster))
    assert (held.reason if held else "") == reason


def old_pods() -> gen.World:
    return serving(template="old")


class TestRolls:
    """A rollout is held while a pod is fenced or the cluster is in maintenance."""

    @pytest.mark.parametrize(
        ("cluster", "reason"), [(FENCED, "PodsFenced"), (MAINTAINED, "Maintenance")]
    )
    def test_no_pod_is_replaced_and_the_reason_is_reported(
        self, cluster: gen.Cluster, reason: str
    ) -> None:
        world = old_pods()
        if cluster is FENCED:
            gone = gen.pod(2).with_template("old").with_files(FILES.digest).with_gates()
            world = world.with_pods(*world.pods[:2], gone)
        plan = plan_workload(cluster, world)
        assert not {ReplacePod.name, StepDown.name} & {effect.name for effect in plan.effects}
        assert isinstance(plan.outcome, Wait)
        assert plan.outcome.reason == reason
        assert "3 pods wait for replacement" in plan.outcome.message
        # It never becomes overdue.
        late = plan_workload(cluster, world.rolling_for(timedelta(hours=1)))
        assert gen.expect(Wait, late.outcome).reason == reason

    @pytest.mark.parametrize("cluster", [FENCED, MAINTAINED])
    def test_no_quorum_is_read(self, cluster: gen.Cluster) -> None:
        facts = old_pods().facts()
        assert wants_quorum(OLD.read().spec, facts, "", "")
        assert not wants_quorum(cluster.read().spec, facts, "", "")

    def test_files_are_still_reloaded(self) -> None:
        pods = (
            gen.pod(n).with_template("now").ready(leading=n == 0).in_maintenance() for n in range(3)
        )
        world = serving().with_pods(*pods)
        world = world.with_pods(*(pod.with_template(digest()) for pod in world.pods))
        assert {name for name, _ in names_of(plan_workload(MAINTAINED, world))} == {ReloadPod.name}


GATED = serving().with_set(
    gen.stateful_set().with_template(digest()).with_files(FILES.digest).with_gates()
)


class TestPlans:
    """Day-2 operations within the plan of the workload."""

    def test_a_fenced_pod_with_outdated_files_is_complete(self) -> None:
        for fenced in (GATED.pods[2], GATED.pods[2].with_files("older files")):
            there = GATED.with_pods(*GATED.pods[:2], fenced.with_gates())
            assert plan_workload(FENCED, there).outcome == Done()

    def test_an_unready_pod_that_is_not_fenced_is_waited_for(self) -> None:
        pods = (GATED.pods[0], GATED.pods[1].unready(), GATED.pods[2].with_gates())
        outcome = gen.expect(Wait, plan_workload(FENCED, GATED.with_pods(*pods)).outcome)
        assert outcome.reason == "NotReady"
        assert outcome.message == "1 of 2 servers are ready; not ready: x-1"

    def test_the_gate_is_removed_after_the_last_fence(self) -> None:
        world = serving()
        plan = plan_workload(OLD, world.with_pods(*world.pods[:2], world.pods[2].with_gates()))
        assert (UngatePod.name, "x-2") in names_of(plan)

    def test_hibernation_sets_no_replicas_and_plans_nothing_else(self) -> None:
        asleep = OLD.with_spec(hibernate=True)
        plan = plan_workload(asleep, serving(template="old"))
        assert set_of(plan)["replicas"] == 0
        assert plan.effects == ()
        assert gen.expect(Wait, plan.outcome).reason == "Hibernating"
        done = plan_workload(
            asleep, serving().with_pods().with_set(gen.stateful_set().with_replicas(0))
        )
        assert done.outcome == Done()


def test_only_a_restore_changes_the_template() -> None:
    restore = {"name": "monday", "uid": "r"}
    restored = OLD.with_status(restore=restore)
    assert digest(OLD) != digest(restored)
    ended = {**restore, "restartCompletedAt": "2030-01-01T00:00:00Z"}
    assert digest(restored.with_status(restore=ended)) == digest(restored)
