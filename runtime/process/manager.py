"""Starts and stops the components of a process in order, and ends it if one fails.

Uses runtime.clock and, through a protocol, runtime.leader.leader. Called once per process by the
application, which converts an exception of `Manager.run` to an exit status other than 0. The groups
and their order are those of controller-runtime (pkg/manager).

Start: SERVERS and OTHERS; once elected `on_elected`, which may add components, then CACHES and
LEADER. Each group is ready before the next one starts. Stop: OTHERS, LEADER, CACHES, SERVERS, then
the lease is released. Reconcilers end while their caches still run, and the lease is released last
because another process then starts to write.

Components are not restarted: if one fails, the process exits, and Kubernetes restarts it. A
controller that has stopped silently is worse than a crash that is visible.

Differences from controller-runtime: a component that returns before a stop has crashed, while Go
accepts a nil error; there is no group of webhooks; caches start after the election, so that a
standby does not hold what only a leader needs; at a stop reconcilers may finish their current
requests, and are cancelled at the end of the grace period; a stop always ends: if a component does
not end when cancelled, the process exits.
"""

import asyncio
import contextlib
import enum
import os
import signal
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from runtime.clock import Clock, Deadline, yield_to_loop
from runtime.errors import LeaseLost

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Group(enum.Enum):
    """When a runnable runs; the members are in start order."""

    SERVERS = "servers"
    OTHERS = "others"
    CACHES = "caches"
    LEADER = "leader"


STOP_ORDER: Final = (Group.OTHERS, Group.LEADER, Group.CACHES, Group.SERVERS)


@dataclass(frozen=True, slots=True)
class Runnable:
    """A component of the process.

    run
        Runs until cancelled, or until `stop` is called. Returning or raising earlier is a crash.
    ready
        Returns when the next group may start; raising is a crash. None: ready immediately.
    stop
        Makes `run` finish its current work and return. None: `run` is cancelled.
    """

    name: str
    run: Callable[[], Awaitable[object]]
    ready: Callable[[], Awaitable[object]] | None = None
    stop: Callable[[], object] | None = None


class Elector(Protocol):
    """The part of a leader elector that the manager needs."""

    async def run(self, on_started: Callable[[], Awaitable[None]], /) -> None: ...


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """In seconds. `grace` limits a graceful stop; its last `cancel_grace` are for components that
    had to be cancelled. `hard_cap` limits a stop without grace. ValueError unless 0 < cancel_grace
    <= grace and 0 < hard_cap."""

    grace: float = 30.0
    cancel_grace: float = 5.0
    hard_cap: float = 5.0

    def __post_init__(self) -> None:
        if not (0 < self.cancel_grace <= self.grace and self.hard_cap > 0):
            raise ValueError(f"need 0 < cancel grace <= grace, and 0 < hard cap: {self}")


