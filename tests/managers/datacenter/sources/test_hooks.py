"""A hook has a deadline, and its failure does not affect other hooks."""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, cast

import pytest

from contracts.datacenter.objects import SERVICES_MAX
from contracts.datacenter.workload_records import DatacenterInfo, ServiceSource
from managers.datacenter.sources.hooks import (
    ERROR_MAX,
    THREADS,
    Body,
    Function,
    FunctionHook,
    Hook,
    HookContext,
    call_hook,
    call_hooks,
)
from managers.datacenter.sources.merge import SourceResult
from runtime.testing.clock import ManualClock
from tests.managers.datacenter.bodies import IMAGE, datacenter, openbao, service

SOURCE = ServiceSource("hook/network", 3)
FRA1 = datacenter()
RAW = {"name": "a", "dependsOn": ["b"], "services": [{"name": "main", "image": IMAGE}]}


class ClassHook:
    """A hook that is an instance of a class."""

    name, priority = "network", 3

    def __init__(self, answer: Callable[[HookContext, DatacenterInfo], Any]) -> None:
        self._answer = answer

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        return cast("Iterable[Body]", self._answer(ctx, datacenter))


async def result_of(hook: Hook) -> SourceResult:
    return await call_hook(SOURCE, hook, FRA1, ManualClock())


async def call_with(value: Any) -> SourceResult:
    return await result_of(ClassHook(lambda ctx, datacenter: value))


# --- answers ------------------------------------------------------------------------------------


async def test_a_hook_may_return_models_or_mappings_in_any_iterable() -> None:
    expected = service("a", depends_on=("b",))
    for value in ([expected], [RAW], (RAW,), iter([RAW])):
        assert await call_with(value) == SourceResult(SOURCE, (expected,))
    assert await call_with([]) == SourceResult(SOURCE, ())


async def test_a_hook_gets_its_deadline_and_its_datacenter() -> None:
    seen: list[tuple[float, DatacenterInfo]] = []

    def note(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        seen.append((ctx.deadline, info))
        ctx.log.debug("looked")
        return []

    await call_hook(SOURCE, ClassHook(note), FRA1, ManualClock(), deadline=2.5)
    assert seen == [(2.5, FRA1)]


async def test_a_vault_is_validated_with_the_name_of_the_datacenter() -> None:
    spec = {**openbao("v").to_object()["openbao"], "fencedPods": ["fra1-v-0"]}
    vault = openbao("v", openbao=spec)
    assert await call_with([vault]) == SourceResult(SOURCE, (vault,))
    response = await call_hook(
        SOURCE, ClassHook(lambda ctx, info: [vault]), datacenter("fra2"), ManualClock()
    )
    assert response.error.startswith("services[0].openbao.fencedPods: ")


# --- failures -----------------------------------------------------------------------------------


NO_LIST = "services: must be a list of services; use a list"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "returned None: return an empty list for no services"),
        ("log-shipper", f"{NO_LIST} (got log-shipper)"),
    ],
)
async def test_a_result_that_is_not_a_list_fails(value: Any, error: str) -> None:
    assert await call_with(value) == SourceResult(SOURCE, None, error)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        pytest.param([service("a", services=())], "services[0]", id="no Main container"),
        pytest.param([RAW, RAW], "services[1].name: ", id="a name twice"),
        pytest.param([service("a")] * (SERVICES_MAX + 1), "services: ", id="too many"),
    ],
)
async def test_one_invalid_service_fails_the_whole_result(value: Any, field: str) -> None:
    """A partial result would retire the other services."""
    source_result = await call_with(value)
    assert source_result.services is None
    assert source_result.error.startswith(field)


