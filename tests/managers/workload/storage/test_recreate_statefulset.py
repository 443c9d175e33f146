"""managers.workload.storage.recreate_statefulset: when a StatefulSet is recreated."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.records.desired import Operation, Plan
from contracts.records.effects import RecreateStatefulSet
from contracts.records.observed import Observed
from managers.cluster.observe.from_objects import stateful_set_facts
from managers.workload.plan import Inputs, plan
from managers.workload.rollout.reload import Files
from managers.workload.storage.recreate_statefulset import ASK_AGAIN, immutable_fields
from runtime.builtin_kinds import POD_DISRUPTION_BUDGET, STATEFUL_SET
from runtime.outcome import Done, Wait
from runtime.types import Object, annotations_of
from tests import gen
from tests.gen.secrets import AUTHORITY_TEXT
from tests.gen.worlds import SERVER_FINGERPRINT
from tests.managers.workload.volume_worlds import LARGER, OLD, claim, grown_claim, world

GROWN = world(*(grown_claim(n) for n in range(3)))
SMALL = world(*(claim(n) for n in range(3)))
Change = Callable[[Observed], Observed]


def created(cluster: gen.Cluster, there: gen.World) -> Object:
    """The StatefulSet that is applied if there is none."""
    plan = plan_storage(cluster, there.with_set(None))
    (intent,) = [intent for intent in plan.intents if intent.resource == STATEFUL_SET]
    return intent.body


def as_it_is(observed: Observed) -> Observed:
    return observed


def plan_storage(cluster: gen.Cluster, there: gen.World, change: Change = as_it_is) -> Plan:
    meant = gen.resolved(cluster, there)
    files = Files(meant.config_text, SERVER_FINGERPRINT, AUTHORITY_TEXT, meant.reload_text)
    return plan(meant, change(there.facts()), Inputs(meant.restart_text, files))


def is_recreated(plan: Plan) -> bool:
    return any(effect.name == RecreateStatefulSet.name for effect in plan.effects)


def has_set(plan: Plan) -> bool:
    return any(intent.resource == STATEFUL_SET for intent in plan.intents)


def differing(observed: Observed, **fields: str) -> Observed:
    live = gen.present(observed.stateful_set)
    names = {f"spec.{name}": value for name, value in fields.items()}
    return replace(
        observed, stateful_set=replace(live, immutable_fields={**live.immutable_fields, **names})
    )


def other_service(observed: Observed) -> Observed:
    return differing(observed, serviceName="before")


def larger_template(observed: Observed) -> Observed:
    live = gen.present(observed.stateful_set)
    return replace(observed, stateful_set=replace(live, claim_size="3Gi"))


def outdated(world: gen.World) -> gen.World:
    return world.with_pods(*(pod.with_template("before") for pod in world.pods))


LIVE = gen.present(GROWN.stateful_set)
TWO, LAST = GROWN.pods[:2], GROWN.pods[2]
# sentence: (cluster, world, another difference, whether it is recreated, whether it is applied)
ROWS: dict[str, tuple[gen.Cluster, gen.World, Change, bool, bool]] = {
    "a larger volume template is kept": (LARGER, GROWN, larger_template, False, True),
    "a rollout is completed first": (LARGER, outdated(GROWN), as_it_is, False, True),
    "its Service differs": (OLD, SMALL, other_service, True, False),
    "its Service differs during a rollout": (OLD, outdated(SMALL), other_service, True, False),
    "its Service differs, and no volume can grow": (LARGER, SMALL, other_service, True, False),
    "its Service differs and a pod is unready": (
        OLD,
        SMALL.with_pods(*SMALL.pods[:2], SMALL.pods[2].unready()),
        other_service,
        False,
        False,
    ),
    "a stale controller": (LARGER, GROWN.with_set(LIVE.with_stale_status()), as_it_is, False, True),
    "a hibernated cluster": (
        LARGER,
        GROWN.with_set(LIVE.with_replicas(0)).with_pods(),
        as_it_is,
        False,
        True,
    ),
    # Its only pod must not belong to a StatefulSet without first-boot settings.
    "the StatefulSet of a first boot": (
        LARGER,
        GROWN.with_set(gen.stateful_set().first_boot()).with_pods(GROWN.pods[0]),
        other_service,
        False,
        True,
    ),
}


@pytest.mark.parametrize(
    ("cluster", "there", "change", "recreated", "applied"), ROWS.values(), ids=ROWS
)
def test_when_it_is_recreated(
    cluster: gen.Cluster, there: gen.World, change: Change, recreated: bool, applied: bool
) -> None:
    plan = plan_storage(cluster, there, change)
    assert (is_recreated(plan), has_set(plan)) == (recreated, applied)


@pytest.mark.parametrize("change", [as_it_is, other_service], ids=["size", "service"])
@pytest.mark.parametrize(
    "pods",
    [(), TWO, (*TWO, LAST.unready()), (*TWO, LAST.terminating()), (*TWO, LAST, gen.pod(3).ready())],
    ids=["none", "one is missing", "one is not ready", "one terminates", "one too many"],
)
def test_every_pod_must_be_ready(pods: tuple[gen.Pod, ...], change: Change) -> None:
    assert not is_recreated(plan_storage(LARGER, GROWN.with_pods(*pods), change))


FIELDS = ("serviceName", "selector", "podManagementPolicy", "volumeClaimTemplates annotations")


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_of_an_older_operator_recreates_it_and_is_named(field: str) -> None:
    plan = plan_storage(OLD, SMALL, lambda observed: differing(observed, **{field: "before"}))
    assert is_recreated(plan)
    assert field in gen.expect(Wait, plan.outcome).message


class TestLargerVolumes:
    def test_the_stateful_set_is_recreated_once_all_volumes_have_grown(self) -> None:
        plan = plan_storage(LARGER, GROWN)
        (effect,) = [each for each in plan.effects if each.name == RecreateStatefulSet.name]
        assert effect == RecreateStatefulSet("x", "uid-sts-x", "1")
        assert gen.expect(Wait, plan.outcome).reason == "RecreatingStatefulSet"
        assert plan.operation == Operation("Recreating", 0, 1)
        # It is not applied in the same pass.
        assert [intent.resource for intent in plan.intents] == [POD_DISRUPTION_BUDGET]

    def test_the_stateful_set_is_kept_while_volumes_grow(self) -> None:
        plan = plan_storage(LARGER, world(grown_claim(0), grown_claim(1), claim(2)))
        assert not is_recreated(plan)
        assert has_set(plan)
        assert gen.expect(Wait, plan.outcome).reason == "StorageResizing"
        # Unobserved volumes do not count as grown.
        assert not is_recreated(plan_storage(LARGER, world(grown_claim(0), grown_claim(1))))

    @pytest.mark.parametrize("size", ["1Gi", "1024Mi", "1073741824"])
    def test_an_equal_size_in_another_notation_is_no_change(self, size: str) -> None:
        same = OLD.with_spec(storage={"size": size})
        plan = plan_storage(same, SMALL)
        assert (plan.outcome, plan.effects) == (Done(), ())

    def test_the_new_stateful_set_creates_larger_volumes(self) -> None:
        """A missing StatefulSet is created, also by a new process."""
        plan = plan_storage(LARGER, GROWN.with_set(None))
        (spec,) = [i.body["spec"] for i in plan.intents if i.resource == STATEFUL_SET]
        (template,) = spec["volumeClaimTemplates"]
        assert template["spec"]["resources"]["requests"]["storage"] == "2Gi"
        assert spec["replicas"] == 3

    def test_a_recent_recreation_is_not_repeated(self) -> None:
        lately = GROWN.with_attempt(
            RecreateStatefulSet.name, "uid-x", ASK_AGAIN - timedelta(seconds=1)
        )
        plan = plan_storage(LARGER, lately)
        assert (is_recreated(plan), has_set(plan)) == (False, False)
        assert is_recreated(
            plan_storage(LARGER, GROWN.with_attempt(RecreateStatefulSet.name, "uid-x", ASK_AGAIN))
        )


def test_immutable_fields_are_read_equally_from_plan_and_server() -> None:
    spec: Mapping[str, Any] = next(
        intent.body["spec"]
        for intent in plan_storage(OLD, SMALL).intents
        if intent.resource == STATEFUL_SET
    )
    assert immutable_fields(spec) == immutable_fields(gen.stateful_set().object()["spec"])
    assert all(immutable_fields(spec).values())
    assert set(immutable_fields({}).values()) == {""}


class TestAdmissionWebhook:
    """A mutating webhook changes what the operator cannot change afterwards."""

    def changed(
        self, cluster: gen.Cluster, there: gen.World, *, size: str = "1Gi", **marks: str
    ) -> Change:
        """The StatefulSet that the operator creates, with the changes of the webhook."""
        live = copy.deepcopy(gen.present(there.stateful_set).object())
        live["metadata"]["annotations"] = annotations_of(created(cluster, there))
        (template,) = live["spec"]["volumeClaimTemplates"]
        template["metadata"]["labels"].update(marks)
        template["spec"]["resources"]["requests"]["storage"] = size
        return lambda observed: replace(observed, stateful_set=stateful_set_facts(live))

    def test_labels_and_size_of_the_webhook_are_kept_until_the_spec_changes(self) -> None:
        marks = {"example.org/cost-centre": "7"}
        change = self.changed(OLD, SMALL, **marks)
        plan = plan_storage(OLD, SMALL, change)
        assert (plan.outcome, plan.effects) == (Done(), ())
        (intent,) = [intent for intent in plan.intents if intent.resource == STATEFUL_SET]
        assert annotations_of(intent.body) == annotations_of(created(OLD, SMALL))
        plan = plan_storage(LARGER, GROWN, self.changed(LARGER, GROWN))
        assert (plan.outcome, plan.effects) == (Done(), ())
        assert is_recreated(plan_storage(LARGER, GROWN, self.changed(OLD, SMALL, **marks)))

    def test_a_stateful_set_of_an_older_operator_is_recreated_once(self) -> None:
        """It has no record of the fields with which it was created."""
        marks = {"volumeClaimTemplates labels": "example.org/cost-centre=7"}
        assert is_recreated(plan_storage(OLD, SMALL, lambda observed: differing(observed, **marks)))


BROKEN = SMALL.with_pods(*SMALL.pods[:2], SMALL.pods[2].waiting("ImagePullBackOff").unready())


def test_a_pod_that_cannot_run_does_not_block_the_next_template() -> None:
    """Its image may be wrong in the live template, and right in the desired one."""
    assert is_recreated(plan_storage(OLD, outdated(BROKEN), other_service))
    # The template can be applied, so it repairs the pod first.
    assert not is_recreated(plan_storage(LARGER, outdated(BROKEN)))
    alone = SMALL.with_pods(*(pod.waiting("ImagePullBackOff").unready() for pod in SMALL.pods))
    assert not is_recreated(plan_storage(OLD, alone, other_service))


def test_no_pod_is_replaced_while_there_is_no_stateful_set() -> None:
    plan = plan_storage(OLD, outdated(SMALL), other_service)
    assert [effect.name for effect in plan.effects] == [RecreateStatefulSet.name]
