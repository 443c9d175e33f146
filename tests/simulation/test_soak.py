"""T32: an hour of faults in virtual time; nothing that the process holds grows."""

import asyncio
import gc
import tracemalloc
from dataclasses import dataclass

import pytest

from runtime.builtin_kinds import CONFIG_MAP, SECRET, SERVICE
from runtime.cache.selection import Selection
from runtime.testing.simulation import Simulation, simulate
from tests.simulation.farm import FLOCK, flock
from tests.simulation.farmyard import Farmyard

HALF_HOUR = 1800.0
QUIET_SECONDS = 200.0
"""Until every dead watch was noticed and every backoff is over."""

OTHERS = (
    Selection(CONFIG_MAP),
    Selection(CONFIG_MAP, "farm", metadata_only=True),
    Selection(SECRET, "farm"),
    Selection(SERVICE),
)

SLACK_BYTES = 48 * 1024
"""What the second half may hold more: series of errors that the first half happened not to see,
and cached parses. A leak of one small object per fault is ten times that."""

TIMERS = 2
"""Tasks that come and go with what is due later: the timer of the queue, that of the watchdog."""

MEASURED = (
    tracemalloc.Filter(True, "*/runtime/*"),
    tracemalloc.Filter(True, "*/asyncio/*"),
    tracemalloc.Filter(True, "*/prometheus_client/*"),
    tracemalloc.Filter(False, "*/runtime/testing/*"),
)


@dataclass(frozen=True, slots=True)
class Held:
    """What there is at a moment of quiet."""

    tasks: int
    streams: int
    bytes: int
    calls: int


async def an_hour(simulation: Simulation) -> list[Held]:
    yard = Farmyard(simulation, crashes=0.0)
    process = yard.shepherd.process
    for selection in OTHERS:
        process.informers.informer(selection)
    held = []
    for _ in range(3):
        end = simulation.clock.monotonic() + HALF_HOUR
        while simulation.clock.monotonic() < end:
            await yard.rage(1)
        held.append(await _at_rest(yard))
    await yard.shepherd.stop()
    assert not yard.server.watches
    return held[1:]


async def _at_rest(yard: Farmyard) -> Held:
    yard.faults.rate = 0.0
    for name in "ab":
        yard.server.put(FLOCK, flock("farm", name, 3, "white"))
    await yard.simulation.clock.sleep(QUIET_SECONDS)
    yard.expect_order()
    # What the fake remembers is not what the process holds.
    calls = len(yard.server.requests)
    yard.story.clear()
    yard.server.requests.clear()
    yard.server.storage.compact()
    gc.collect()
    traces = tracemalloc.take_snapshot().filter_traces(MEASURED)
    return Held(
        len(asyncio.all_tasks()),
        len(yard.server.watches),
        sum(trace.size for trace in traces.traces),
        calls,
    )


@pytest.mark.usefixtures("quiet")
def test_t32_nothing_grows_in_an_hour_of_faults() -> None:
    tracemalloc.start()
    try:
        first, second = simulate(an_hour, seed=32)
    finally:
        tracemalloc.stop()
    # One for each selection: the operator's two, and the others.

    assert first.streams == second.streams == 2 + len(OTHERS)
    assert second.tasks <= first.tasks + TIMERS, (first, second)
    assert second.bytes <= first.bytes + SLACK_BYTES, (first, second)
    assert min(first.calls, second.calls) > 400, "too quiet to prove anything"
