"""Leader election on a Lease, and the guard of every write.

Uses the clock, the errors and the metrics of the runtime, and three methods of a separate client.
Started by runtime.process.manager, which runs the leader-only work inside `LeaderElector.run`; the
client for all other writes calls `LeaderElector.guard` before each of them.

The protocol is that of client-go (tools/leaderelection), so that replicas of operators in both
languages can share a Lease. Three rules are stricter here: leadership ends RenewDeadline after the
last successful renewal was *sent*; a release reads the lease and writes only if it is still ours;
and a candidate that has seen the lease waits its whole duration after a deletion, because the
holder does not know of it yet.

A lease is not a lock. A request that passed the guard may still arrive late: one in flight, and one
whose process stops in the microseconds between the last check (runtime.client.write_guard) and
send(2). The preconditions of the writes (uid, resourceVersion) make that harmless. The guard closes
the much larger gap: a process that was stopped or starved resumes and continues to write as if no
time had passed. The guard reads the monotonic clock at the time of the write, before any task of
the elector runs. CLOCK_MONOTONIC advances in a stopped process, but not in a stopped machine.
"""

import asyncio
import contextlib
import enum
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from runtime.builtin_kinds import LEASE
from runtime.clock import Clock, Deadline, yield_to_loop
from runtime.errors import Conflict, LeaseLost, NotFound
from runtime.events import EventRecorder, Reporter
from runtime.leader import lease as records
from runtime.leader.guarded_work import error_of, run_work, until_any
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, Resource

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

JITTER = 1.2
"""A candidate waits RetryPeriod times 1 to 2.2, as in client-go."""

FIELD_MANAGER = "leader-election"

EVENT_SECONDS = 1.0
"""The longest time in seconds that `run` waits for its last event to be sent."""


class LeaseClient(Protocol):
    """The calls of an elector: a client without a guard and with its own connections, because
    renewals must not wait behind the work that they protect.
    """

    async def get(self, resource: Resource, key: ObjectKey, /) -> Object: ...

    async def create(
        self, resource: Resource, body: Object, /, *, field_manager: str
    ) -> Object: ...

    async def update(self, resource: Resource, body: Object, /) -> Object: ...


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """The name of the lease and our identity, unique for each process: hostname and a UUID.

    With a reporter, an event of the lease reports each new leader and each release.
    """

    namespace: str
    name: str
    identity: str
    reporter: Reporter | None = None

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("a leader needs an identity")