def raising(error: BaseException) -> Function:
    def call(ctx: HookContext, info: DatacenterInfo) -> NoReturn:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RuntimeError("no\nroute \x1b[0m"), "RuntimeError: no route ?[0m"),
        (KeyError("zone"), "KeyError: 'zone'"),
        (ValueError(), "ValueError"),
        (SystemExit(2), "SystemExit: 2"),
        (TimeoutError("its own"), "TimeoutError: its own"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
@pytest.mark.parametrize("make_hook", [ClassHook, functools.partial(FunctionHook, "network")])
async def test_whatever_a_hook_raises_is_a_failed_source(
    make_hook: Callable[[Function], Hook], error: BaseException, text: str
) -> None:
    assert await result_of(make_hook(raising(error))) == SourceResult(SOURCE, None, text)


async def test_a_function_that_raises_stop_iteration_fails() -> None:
    result = await result_of(FunctionHook("network", raising(StopIteration("x"))))
    assert result == SourceResult(SOURCE, None, "RuntimeError: raised StopIteration: x")


async def test_an_iterator_that_breaks_in_the_middle_fails() -> None:
    def broken() -> Iterator[Body]:
        yield service("a")
        raise LookupError("half")

    assert await call_with(broken()) == SourceResult(SOURCE, None, "LookupError: half")
    hook = FunctionHook("network", lambda ctx, info: broken())
    assert await result_of(hook) == SourceResult(SOURCE, None, "LookupError: half")


async def test_long_errors_are_cut() -> None:
    result = await result_of(ClassHook(raising(ValueError("x" * 5000))))
    assert len(result.error) == ERROR_MAX
    assert result.error.endswith("xxx...")


async def test_a_cancelled_caller_is_cancelled() -> None:
    clock = ManualClock()
    stopped: list[str] = []

    async def endless(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(info.name)
        return []

    task = asyncio.create_task(
        call_hooks([(SOURCE, FunctionHook("network", endless))], FRA1, clock)
    )
    await clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped == ["fra1"]


# --- several hooks ------------------------------------------------------------------------------


async def test_a_slow_hook_does_not_delay_others() -> None:
    clock = ManualClock()

    async def endless(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        await asyncio.Event().wait()
        return []

    sources: list[tuple[ServiceSource, Hook]] = [
        (ServiceSource("hook/slow1"), FunctionHook("slow1", endless)),
        (ServiceSource("hook/broken"), FunctionHook("broken", raising(OSError("down")))),
        (ServiceSource("hook/slow2"), FunctionHook("slow2", endless)),
        (ServiceSource("hook/fine"), ClassHook(lambda ctx, info: [service("a")])),
    ]
    task = asyncio.create_task(call_hooks(sources, FRA1, clock, deadline=3))
    await clock.advance(2.9)
    assert not task.done()
    await clock.advance(0.1)
    assert await task == (
        SourceResult(ServiceSource("hook/slow1"), None, "timed out after 3 s"),
        SourceResult(ServiceSource("hook/broken"), None, "OSError: down"),
        SourceResult(ServiceSource("hook/slow2"), None, "timed out after 3 s"),
        SourceResult(ServiceSource("hook/fine"), (service("a"),)),
    )


# --- functions ----------------------------------------------------------------------------------


class CallableObject:
    """An object with an async __call__."""

    async def __call__(self, ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        return [service(threading.current_thread().name.lower())]


async def plain_async(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
    return [service(threading.current_thread().name.lower())]


def return_later(ctx: HookContext, info: DatacenterInfo) -> Any:
    return plain_async(ctx, info)


@pytest.mark.parametrize(
    "fn",
    [plain_async, functools.partial(plain_async), CallableObject(), return_later],
    ids=["function", "partial", "object", "function that returns a coroutine"],
)
async def test_an_async_function_runs_on_the_event_loop(fn: Function) -> None:
    assert await result_of(FunctionHook("network", fn)) == SourceResult(
        SOURCE, (service("mainthread"),)
    )


async def test_a_generator_is_consumed_in_its_thread() -> None:
    threads: set[str] = set()

    def endless(ctx: HookContext, info: DatacenterInfo) -> Iterator[Body]:
        number = 0
        while True:
            threads.add(threading.current_thread().name)
            yield service(f"a{number}")
            number += 1

    result = await result_of(FunctionHook("network", endless))
    assert result.services is None
    assert threads == {"hook network"}


async def test_a_hanging_function_blocks_neither_the_loop_nor_other_datacenters() -> None:
    """The number of stuck threads is limited; further calls wait up to the deadline."""
    clock, gate, started = ManualClock(), threading.Event(), threading.Semaphore(0)
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, fault: faults.append(fault))

    def hang(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        started.release()
        gate.wait()
        return [service(info.name)]

    hook = FunctionHook("network", hang)
    places = [datacenter(f"dc{number}") for number in range(THREADS + 1)]
    tasks = [asyncio.create_task(call_hook(SOURCE, hook, place, clock)) for place in places]
    await clock.settle()
    for _ in range(THREADS):
        assert started.acquire(timeout=30)
    await clock.advance(5)
    late = SourceResult(SOURCE, None, "timed out after 5 s")
    assert [await task for task in tasks] == [late] * (THREADS + 1)
    assert not started.acquire(blocking=False)

    again = asyncio.create_task(call_hook(SOURCE, hook, FRA1, clock))
    await clock.settle()
    assert not again.done()
    gate.set()
    assert await again == SourceResult(SOURCE, (service("fra1"),))
    for thread in threading.enumerate():
        if thread.name == "hook network":
            thread.join(30)
    await clock.settle()
    assert faults == []


async def test_sequential_calls_of_a_function_reuse_its_threads() -> None:
    hook = FunctionHook("network", lambda ctx, info: [])
    broken = FunctionHook("network", raising(ValueError("x")))
    for _ in range(THREADS + 1):
        assert await result_of(hook) == SourceResult(SOURCE, ())
        assert await result_of(broken) == SourceResult(SOURCE, None, "ValueError: x")


def test_a_hanging_function_does_not_block_process_exit() -> None:
    gate, started, ended = threading.Event(), threading.Event(), threading.Event()

    def hang(ctx: HookContext, info: DatacenterInfo) -> list[Body]:
        started.set()
        gate.wait()
        ended.set()
        return []

    async def process() -> SourceResult:
        clock = ManualClock()
        task = asyncio.create_task(call_hook(SOURCE, FunctionHook("network", hang), FRA1, clock))
        await clock.settle()
        assert started.wait(30)
        await clock.advance(5)
        return await task

    assert asyncio.run(process()).error == "timed out after 5 s"
    thread = next(each for each in threading.enumerate() if each.name == "hook network")
    assert thread.daemon
    # A late result without a receiver must not raise; the test run would report it.
    gate.set()
    assert ended.wait(30)
    thread.join(30)
    assert not thread.is_alive()
