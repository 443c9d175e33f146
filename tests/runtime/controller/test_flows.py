"""Fairness of the workqueue: one namespace hardly delays the others."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.controller.controller import Controller, ControllerOptions
from runtime.controller.flows import AGEING, STALE_AGES
from runtime.controller.workqueue import LOW, NORMAL
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Request
from tests.runtime.queue_rig import Rig

WORKERS = 16
HOSTILE = [Request("hostile", str(number)) for number in range(400)]
OTHER = Request("other", "x")


def many(namespace: str, count: int = 400) -> list[Request]:
    return [Request(namespace, str(number)) for number in range(count)]


async def test_t34_flows_take_turns_and_each_keeps_its_order() -> None:
    rig = Rig()
    for key in (*many("a", 3), *many("b", 2), *many("", 2)):
        rig.queue.add(key)
    taken = []
    while (next_key := await rig.take()) is not None:
        taken.append(str(next_key))
        rig.queue.done(next_key)
    assert taken == ["a/0", "b/0", "0", "a/1", "b/1", "1", "a/2"]


async def test_t34_the_flow_with_fewer_workers_goes_first() -> None:
    rig = Rig()
    for key in (*many("a", 3), *many("b", 3)):
        rig.queue.add(key)
    taken = await rig.take_all()
    assert [key.namespace for key in taken] == [*"ababab"]
    for key in taken[:2]:
        rig.queue.done(key)
    rig.queue.done(Request("b", "1"))
    for key in (*many("a", 1), *many("b", 2)):
        rig.queue.add(key)
    assert (await rig.take()) == Request("b", "0")


@settings(deadline=None, max_examples=60)
@given(warm_up=st.integers(0, 2 * AGEING), priority=st.sampled_from([NORMAL, LOW]))
def test_t34_with_one_worker_a_key_waits_for_one_reconcile_of_a_full_flow_or_one_by_age(
    warm_up: int, priority: int
) -> None:
    async def scenario() -> int:
        rig = Rig()
        for key in HOSTILE:
            rig.queue.add(key, priority=priority)
        for _ in range(warm_up):
            rig.queue.done(await rig.queue.get())
        in_hand = await rig.queue.get()
        rig.queue.add(OTHER, priority=priority)
        for passes in range(3):
            rig.queue.done(in_hand)
            in_hand = await rig.queue.get()
            if in_hand == OTHER:
                return passes
        raise AssertionError("more than two passes of the other flow went first")

    passes = asyncio.run(scenario())
    # By turn there are at most two before it; every AGEING-th key is taken by age.
    assert passes <= 2


@settings(deadline=None, max_examples=40)
@given(
    hostile=st.integers(1, 5),
    adds=st.lists(st.integers(0, 4), min_size=WORKERS, max_size=60),
    ended=st.lists(st.integers(0, WORKERS), max_size=20),
)
def test_t34_five_hung_flows_leave_a_worker_for_the_next_one(
    hostile: int, adds: list[int], ended: list[int]
) -> None:
    async def scenario() -> None:
        rig = Rig(workers=WORKERS)
        held: list[Request] = []
        for number, flow in enumerate(adds):
            rig.queue.add(Request(f"hostile-{flow % hostile}", str(number)))
            held += await rig.take_all()
        for place in ended:
            if place < len(held):
                rig.queue.done(held.pop(place))
                held += await rig.take_all()
        assert max(_seats(held).values(), default=0) <= WORKERS // 4
        rig.queue.add(OTHER)
        assert await rig.take() == OTHER

    asyncio.run(scenario())


async def test_t34_six_flows_hold_all_workers_and_the_next_one_waits() -> None:
    rig = Rig(workers=WORKERS)
    held = []
    for flow in range(6):
        for key in many(f"hostile-{flow}"):
            rig.queue.add(key)
        held += await rig.take_all()
    assert [*_seats(held).values()] == [4, 4, 4, 2, 1, 1]
    rig.queue.add(OTHER)
    assert await rig.take() is None
    rig.queue.done(held[0])
    assert await rig.take() == OTHER


async def test_t34_age_does_not_override_the_share() -> None:
    rig = Rig(workers=WORKERS)
    for key in HOSTILE:
        rig.queue.add(key, priority=LOW)
    held = await rig.take_all()
    assert len(held) == WORKERS // 4
    for number in range(3 * AGEING):
        rig.queue.add(Request("other", str(number)))
        taken = await rig.queue.get()
        assert taken.namespace == "other"
        rig.queue.done(taken)


async def test_t34_one_released_key_may_unblock_two_flows() -> None:
    rig = Rig(workers=8)
    for key in (*many("c", 2), *many("d", 2), *many("e", 1), *many("a", 1), *many("b", 1)):
        rig.queue.add(key)
    assert len(await rig.take_all()) == 7
    again = [Request("a", "again"), Request("b", "again")]
    rig.queue.add(again[1])
    rig.queue.add(again[0], priority=LOW)
    waiting = [asyncio.create_task(rig.queue.get()) for _ in range(2)]
    await rig.clock.settle()
    assert not any(task.done() for task in waiting), "one is free, and both hold one"
    rig.queue.done(Request("a", "0"))
    await rig.clock.settle()
    assert {task.result() for task in waiting} == {*again}


async def test_t34_the_heap_of_ages_is_bounded() -> None:
    rig = Rig()
    for key in many("old", 5000):
        rig.queue.add(key, priority=LOW)
    for number in range(3000):
        rig.queue.add(Request(f"n{number % 5}", str(number)))
        rig.queue.done(await rig.queue.get())
    line = rig.queue._line
    assert len(line._ages) <= 2 * len(line._flows) + STALE_AGES + 1


async def test_t34_a_flow_without_keys_is_removed() -> None:
    rig = Rig(workers=WORKERS)
    for number in range(100):
        rig.queue.add(Request(f"n{number}", "x"), priority=number % 3)
        rig.queue.done(await rig.queue.get())
    line = rig.queue._line
    assert (len(line._flows), len(line._turns), line._priorities) == (0, 0, [])


async def test_t34_the_gauges_show_how_flows_share_the_workers() -> None:
    rig = Rig(workers=WORKERS)
    for key in (*many("a", 9), *many("b", 1)):
        rig.queue.add(key)
    assert await rig.take_all()
    await rig.clock.advance(3.0)
    assert {name: rig.sample(f"workqueue_{name}") for name in SHARING} == {
        "flows": 2,
        "flows_at_limit": 1,
        "flow_waiting_max": 5,
        "flow_seats_max": 4,
        "longest_wait_seconds": pytest.approx(3.0),
    }


SHARING = ("flows", "flows_at_limit", "flow_waiting_max", "flow_seats_max", "longest_wait_seconds")


def _seats(held: list[Request]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for key in held:
        counted[key.namespace] = counted.get(key.namespace, 0) + 1
    return counted


@pytest.mark.parametrize(("fair", "workers"), [(True, WORKERS), (False, 4)])
async def test_t34_slow_reconciles_of_one_namespace_do_not_delay_another(
    fair: bool, workers: int
) -> None:
    clock, begun = ManualClock(), dict[Request, float]()

    async def slow(request: Request) -> Outcome:
        begun.setdefault(request, clock.monotonic())
        if request.namespace == "hostile":
            await clock.sleep(5.0)
            return Done(2.0)
        return Done()

    options = ControllerOptions(fair=fair)
    controller = Controller(
        "x", slow, clock=clock, metrics=Metrics(), workers=workers, options=options
    )
    running = asyncio.create_task(controller.run())
    for key in HOSTILE[:100]:
        controller.enqueue(key)
    await clock.advance(1.0)
    controller.enqueue(OTHER)
    await clock.advance(30.0)
    # Without shares it is next by turn, and waits for the first worker that is done.
    assert begun[OTHER] == (1.0 if fair else 5.0)
    controller.stop()
    await clock.advance(10.0)
    await running
