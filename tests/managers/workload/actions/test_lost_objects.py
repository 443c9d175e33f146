"""Every action on an object that changed since the plan: no write to another object, no event."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from contracts.records.effects import (
    DeleteClaim,
    EffectByUid,
    FencePod,
    GrowClaim,
    MarkPod,
    RecreateStatefulSet,
    ReloadPod,
    ReplacePod,
    ReplaceUnstarted,
    UngatePod,
)
from managers.cluster.apply.actions import EFFECTS
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.errors import ServerError
from runtime.types import Object, Resource
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error
from tests.managers.workload.actions.bench import MEANT

READY, GATED = gen.pod(2).object(), gen.pod(2).with_gates().object()
STUCK = gen.pod(0).unschedulable("0/1 nodes are available").object()
CLAIM = gen.claim()
POD_2, CLAIM_0 = ("x-2", "uid-x-2"), ("data-x-0", "uid-data-x-0")


@dataclass(frozen=True, slots=True)
class Case:
    """An effect, its object, and the request that may fail."""

    effect: EffectByUid
    resource: Resource
    live: Object
    request: str
    looks: bool = False
    """It reads the object first, and sends no request about another one."""

    def outside(self) -> Outside:
        return Outside(FakeApi().with_objects((self.resource, self.live)))


CASES = {
    "replace": Case(ReplacePod(*POD_2), POD, READY, "delete Pod x-2"),
    "evict": Case(ReplacePod(*POD_2, evict=True), POD, READY, "evict Pod x-2", looks=True),
    "replace a pod that never ran": Case(
        ReplaceUnstarted("x-0", "uid-x-0"), POD, STUCK, "delete Pod x-0", looks=True
    ),
    "reload": Case(
        ReloadPod(*POD_2, {"name": "reload-1-a"}), POD, READY, "patch Pod x-2", looks=True
    ),
    "fence": Case(FencePod(*POD_2), POD, READY, "delete Pod x-2"),
    "ungate": Case(UngatePod(*POD_2), POD, GATED, "patch Pod x-2", looks=True),
    "mark": Case(MarkPod(*POD_2, maintenance=True), POD, READY, "patch Pod x-2"),
    "grow": Case(
        GrowClaim(*CLAIM_0, "1Gi", "2Gi"), PVC, CLAIM, "patch PersistentVolumeClaim data-x-0"
    ),
    "delete PVC": Case(DeleteClaim(*CLAIM_0), PVC, CLAIM, "delete PersistentVolumeClaim data-x-0"),
    "recreate": Case(
        RecreateStatefulSet("x", "uid-sts-x", "1"),
        STATEFUL_SET,
        gen.stateful_set().object(),
        "delete StatefulSet x",
    ),
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


async def run(there: Outside, effect: EffectByUid) -> None:
    action: Any = EFFECTS[type(effect)]
    await action(there.context, MEANT, effect)


def is_attempted(there: Outside, case: Case) -> bool:
    attempts = [
        there.context.attempts.last(case.effect.name, uid) for uid in (case.effect.uid, "uid-x")
    ]
    return any(attempts)


async def is_quiet(there: Outside) -> bool:
    there.api.calls.clear()
    return await there.flush_events() == []


@EACH
@pytest.mark.parametrize("code", [404, 409])
async def test_a_deleted_or_changed_object_is_not_written(case: Case, code: int) -> None:
    there = case.outside()
    before = there.api.of(case.resource)
    there.api.refuse(case.request, api_error(code))
    await run(there, case.effect)
    assert there.api.of(case.resource) == before
    assert not is_attempted(there, case)
    assert await is_quiet(there)


@EACH
async def test_a_recreated_object_is_not_written(case: Case) -> None:
    there = case.outside()
    before = there.api.of(case.resource)
    await run(there, replace(case.effect, uid="uid-of-before"))
    assert not case.looks or {call.verb for call in there.api.calls} == {"get"}
    assert there.api.of(case.resource) == before
    assert await is_quiet(there)


@EACH
async def test_a_deleted_object_is_not_an_error(case: Case) -> None:
    there = Outside(FakeApi())
    await run(there, case.effect)
    assert await is_quiet(there)


@EACH
async def test_a_server_error_ends_the_reconcile(case: Case) -> None:
    there = case.outside()
    there.api.refuse(case.request, api_error(500))
    with pytest.raises(ServerError):
        await run(there, case.effect)
    assert not is_attempted(there, case)
