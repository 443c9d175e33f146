"""Leader election on a Lease, and the guard that every write has to pass.

Uses the clock, the errors and the metrics of this package, and three methods of a client of its
own. Started by runtime.manager, which runs the leader-only work inside `LeaderElector.run`; the
client for all other writes calls `LeaderElector.guard` before each of them.

The protocol is that of client-go (tools/leaderelection), so that old and new replicas of any
operator built on it understand each other. Two rules are stricter here: leadership is lost
RenewDeadline after the last renewal that succeeded was *sent*, and a release writes only over a
lease that was just read and is ours.

A lease is no lock. A request that passed the guard may still land late; what makes that harmless
are preconditions (uid, resourceVersion) on the writes themselves. The guard closes the far wider
gap: a process that was stopped, swapped out or starved wakes up and writes on as if no time had
passed. The guard looks at the monotonic clock at the moment of the write, so it refuses before
any task of the elector had a chance to run. CLOCK_MONOTONIC counts while a process is stopped,
but not while the whole machine is suspended.
"""

import asyncio
import contextlib
import enum
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from runtime.clock import Clock, Deadline
from runtime.errors import Conflict, LeaseLost, NotFound
from runtime.metrics import Metrics
from runtime.resources import LEASE
from runtime.types import Object, ObjectKey, Resource

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

JITTER = 1.2
"""A candidate pauses RetryPeriod times 1 to 2.2, a figure of client-go."""

FIELD_MANAGER = "leader-election"


class LeaseClient(Protocol):
    """The calls an elector makes.

    Give it a client without a guard and with connections of its own: renewals must not queue up
    behind the work that they protect.
    """

    async def get(self, resource: Resource, key: ObjectKey, /) -> Object: ...

    async def create(
        self, resource: Resource, body: Object, /, *, field_manager: str
    ) -> Object: ...

    async def update(self, resource: Resource, body: Object, /) -> Object: ...


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """Which lease, and who we are. The identity is new for each process: hostname and a uuid."""

    namespace: str
    name: str
    identity: str

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("a leader needs an identity")


