"""Calls hooks, which return the services of a datacenter, with a timeout.

Uses runtime.clock and contracts.datacenter.rules.all_rules. A Hook is registered with
managers.datacenter.sources.registry; `call_hooks` is called by
managers.datacenter.lifecycle.service.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol, TypeVar

import structlog

from contracts.datacenter.objects import SERVICES_MAX, InvalidDatacenterError
from contracts.datacenter.rules.all_rules import read_services
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import DatacenterInfo, ServiceSource
from managers.datacenter.sources.merge import SourceResult
from runtime.clock import Clock, Deadline

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

DEADLINE: Final = 5.0
"""Timeout of a call of a hook for one datacenter, in seconds."""
ERROR_MAX: Final = 512
"""Maximum length of a reported error."""
THREADS: Final = 4
"""Concurrent calls of one synchronous function, including timed-out ones."""

Body = BootstrapService | Mapping[str, Any]
"""A service, or its JSON with the field names of a manifest."""


@dataclass(frozen=True, slots=True)
class HookContext:
    """The context of a hook call, in addition to the datacenter."""

    deadline: float
    """Seconds until the call times out."""
    log: structlog.typing.FilteringBoundLogger
    """Bound with the name of the source and of the datacenter."""


class Hook(Protocol):
    """Returns services for datacenters.

    It is called for every datacenter, repeatedly and concurrently, and returns an empty list for a
    datacenter without services of this hook. A service with another body than before is updated; a
    service that is missing is retired. After an exception or an invalid result, the previous
    services are kept.
    """

    @property
    def name(self) -> str:
        """The name of the source. It must be stable, because records store it."""
        ...

    @property
    def priority(self) -> int:
        """Precedence among sources with a service of the same name: the higher value wins."""
        ...

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        """Return the services of this datacenter. It must support cancellation."""
        ...


Function = Callable[[HookContext, DatacenterInfo], Iterable[Body] | Awaitable[Iterable[Body]]]


class FunctionHook:
    """A function as a hook. A synchronous function runs in its own thread.

    Threads cannot be cancelled: a thread continues after its timeout, and counts against THREADS
    until it ends. While THREADS threads run, each further call waits up to its own timeout.
    """

    def __init__(self, name: str, fn: Function, priority: int = 0) -> None:
        self.name, self.priority = name, priority
        self._fn = fn
        self._slots = asyncio.Semaphore(THREADS)

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        """Call the function; its exceptions propagate."""
        if _is_async(self._fn):
            result = self._fn(ctx, datacenter)
        else:
            await self._slots.acquire()
            result = await _in_thread(
                lambda: _consume(self._fn(ctx, datacenter)), self.name, self._slots.release
            )
        return await result if inspect.isawaitable(result) else result


async def call_hooks(
    sources: Iterable[tuple[ServiceSource, Hook]],
    datacenter: DatacenterInfo,
    clock: Clock,
    *,
    deadline: float = DEADLINE,
) -> tuple[SourceResult, ...]:
    """Call all hooks concurrently; return one result per source, in their order."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(call_hook(source, hook, datacenter, clock, deadline=deadline))
            for source, hook in sources
        ]
    return tuple(task.result() for task in tasks)


async def call_hook(
    source: ServiceSource,
    hook: Hook,
    datacenter: DatacenterInfo,
    clock: Clock,
    *,
    deadline: float = DEADLINE,
) -> SourceResult:
    """Call one hook, for at most `deadline` seconds; raises only if the caller is cancelled."""
    bound_log = log.bind(source=source.name, datacenter=datacenter.name)
    limit = Deadline(clock, deadline)
    try:
        async with limit:
            bodies = await hook.services(HookContext(deadline, bound_log), datacenter)
            return SourceResult(source, _read(bodies, datacenter.name))
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # The hook awaited a task that was cancelled; this task was not.
        return _error_result(source, error, bound_log)
    except TimeoutError as error:
        if not limit.expired:
            return _error_result(source, error, bound_log)
        return SourceResult(source, None, f"timed out after {deadline:g} s")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a broken hook must not affect the others
        return _error_result(source, error, bound_log)


# --- errors -------------------------------------------------------------------------------------


class SourceError(Exception):
    """A source has no valid result; the message is for users."""


def _error_result(
    source: ServiceSource, error: BaseException, bound_log: structlog.typing.FilteringBoundLogger
) -> SourceResult:
    # Status, event and warning have the message; the traceback is for the author of the hook.
    bound_log.debug("source failed", exc_info=error)
    return SourceResult(source, None, error_text(error))


def error_text(error: BaseException) -> str:
    """Return an error as one line: its message, and its type unless it is an error of ours."""
    text = " ".join(str(error).split())
    if not isinstance(error, SourceError | InvalidDatacenterError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= ERROR_MAX else f"{text[: ERROR_MAX - 3]}..."


def _read(bodies: Iterable[Body] | None, datacenter: str) -> tuple[BootstrapService, ...]:
    if bodies is None:
        # A function without a return statement must not retire its services.
        raise SourceError("returned None: return an empty list for no services")
    return read_services(bodies, "services", datacenter)


# --- synchronous functions ----------------------------------------------------------------------

T = TypeVar("T")


def _is_async(fn: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)


def _consume(result: T) -> T | list[Any]:
    """Consume a generator, in the thread that created it."""
    return list(islice(result, SERVICES_MAX + 1)) if isinstance(result, Iterator) else result


async def _in_thread(call: Callable[[], T], name: str, on_end: Callable[[], None]) -> T:
    """Run a call in its own thread; `on_end` is called on the loop when the thread ends.

    Not in the executor of the loop: a call that never returns would block DNS lookups and the
    exit of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        on_end()
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # without an error it is a T

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = call()
        except StopIteration as stop:
            # A future does not accept StopIteration.
            error = RuntimeError(f"raised StopIteration: {stop}")
        except BaseException as raised:  # noqa: BLE001 - passed to the waiting task
            error = raised
        try:
            loop.call_soon_threadsafe(deliver, result, error)
        except RuntimeError:
            log.debug("a hook ended after the event loop was closed", hook=name)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name=f"hook {name}", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        on_end()
        raise
    return await future
