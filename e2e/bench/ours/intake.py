"""Modes about input: the first list, events, and the latency of a reconciler."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable

from e2e.bench.ours.process import END, SETTLING_SECONDS, Flags, Process
from e2e.bench.ours.usage import Results, Usage, memory, percentile
from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Selection
from runtime.controller.event import Event
from runtime.controller.handler import enqueue_object
from runtime.outcome import Done, Outcome
from runtime.types import Object, Request, key_of

ReconcileObject = Callable[[Object], Awaitable[Outcome]]


async def sync(process: Process, flags: Flags) -> Results:
    """Sync an informer of all ConfigMaps of the namespace."""
    before = memory("VmRSS")
    stalls: list[float] = []
    held: list[float] = []
    watcher = asyncio.create_task(_lateness(stalls, held))
    begin = Usage.now()
    only = flags.shape == "metadata"
    process.informers.informer(Selection(CONFIG_MAP, flags.namespace, metadata_only=only))
    process.start()
    await process.informers.wait_synced(600.0)
    # As the operator does it: later garbage collections do not traverse the objects of the caches.
    gc.collect()
    gc.freeze()
    usage = begin.until(Usage.now())
    watcher.cancel()
    usage["stall_p99"] = percentile(stalls, 0.99)
    usage["held_p99"] = percentile(held, 0.99)
    await asyncio.sleep(SETTLING_SECONDS)
    return usage | {"rss": memory("VmRSS"), "peak": memory("VmHWM"), "base": before}


async def _lateness(late: list[float], held: list[float]) -> None:
    """Record the delay of a timer of one millisecond, and the CPU time until it fires, in seconds.

    The CPU time is how long our own code held the loop, whatever else runs on the machine.
    """
    while True:
        due, spent = time.monotonic() + 0.001, time.thread_time()
        await asyncio.sleep(0.001)
        late.append(time.monotonic() - due)
        held.append(time.thread_time() - spent)


class Watching:
    """A controller of the ConfigMaps of the namespace; `ended` is set when zz-end appears."""

    def __init__(self, process: Process, flags: Flags, each: ReconcileObject) -> None:
        self.updates = 0
        self.ended = asyncio.Event()
        self._each = each
        self._process = process
        self._source = process.informers.informer(Selection(CONFIG_MAP, flags.namespace))
        controller = process.controller(self._reconcile, flags.workers)
        controller.watch(self._source, enqueue_object, self._count)

    async def synced(self) -> None:
        self._process.start()
        await self._process.informers.wait_synced(600.0)

    def _count(self, event: Event) -> bool:
        self.updates += event.old is not None
        return True

    async def _reconcile(self, request: Request) -> Outcome:
        obj = self._source.get(request)
        if obj is None:
            return Done()
        if request.name == END:
            self.ended.set()
            return Done()
        return await self._each(obj)


async def events(process: Process, flags: Flags) -> Results:
    """Measure the CPU time of updates from the watch to the reconciler, and count them."""
    reconciled = 0

    async def count(obj: Object) -> Outcome:
        nonlocal reconciled
        reconciled += 1
        return Done()

    watching = Watching(process, flags, count)
    await watching.synced()
    await asyncio.sleep(1.0)
    before, begin = reconciled, Usage.now()
    process.ready()
    await watching.ended.wait()
    usage = begin.until(Usage.now())
    return usage | {"events": watching.updates, "reconciled": reconciled - before}


async def latency(process: Process, flags: Flags) -> Results:
    """Measure the time from sending a write to the call of the reconciler."""
    samples: list[float] = []
    # Probes of an earlier run have a send time as well, which is ignored.
    since: int | None = None

    async def sample(obj: Object) -> Outcome:
        if key_of(obj).name.startswith("probe-"):
            sent = int((obj.get("data") or {}).get("sent", 0))
            if since is not None and sent >= since:
                samples.append((time.time_ns() - sent) / 1e9)
            return Done()
        if not flags.busy:
            return Done()
        # A reconcile that waits for something, and is then queued again.
        await asyncio.sleep(0.001)
        return Done(recheck_after=0.001)

    watching = Watching(process, flags, sample)
    await watching.synced()
    await asyncio.sleep(SETTLING_SECONDS)
    since = time.time_ns()
    process.ready()
    await watching.ended.wait()
    middle, high = percentile(samples, 0.5), percentile(samples, 0.99)
    return {"samples": len(samples), "p50": middle, "p99": high}