@dataclass(frozen=True, slots=True)
class LeaderOptions:
    """All in seconds; ValueError unless lease > renew deadline > 1.2 retry period.

    lease_duration
        How long the others wait after the last change they saw before they take over.
    renew_deadline
        When we give up by ourselves, counted from the last successful renewal.
    retry_period
        The pause between two renewals, or two tries to acquire.
    write_timeout
        The longest a guarded write may be under way: the timeout of the client that asks the
        guard. Writes are refused that much before the renew deadline.
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
        """Of one attempt, so that a hung call leaves time for another one."""
        return max(1.0, self.renew_deadline / 2)


class _Attempt(enum.Enum):
    HELD = "held"
    TAKEN = "taken"
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
        self._leading = False
        self._renewed_at = -math.inf
        self._observed: Object | None = None
        self._observed_at = -math.inf
        self._last_trouble = ""

    @property
    def is_leader(self) -> bool:
        """From acquiring the lease to losing or releasing it. For writes, ask `guard`."""
        return self._leading

    def guard(self) -> None:
        """Raises LeaseLost unless a write sent now ends before anyone else may lead."""
        window = self._options.renew_deadline - self._options.write_timeout
        if not self._leading or self._clock.monotonic() > self._renewed_at + window:
            raise LeaseLost(f"lease {self._key} is not known to be ours at this moment")

    def health(self, tolerance: float = 5.0) -> str | None:
        """For the liveness check: why this process should be replaced, or None.

        A leader whose lease ran out that many seconds ago should have ended by itself.
        """
        age = self._clock.monotonic() - self._renewed_at
        if self._leading and age > self._options.lease_duration + tolerance:
            return f"leading on a lease last renewed {age:.0f} s ago"
        return None

    async def run(self, on_started: Callable[[], Awaitable[None]]) -> None:
        """Wait for leadership, then do the guarded work `on_started` while renewing the lease.

        The work ends (or raises): the lease is released, and run returns (or raises the same).
        Cancelled: the work is cancelled, the lease is renewed until it has ended, then released.
        Leadership lost: the work is cancelled, and LeaseLost raised once it has ended, at most
        lease - renew deadline later. The process should end then: a restart is the recovery.
        """
        await self._acquire()
        self._leading = True
        self._status.set(1)
        log.info("became leader", lease=str(self._key), identity=self._lock.identity)
        work = asyncio.create_task(_run(on_started), name="leader-work")
        watchers = (asyncio.create_task(self._renew()), asyncio.create_task(self._expire()))
        interrupted: asyncio.CancelledError | None = None
        try:
            await asyncio.wait({work, *watchers}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as error:
            interrupted = error
            work.cancel()
            await asyncio.wait({work, *watchers}, return_when=asyncio.FIRST_COMPLETED)
        lost = any(watcher.done() for watcher in watchers)
        self._leading = False
        self._status.set(0)
        for watcher in watchers:
            watcher.cancel()
        if lost:
            raise await self._abandon(work)
        await asyncio.wait(watchers)
        await self._release()
        if interrupted is not None:
            raise interrupted
        work.result()

    async def _acquire(self) -> None:
        while await self._try() is not _Attempt.HELD:
            pause = self._options.retry_period * (1 + JITTER * self._rng.random())
            await self._clock.sleep(pause)

    async def _renew(self) -> None:
        """Return when somebody else holds the lease, or ours ran out while we were away."""
        while not self._expired():
            await self._clock.sleep(self._options.retry_period)
            if not self._expired() and await self._try() is _Attempt.TAKEN:
                return

    async def _expire(self) -> None:
        """Return when the renew deadline has passed, whatever the renewal is doing."""
        while not self._expired():
            left = self._renewed_at + self._options.renew_deadline - self._clock.monotonic()
            await self._clock.sleep(left)

    def _expired(self) -> bool:
        return self._clock.monotonic() >= self._renewed_at + self._options.renew_deadline

    async def _try(self) -> _Attempt:
        try:
            async with Deadline(self._clock, self._options.request_timeout):
                attempt = await self._acquire_or_renew()
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the lease was not renewed
            self._tell(f"{type(error).__name__}: {error}")
            return _Attempt.FAILED
        self._tell("")
        return attempt

    async def _acquire_or_renew(self) -> _Attempt:
        if self._leading and self._observed is not None:
            try:
                return await self._put(self._observed)
            except (Conflict, NotFound):
                log.debug("the lease changed under us", lease=str(self._key))
        try:
            lease = await self._client.get(LEASE, self._key)
        except NotFound:
            return await self._put(None)
        self._observe(lease)
        holder = _spec(lease).get("holderIdentity")
        if holder and holder != self._lock.identity:
            # Only the time since *we* saw the record change counts. The timestamps inside were
            # made by another clock.
            valid_for = float(_spec(lease).get("leaseDurationSeconds") or 0)
            if self._clock.monotonic() < self._observed_at + valid_for:
                return _Attempt.TAKEN
        return await self._put(lease)

    async def _put(self, lease: Object | None) -> _Attempt:
        """Write ourselves into the lease, which the resourceVersion inside guards."""
        sent_at = self._clock.monotonic()
        if lease is None:
            body = self._body({}, self._renewal({}))
            lease = await self._client.create(LEASE, body, field_manager=FIELD_MANAGER)
        else:
            lease = await self._client.update(LEASE, self._body(lease, self._renewal(_spec(lease))))
        self._observe(lease)
        # We may have been stopped while the answer was on its way.
        counted_from = self._renewed_at if self._leading else sent_at
        if self._clock.monotonic() >= counted_from + self._options.renew_deadline:
            return _Attempt.FAILED
        self._renewed_at = sent_at
        return _Attempt.HELD

    def _renewal(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        now = _micro_time(self._clock)
        transitions = int(spec.get("leaseTransitions") or 0)
        mine = spec.get("holderIdentity") == self._lock.identity
        if not mine and spec:
            transitions += 1
        return {
            "holderIdentity": self._lock.identity,
            "leaseDurationSeconds": math.ceil(self._options.lease_duration),
            "acquireTime": (spec.get("acquireTime") or now) if mine else now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _body(self, lease: Object, changes: Mapping[str, Any]) -> Object:
        named = {"namespace": self._lock.namespace, "name": self._lock.name}
        return {
            **lease,
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {**(lease.get("metadata") or {}), **named},
            "spec": {**_spec(lease), **changes},
        }

    def _observe(self, lease: Object) -> None:
        before = _spec(self._observed or {})
        after = _spec(lease)
        if self._observed is None or before != after:
            self._observed_at = self._clock.monotonic()
        holder = after.get("holderIdentity")
        if holder not in (before.get("holderIdentity"), self._lock.identity):
            log.info("lease holder", lease=str(self._key), holder=holder)
        self._observed = lease

    async def _abandon(self, work: asyncio.Task[None]) -> LeaseLost:
        log.error("leadership lost", lease=str(self._key), identity=self._lock.identity)
        work.cancel()
        cap = self._options.lease_duration - self._options.renew_deadline
        with contextlib.suppress(TimeoutError):
            async with Deadline(self._clock, cap):
                await asyncio.wait({work})
        lost = LeaseLost(f"lease {self._key} was not renewed in time or is held by another")
        if not work.done():
            log.error("guarded work does not end", lease=str(self._key))
        elif not work.cancelled():
            lost.__cause__ = work.exception()
        return lost

    async def _release(self) -> None:
        """Hand the lease over, so that a candidate need not wait for it to run out."""
        try:
            async with Deadline(self._clock, self._options.renew_deadline):
                while not await self._try_release():
                    await self._clock.sleep(self._options.retry_period / 10)
        except Exception as error:  # noqa: BLE001 - it runs out by itself then
            log.warning("lease not released", lease=str(self._key), error=type(error).__name__)

    async def _try_release(self) -> bool:
        try:
            lease = await self._client.get(LEASE, self._key)
            if _spec(lease).get("holderIdentity") != self._lock.identity:
                return True
            free = {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "renewTime": _micro_time(self._clock),
            }
            await self._client.update(LEASE, self._body(lease, free))
        except Conflict:
            return False
        log.info("lease released", lease=str(self._key))
        return True

    def _tell(self, trouble: str) -> None:
        """Log what keeps us from the lease when it changes, not at every try."""
        if trouble and trouble != self._last_trouble:
            log.warning("lease not reached", lease=str(self._key), trouble=trouble)
        self._last_trouble = trouble


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def _spec(lease: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = lease.get("spec") or {}
    return spec


def _micro_time(clock: Clock) -> str:
    """The MicroTime of the Kubernetes API: UTC with exactly six digits."""
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