class RunnableCrashed(Exception):  # noqa: N818 - named after what happened
    """A runnable ended without a stop; the cause is its exception, if any."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name


class ShutdownTimeout(Exception):  # noqa: N818 - named after what happened
    """Components did not end when cancelled; the message names them. Raised only if exit_now
    returns."""


class Manager:
    """Owns the tasks of a process. `add` its components, and `run` it once.

    on_elected
        Awaited by the leader before the groups CACHES and LEADER start; it may add to them. An
        exception is a crash.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        elector: Elector | None = None,
        on_elected: Callable[[], Awaitable[None]] | None = None,
        options: ManagerOptions | None = None,
        exit_now: Callable[[int], object] = os._exit,
    ) -> None:
        self._clock = clock
        self._elector = elector
        self._on_elected = on_elected or yield_to_loop
        self._options = options or ManagerOptions()
        # Ends the process if tasks do not end; the event loop would wait for them forever.
        self._exit_now = exit_now
        self._runnables: dict[Group, list[Runnable]] = {group: [] for group in Group}
        self._tasks: dict[Group, dict[asyncio.Task[None], Runnable]] = {g: {} for g in Group}
        # The started groups; a component that is added to them starts immediately.
        self._begun: set[Group] = set()
        # Tasks that wait until components that were added late are ready.
        self._late: set[asyncio.Task[None]] = set()
        self._leads = False
        self._stop_asked = asyncio.Event()
        self._lease_lost = asyncio.Event()
        self._failure: Exception | None = None

    def add(self, runnable: Runnable, group: Group = Group.LEADER) -> None:
        """Register a component; it starts with its group, or immediately if the group has started.

        ValueError for a name that exists, RuntimeError once a stop has begun.
        """
        if any(runnable.name == other.name for group in Group for other in self._runnables[group]):
            raise ValueError(f"runnable {runnable.name!r} already exists")
        if self._stop_asked.is_set():
            raise RuntimeError(f"{runnable.name}: the manager is stopping")
        self._runnables[group].append(runnable)
        if group in self._begun:
            self._start_one(runnable, group)
            if runnable.ready is not None:
                task = asyncio.create_task(_ready(runnable), name=f"{runnable.name} ready")
                self._late.add(task)
                task.add_done_callback(self._on_late_ready)

    def stop(self) -> None:
        """Begin a graceful stop, as SIGTERM does. Safe to repeat."""
        self._stop_asked.set()

    async def run(self) -> None:
        """Start everything, and return after a graceful stop.

        Raises RunnableCrashed with the name of the first component that failed, and LeaseLost
        without grace if leadership is lost. Components that do not end when cancelled would keep
        the event loop running forever: they are logged and the process exits immediately.
        """
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        election = asyncio.create_task(self._start(), name="leader election")
        election.add_done_callback(self._on_election_done)
        try:
            await self._stop_asked.wait()
            await self._end(election)
        except asyncio.CancelledError:
            # From here on components end because they are stopped: none of them has crashed.
            self._stop_asked.set()
            await self._end_now(election)
            raise
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
            for waiting in self._late:
                waiting.cancel()
        if self._failure is not None:
            raise self._failure

    async def _start(self) -> None:
        for group in (Group.SERVERS, Group.OTHERS):
            await self._start_group(group)
        if self._elector is None:
            await self._lead()
        else:
            await self._elector.run(self._lead)

    async def _lead(self) -> None:
        """The guarded work. It only ends by cancellation, after its runnables have ended."""
        self._leads = True
        try:
            await self._prepare()
            for group in (Group.CACHES, Group.LEADER):
                await self._start_group(group)
        except RunnableCrashed as crash:
            # Returning now would release the lease while other runnables still run.
            self._fail(crash)
        await _until_cancelled()

    async def _prepare(self) -> None:
        try:
            await self._on_elected()
        except Exception as error:
            if self._stop_asked.is_set():
                await _until_cancelled()
            raise RunnableCrashed("preparation of the leader", repr(error)) from error

    async def _start_group(self, group: Group) -> None:
        if self._stop_asked.is_set():
            await _until_cancelled()
        self._begun.add(group)
        members = tuple(self._runnables[group])
        for runnable in members:
            self._start_one(runnable, group)
        # New tasks run once before their `ready` is called.
        await yield_to_loop()
        for runnable in members:
            await _ready(runnable)

    def _start_one(self, runnable: Runnable, group: Group) -> None:
        task = asyncio.create_task(_run(runnable), name=runnable.name)
        self._tasks[group][task] = runnable
        task.add_done_callback(self._on_task_done)

    def _on_late_ready(self, task: "asyncio.Task[None]") -> None:
        self._late.discard(task)
        error = None if task.cancelled() else task.exception()
        if self._stop_asked.is_set():
            return
        if isinstance(error, RunnableCrashed):
            self._fail(error)
        elif error is not None:
            self._crash(task.get_name(), error)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stop_asked.is_set():
            log.warning("second signal, exiting immediately", signal=number.name)
            self._exit_now(128 + number)
        log.info("stopping", signal=number.name)
        self._stop_asked.set()

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None or not self._stop_asked.is_set():
            self._crash(task.get_name(), error)

    def _on_election_done(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RunnableCrashed | LeaseLost):
            self._fail(error)
        elif error is not None or not self._stop_asked.is_set():
            self._crash(task.get_name(), error)

    def _crash(self, name: str, error: BaseException | None) -> None:
        crash = RunnableCrashed(name, repr(error) if error else "ended unexpectedly")
        crash.__cause__ = error
        self._fail(crash)

    def _fail(self, failure: Exception) -> None:
        """Stop because of a failure. `run` raises the first one; later ones are only logged."""
        log.error("fatal", failure=str(failure), exc_info=failure)
        self._failure = self._failure or failure
        if isinstance(failure, LeaseLost):
            self._lease_lost.set()
        self._stop_asked.set()

    async def _end(self, election: "asyncio.Task[None]") -> None:
        """Stop gracefully; once the lease is lost, without grace."""
        in_order = asyncio.create_task(self._end_in_order(election))
        lost = asyncio.create_task(self._lease_lost.wait())
        try:
            await asyncio.wait({in_order, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            in_order.cancel()
            lost.cancel()
        if self._lease_lost.is_set():
            await self._end_now(election)
        else:
            in_order.result()

    async def _end_in_order(self, election: "asyncio.Task[None]") -> None:
        options = self._options
        end = self._clock.monotonic() + options.grace
        if not self._leads:
            # Nothing more may start, and acquiring the lease now would only delay the next leader.
            election.cancel()
        for group in STOP_ORDER:
            members = self._tasks[group]
            for task, runnable in members.items():
                if runnable.stop is None:
                    task.cancel()
                else:
                    runnable.stop()
            await self._settle(members, end - options.cancel_grace)
            await self._cancel(members, end)
        await self._cancel([election], max(end, self._clock.monotonic() + options.cancel_grace))

    async def _end_now(self, election: "asyncio.Task[None]") -> None:
        end = self._clock.monotonic() + self._options.hard_cap
        await self._cancel([task for group in STOP_ORDER for task in self._tasks[group]], end)
        await self._cancel([election], end)

    async def _cancel(self, tasks: "Iterable[asyncio.Task[None]]", end: float) -> None:
        for task in tasks:
            task.cancel()
        if stuck := await self._settle(tasks, end):
            log.critical("components do not end, exiting", stuck=stuck)
            self._exit_now(1)
            raise ShutdownTimeout(", ".join(stuck))

    async def _settle(self, tasks: "Iterable[asyncio.Task[None]]", end: float) -> list[str]:
        """Wait for tasks until that point of the monotonic clock; return the names of the
        others."""
        pending = [task for task in tasks if not task.done()]
        if pending:
            with contextlib.suppress(TimeoutError):
                async with Deadline(self._clock, end - self._clock.monotonic()):
                    await asyncio.wait(pending)
        return [task.get_name() for task in pending if not task.done()]


async def _run(runnable: Runnable) -> None:
    await runnable.run()


async def _ready(runnable: Runnable) -> None:
    if runnable.ready is not None:
        try:
            await runnable.ready()
        except Exception as error:
            raise RunnableCrashed(runnable.name, f"not ready: {error!r}") from error


async def _until_cancelled() -> None:
    await asyncio.get_running_loop().create_future()