@dataclass(frozen=True, slots=True)
class LeaderOptions:
    """All in seconds; ValueError unless lease > renew deadline > 1.2 retry period.

    lease_duration
        How long candidates wait after the last observed change before they take over.
    renew_deadline
        When the leader gives up, counted from the last successful renewal.
    retry_period
        The pause between two renewals, or two attempts to acquire.
    write_timeout
        The longest time that a guarded write may be in flight: the timeout of the client that calls
        the guard. Writes are refused this much before the renew deadline.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    write_timeout: float = 3.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > JITTER * self.retry_period > 0:
            raise ValueError(f"need lease > renew deadline > {JITTER} x retry period > 0: {self}")
        if not 0 < self.write_timeout < self.renew_deadline - self.retry_period:
            raise ValueError(f"need 0 < write timeout < renew deadline - retry period: {self}")

    @property
    def request_timeout(self) -> float:
        """The timeout of one attempt, so that a hung call leaves time for another one."""
        return max(1.0, self.renew_deadline / 2)


class Attempt(enum.Enum):
    """The result of one attempt to acquire or renew."""

    ACQUIRED = "acquired"
    OTHER_HOLDER = "other holder"
    FAILED = "failed"


class LeaderElector:
    """Takes part in one election; `run` once per instance."""

    def __init__(
        self,
        client: LeaseClient,
        lock: LeaseLock,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        options: LeaderOptions | None = None,
    ) -> None:
        self._client = client
        self._lock = lock
        self._key = ObjectKey(lock.namespace, lock.name)
        self._clock = clock
        self._rng = rng
        self._options = options or LeaderOptions()
        self._status = metrics.leader_election_master_status.labels(lock.name)
        self._slow_path = metrics.leader_election_slowpath_total.labels(lock.name)
        self._leading = False
        self._renewed_at = -math.inf
        self._observed: Object | None = None
        self._observed_at = -math.inf
        self._gone = False
        self._last_error = ""
        self._epoch: int | None = None
        self._events = EventRecorder(client, lock.reporter, clock=clock) if lock.reporter else None

    @property
    def epoch(self) -> int | None:
        """leaseTransitions when we acquired the lease, for records that a later leader compares
        with its own: its value is higher, unless a user deleted the lease with its history.

        None before the first acquisition. It is kept after a loss.
        """
        return self._epoch

    @property
    def is_leader(self) -> bool:
        """True from acquiring the lease to losing or releasing it. For writes, call `guard`."""
        return self._leading

    def guard(self) -> None:
        """Raises LeaseLost unless a write that is sent now ends before another process may lead."""
        window = self._options.renew_deadline - self._options.write_timeout
        if not self._leading or self._clock.monotonic() > self._renewed_at + window:
            raise LeaseLost(f"this process may no longer hold lease {self._key}")

    def health(self, tolerance: float = 5.0) -> str | None:
        """For the liveness check: why this process should be restarted, or None.

        A leader should have ended if its lease expired more than `tolerance` seconds ago.
        """
        age = self._clock.monotonic() - self._renewed_at
        if self._leading and age > self._options.lease_duration + tolerance:
            return f"still leading, but the lease was last renewed {age:.0f} s ago"
        return None

    async def run(self, on_started: Callable[[], Awaitable[None]]) -> None:
        """Wait for leadership, then run the guarded work `on_started` while renewing the lease.

        If the work ends (or raises), the lease is released, and run returns (or raises the same).
        If run is cancelled, the work is cancelled, and the lease is renewed until the work has
        ended, then released. If leadership is lost, the work is cancelled, and LeaseLost is raised
        once it has ended, at most lease - renew deadline later. The process should then exit and be
        restarted.
        """
        recording = asyncio.create_task(
            run_work(self._events.run if self._events else yield_to_loop)
        )
        try:
            await self._acquire()
            await self._lead(on_started, recording)
        finally:
            recording.cancel()

    async def _lead(
        self, on_started: Callable[[], Awaitable[None]], recording: "asyncio.Task[None]"
    ) -> None:
        self._turn(leading=True)
        work = asyncio.create_task(run_work(on_started), name="leader-work")
        watchers = (asyncio.create_task(self._renew()), asyncio.create_task(self._expire()))
        interrupted = await until_any({work, *watchers}, work)
        lost = any(watcher.done() for watcher in watchers)
        self._turn(leading=False, tell=not lost)
        for watcher in watchers:
            watcher.cancel()
        if lost:
            raise await self._abandon(work)
        await asyncio.wait(watchers)
        await self._release()
        await self._drain_events(recording)
        if interrupted is not None:
            raise interrupted from error_of(work)
        work.result()

    def _turn(self, *, leading: bool, tell: bool = True) -> None:
        self._leading = leading
        self._status.set(int(leading))
        lease = self._observed or {}
        if leading:
            self._epoch = records.transitions_of(lease)
        words = "became leader" if leading else "stopped leading"
        log.info(words, lease=str(self._key), identity=self._lock.identity, epoch=self._epoch)
        # After a loss of the lease nothing is written; the next leader reports it by its event.
        if self._events is not None and tell:
            note = f"{self._lock.identity} {words}"
            self._events.event(lease, "Normal", "LeaderElection", note, action="LeaderElection")

    async def _drain_events(self, recording: "asyncio.Task[None]") -> None:
        if self._events is not None:
            self._events.stop()
        with contextlib.suppress(TimeoutError):
            async with Deadline(self._clock, EVENT_SECONDS):
                await asyncio.wait({recording})

    async def _acquire(self) -> None:
        while await self._try() is not Attempt.ACQUIRED:
            await self._clock.sleep(self._options.retry_period * (1 + JITTER * self._rng.random()))

    async def _renew(self) -> None:
        """Return when another process holds the lease, or ours expired while this process was
        stopped."""
        while not self._expired():
            await self._clock.sleep(self._options.retry_period)
            if not self._expired() and await self._try() is Attempt.OTHER_HOLDER:
                return

    async def _expire(self) -> None:
        """Return when the renew deadline has passed, even during a renewal."""
        while not self._expired():
            left = self._renewed_at + self._options.renew_deadline - self._clock.monotonic()
            await self._clock.sleep(left)

    def _expired(self) -> bool:
        return self._clock.monotonic() >= self._renewed_at + self._options.renew_deadline

    async def _try(self) -> Attempt:
        try:
            async with Deadline(self._clock, self._options.request_timeout):
                attempt = await self._acquire_or_renew()
        except Exception as error:  # noqa: BLE001 - after any error the lease was not renewed
            self._tell(f"{type(error).__name__}: {error}")
            return Attempt.FAILED
        self._tell("")
        return attempt

    async def _acquire_or_renew(self) -> Attempt:
        if self._leading and self._observed is not None:
            try:
                return await self._put(self._observed)
            except (Conflict, NotFound):
                self._slow_path.inc()
        return await self._read_and_put()

    async def _read_and_put(self) -> Attempt:
        try:
            lease: Object | None = await self._client.get(LEASE, self._key)
        except NotFound:
            lease = None
        self._observe(lease)
        return Attempt.OTHER_HOLDER if self._others_may_lead() else await self._put(lease)

    def _others_may_lead(self) -> bool:
        """Whether another process may lead, as far as observed.

        Only the time since *we* observed a change counts. The timestamps in the record are of
        another clock.
        """
        holder = records.holder_of(self._observed)
        if self._leading:
            # A free lease is not ours either: others may have led in between.
            return holder != self._lock.identity
        if self._gone:
            # Deleted: its holder, which we may not have observed, does not know of it yet.
            valid_for = self._options.lease_duration
        elif holder in ("", self._lock.identity):
            valid_for = 0.0
        else:
            valid_for = records.duration_of(self._observed)
        return self._clock.monotonic() < self._observed_at + valid_for

    async def _put(self, lease: Object | None) -> Attempt:
        """Write our identity into the lease, with its resourceVersion as precondition."""
        sent_at = self._clock.monotonic()
        # Continue the history of a deleted lease, so that no epoch is used twice.
        before = self._observed if lease is None else lease
        duration = self._options.lease_duration
        spec = records.take_lease(before, self._lock.identity, duration, self._clock.now())
        body = records.with_spec(lease, self._key, spec)
        if lease is None:
            lease = await self._client.create(LEASE, body, field_manager=FIELD_MANAGER)
        else:
            lease = await self._client.update(LEASE, body)
        self._observe(lease)
        # This process may have been stopped while it waited for the response.
        counted_from = self._renewed_at if self._leading else sent_at
        if self._clock.monotonic() >= counted_from + self._options.renew_deadline:
            return Attempt.FAILED
        self._renewed_at = sent_at
        return Attempt.ACQUIRED

    def _observe(self, lease: Object | None) -> None:
        if lease is None:
            if self._observed is not None and not self._gone:
                self._gone = True
                self._observed_at = self._clock.monotonic()
            return
        if self._observed is None or records.spec_of(self._observed) != records.spec_of(lease):
            self._observed_at = self._clock.monotonic()
        holder = records.holder_of(lease)
        if holder not in (records.holder_of(self._observed), self._lock.identity):
            log.info("lease holder", lease=str(self._key), holder=holder)
        self._observed = lease
        self._gone = False

    async def _abandon(self, work: "asyncio.Task[None]") -> LeaseLost:
        log.error("leadership lost", lease=str(self._key), identity=self._lock.identity)
        work.cancel()
        cap = self._options.lease_duration - self._options.renew_deadline
        too_late = asyncio.create_task(self._clock.sleep(cap))
        await until_any({work, too_late}, work)
        too_late.cancel()
        lost = LeaseLost(f"lease {self._key} was not renewed in time or has another holder")
        if not work.done():
            log.error("guarded work did not end after its cancellation", lease=str(self._key))
            work.add_done_callback(error_of)
            return lost
        lost.__cause__ = error_of(work)
        return lost

    async def _release(self) -> None:
        """Release the lease, so that candidates need not wait until it expires."""
        try:
            async with Deadline(self._clock, self._options.renew_deadline):
                while not await self._try_release():
                    await self._clock.sleep(self._options.retry_period / 10)
        except Exception as error:  # noqa: BLE001 - the lease expires anyway
            log.warning("lease not released", lease=str(self._key), error=type(error).__name__)

    async def _try_release(self) -> bool:
        try:
            lease = await self._client.get(LEASE, self._key)
            if records.holder_of(lease) != self._lock.identity:
                return True
            free = records.release_lease(lease, self._clock.now())
            await self._client.update(LEASE, records.with_spec(lease, self._key, free))
        except Conflict:
            return False
        log.info("lease released", lease=str(self._key))
        return True

    def _tell(self, error: str) -> None:
        """Log an error of the lease when it changes, not at every attempt."""
        if error and error != self._last_error:
            log.warning("lease not acquired or renewed", lease=str(self._key), error=error)
        self._last_error = error
