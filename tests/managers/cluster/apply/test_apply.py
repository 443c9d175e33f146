"""The order in which a plan is applied, and the outcome of each response."""

from dataclasses import replace

import pytest

from contracts.owned_kinds import PRUNED
from managers.cluster.apply.apply import IMMUTABLE, outcome_of
from managers.cluster.plan.steps import merge_plans
from runtime.apply.apply_result import Applied
from runtime.builtin_kinds import CONFIG_MAP, PVC, ROLE, ROLE_BINDING, SECRET, STATEFUL_SET
from runtime.errors import ServerError, status_error
from runtime.outcome import Blocked, Done, Wait
from runtime.types import Object, ObjectKey
from runtime.verdict import Verdict
from tests import gen
from tests.gen.api import FakeApi, api_error
from tests.house.checkout import ROOT
from tests.managers.cluster.apply.bench import CLUSTER, DESIRED, NAMES, OWNER, Bench

HELD = merge_plans(gen.resolved(CLUSTER), gen.world().facts())


def child(name: str, **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": gen.NAMESPACE,
            "uid": f"uid-{name}",
            "ownerReferences": [OWNER.reference()],
            **metadata,
        },
    }


async def test_everything_is_applied_once_in_its_order_and_the_pods_last() -> None:
    bench = Bench()
    done = await bench.apply()
    assert done.in_place
    assert sorted(bench.applies) == sorted(NAMES)
    assert set(bench.applies[-2:]) == {"StatefulSet x", "PodDisruptionBudget x-pdb"}
    role = next(i for i in DESIRED.intents if i.resource == ROLE).key.name
    binding = next(i for i in DESIRED.intents if i.resource == ROLE_BINDING).key.name
    assert bench.applies.index(f"Role {role}") < bench.applies.index(f"RoleBinding {binding}")
    bench.api.calls.clear()
    done = await bench.apply()
    assert {applied.verdict for applied in done.objects} == {Verdict.SKIPPED}
    assert bench.api.take_requests() == []


async def test_no_pod_starts_before_the_foundation_is_in_place() -> None:
    foreign = child("x-config", ownerReferences=[])
    bench = Bench(FakeApi().with_objects((CONFIG_MAP, foreign), STALE))
    done = await bench.apply()
    assert not done.in_place
    assert done.conflicts == ("ConfigMap ns/x-config exists and belongs to an unknown owner",)
    assert not any(name.startswith("StatefulSet") for name in bench.applies)
    # The others are applied anyway, and nothing is pruned.
    assert "Service x" in bench.applies
    assert not any(call.verb == "delete" for call in bench.api.calls)


async def test_a_plan_without_pods_applies_its_foundation() -> None:
    bench = Bench()
    await bench.apply(HELD)
    assert len(bench.applies) == len(HELD.foundation)
    assert not any(name.startswith("StatefulSet") for name in bench.applies)


async def test_an_error_holds_back_the_pods_and_is_raised() -> None:
    bench = Bench()
    bench.api.refuse("apply Service x", api_error(500))
    with pytest.raises(ServerError):
        await bench.apply()
    assert not any(name.startswith("StatefulSet") for name in bench.applies)


STALE = (CONFIG_MAP, child("x-config-init-of-before"))


async def test_objects_outside_a_complete_plan_are_pruned_after_the_workload() -> None:
    bench = Bench(FakeApi().with_objects(STALE))
    await bench.apply(HELD)
    assert not any(call.verb == "delete" for call in bench.api.calls), "by an incomplete plan"
    await bench.apply()
    words = bench.api.take_requests()
    assert words.index("apply StatefulSet x") < words.index(
        "delete ConfigMap x-config-init-of-before"
    )


def test_volumes_keys_and_the_servers_themselves_are_never_pruned() -> None:
    assert not {PVC, SECRET, STATEFUL_SET} & set(PRUNED)
    # All other created kinds can be pruned.
    assert {i.resource for i in DESIRED.intents} <= {*PRUNED, STATEFUL_SET}


OUTCOMES: dict[Verdict, tuple[type[object], str]] = {
    Verdict.SKIPPED: (Done, ""),
    Verdict.CREATED: (Done, ""),
    Verdict.UPDATED: (Done, ""),
    Verdict.FOREIGN: (Blocked, "ForeignObject"),
    Verdict.REJECTED: (Blocked, "Rejected"),
    Verdict.TERMINATING: (Wait, "Reconciling"),
}


@pytest.mark.parametrize("verdict", Verdict)
def test_outcome(verdict: Verdict) -> None:
    kind, reason = OUTCOMES[verdict]
    outcome = outcome_of(
        Applied(DESIRED.foundation[0], verdict, None, "ConfigMap ns/x-config: why")
    )
    assert isinstance(outcome, kind)
    if not isinstance(outcome, Done):
        assert outcome.reason == reason
        assert "ConfigMap ns/x-config: why" in outcome.message
    assert not isinstance(outcome, Wait) or outcome.after is not None


async def test_a_rejection_is_an_outcome_and_no_crash() -> None:
    bench = Bench()
    invalid = status_error({"code": 422, "reason": "Invalid", "message": "field is immutable"})
    bench.api.refuse("apply StatefulSet x", invalid)
    done = await bench.apply()
    assert any(isinstance(o, Blocked) and o.reason == "Rejected" for o in done.outcomes)
    assert (STATEFUL_SET, ObjectKey(gen.NAMESPACE, "x")) not in bench.api.objects


def test_an_immutable_change_is_reported_with_a_workaround() -> None:
    """For fields that managers.workload.storage.recreate_statefulset does not handle."""
    intent = next(intent for intent in DESIRED.intents if intent.resource == STATEFUL_SET)
    words = f"{intent}: Forbidden: {IMMUTABLE} 'replicas' are forbidden"
    outcome = outcome_of(Applied(intent, Verdict.REJECTED, None, words))
    assert isinstance(outcome, Blocked)
    assert outcome.reason == "StatefulSetImmutable"
    assert "delete statefulset x --cascade=orphan" in outcome.message


def test_the_message_is_that_of_an_api_server() -> None:
    recorded = (ROOT / "tests/runtime/refusals.json").read_text(encoding="utf-8")
    assert IMMUTABLE in recorded


async def test_spared_objects_are_neither_written_nor_deleted() -> None:
    """A former account that pods still use."""
    former = {**child("former-role"), "apiVersion": ROLE.api_version, "kind": ROLE.kind}
    named = (ROLE, ObjectKey(gen.NAMESPACE, "former-role"))
    for spared, left in (((named,), 1), ((), 0)):
        bench = Bench(FakeApi().with_objects((ROLE, former)))
        await bench.apply(replace(DESIRED, retained=spared))
        roles = [role for role in bench.api.of(ROLE) if role["metadata"]["name"] == "former-role"]
        assert len(roles) == left
        assert not any("former" in call for call in bench.applies) or not left
