"""A ready voter is evicted through its disruption budget; a closed budget is waited for."""

from datetime import timedelta
from typing import Any

import pytest

from contracts.records.desired import Plan
from contracts.records.effects import Effect, ReplacePod
from contracts.records.observed import EVICT
from managers.workload.actions.pods import replace_pod
from managers.workload.plan import ROLL_STUCK
from managers.workload.rollout.next_pod import EVICT_AGAIN, EVICT_SELDOM
from runtime.builtin_kinds import POD
from runtime.errors import Forbidden, status_error
from runtime.outcome import Wait
from tests import gen
from tests.gen.api import Outside, api_error
from tests.managers.workload.actions.bench import EFFECT, MEANT, outside
from tests.managers.workload.plans import plan_workload, serving
from tests.managers.workload.scale_worlds import THREE

OLD = tuple(gen.pod(n).with_template("old").ready(leading=n == 0) for n in range(3))
EVICTED = ReplacePod("x-2", "uid-x-2", evict=True)
WORDS = "The disruption budget x needs 2 healthy pods and has 2 currently"
CLOSED = "DisruptionBudgetClosed"
REFUSAL: dict[str, Any] = {
    "code": 429,
    "reason": "TooManyRequests",
    "message": "Cannot evict pod as it would violate the pod's disruption budget.",
    "details": {"causes": [{"reason": "DisruptionBudget", "message": WORDS}]},
}


def plan_after_refusal(ago: timedelta, rolling: timedelta = timedelta(seconds=20)) -> Plan:
    """The plan of a rollout whose next eviction was refused `ago`."""
    world = (
        serving().with_pods(*OLD).with_attempt(EVICT, "uid-x-2", ago, WORDS).rolling_for(rolling)
    )
    return plan_workload(THREE, world)


class TestPlan:
    def test_a_ready_pod_is_evicted(self) -> None:
        assert plan_workload(THREE, serving().with_pods(*OLD)).effects == (EVICTED,)

    def test_an_unready_pod_is_deleted(self) -> None:
        """The budget would refuse its eviction, and a new template may repair it."""
        ill = gen.pod(1).with_template("old")
        (effect,) = plan_workload(THREE, serving().with_pods(OLD[0], ill, OLD[2])).effects
        assert effect == ReplacePod("x-1", "uid-x-1", evict=False)

    @pytest.mark.parametrize(
        ("ago", "rolling", "effects", "reason"),
        [
            (EVICT_AGAIN / 2, timedelta(seconds=20), (), CLOSED),
            (EVICT_AGAIN, timedelta(seconds=20), (EVICTED,), CLOSED),
            (EVICT_AGAIN, timedelta(minutes=10), (), ROLL_STUCK),
            (EVICT_SELDOM, timedelta(minutes=10), (EVICTED,), ROLL_STUCK),
        ],
    )
    def test_a_closed_budget_is_retried_and_reported(
        self, ago: timedelta, rolling: timedelta, effects: tuple[Effect, ...], reason: str
    ) -> None:
        plan = plan_after_refusal(ago, rolling)
        assert tuple(effect for effect in plan.effects if effect.name == ReplacePod.name) == effects
        assert isinstance(plan.outcome, Wait)
        assert (plan.outcome.reason, plan.outcome.after) == (reason, 1.0)
        assert f"x-2 is not evicted: {WORDS}" in plan.outcome.message
        assert plan.operation is not None

    def test_an_earlier_refusal_does_not_block_a_repair(self) -> None:
        ill = gen.pod(2).with_template("old")
        world = (
            serving().with_pods(*OLD[:2], ill).with_attempt(EVICT, "uid-x-2", timedelta(), WORDS)
        )
        (effect,) = plan_workload(THREE, world).effects
        assert effect == ReplacePod("x-2", "uid-x-2", evict=False)

    def test_an_eviction_is_checked_again_soon(self) -> None:
        """The budget may have refused the eviction, and no event reports that."""
        assert (
            gen.expect(Wait, plan_workload(THREE, serving().with_pods(*OLD)).outcome).after == 0.5
        )


class TestRun:
    async def test_a_ready_pod_is_evicted(self) -> None:
        there = outside()
        await replace_pod(there.context, MEANT, EVICTED)
        assert there.api.take_requests() == ["get Pod x-2", "evict Pod x-2"]
        assert (await there.flush_events())[0][1] == "PodReplaced"

    async def test_a_refused_eviction_is_recorded_without_an_event(self) -> None:
        there = outside()
        there.api.refuse("evict Pod x-2", status_error(REFUSAL))
        await replace_pod(there.context, MEANT, EVICTED)
        assert gen.present(there.context.attempts.last(EVICT, "uid-x-2")).refusal == WORDS
        assert len(there.api.objects) == 1
        there.api.calls.clear()
        assert await there.flush_events() == []

    @pytest.mark.parametrize(
        "metadata", [{"uid": "another"}, {"deletionTimestamp": "2030-01-01T00:00:00Z"}]
    )
    async def test_a_changed_pod_is_not_evicted(self, metadata: dict[str, str]) -> None:
        """A budget counts the evicted pod by its name, not by its UID."""
        there = outside()
        (live,) = there.api.of(POD)
        there.api.with_objects((POD, {**live, "metadata": {**live["metadata"], **metadata}}))
        await replace_pod(there.context, MEANT, EVICTED)
        assert there.api.take_requests() == ["get Pod x-2"]
        assert await _quiet(there)

    async def test_a_missing_permission_is_an_error(self) -> None:
        there = outside()
        there.api.refuse("evict Pod x-2", api_error(403))
        with pytest.raises(Forbidden):
            await replace_pod(there.context, MEANT, EVICTED)

    async def test_a_deletion_does_not_use_the_budget(self) -> None:
        there = outside()
        await replace_pod(there.context, MEANT, EFFECT)
        assert there.api.take_requests() == ["delete Pod x-2"]


async def _quiet(there: Outside) -> bool:
    there.api.calls.clear()
    return await there.flush_events() == []
