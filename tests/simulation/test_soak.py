"""T32: an hour of faults in virtual time; the memory and the tasks of the process do not grow."""

import asyncio
import gc
import tracemalloc
from dataclasses import dataclass

import pytest

from runtime.builtin_kinds import CONFIG_MAP, SECRET, SERVICE
from runtime.cache.selection import Selection
from runtime.testing.simulation import Simulation, simulate
from tests.simulation.config_map_set_faults import SetSimulation
from tests.simulation.config_map_sets import CONFIG_MAP_SET, config_map_set

HALF_HOUR = 1800.0
QUIET_SECONDS = 200.0
"""Until every broken watch is detected and every backoff is over."""

OTHERS = (
    Selection(CONFIG_MAP),
    Selection(CONFIG_MAP, "sets", metadata_only=True),
    Selection(SECRET, "sets"),
    Selection(SERVICE),
)

SLACK_BYTES = 48 * 1024
"""The permitted growth in the second half: series of new errors, and cached parses. A leak of one
small object per fault is ten times that."""

TIMERS = 2
"""Tasks that do not always exist: the timer of the queue and that of the watchdog."""

MEASURED = (
    tracemalloc.Filter(True, "*/runtime/*"),
    tracemalloc.Filter(True, "*/asyncio/*"),
    tracemalloc.Filter(True, "*/prometheus_client/*"),
    tracemalloc.Filter(False, "*/runtime/testing/*"),
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of the idle process."""

    tasks: int
    streams: int
    bytes: int
    calls: int


async def an_hour(simulation: Simulation) -> list[Usage]:
    sets = SetSimulation(simulation, crashes=0.0)
    process = sets.runner.process
    for selection in OTHERS:
        process.informers.informer(selection)
    held = []
    for _ in range(3):
        end = simulation.clock.monotonic() + HALF_HOUR
        while simulation.clock.monotonic() < end:
            await sets.run(1)
        held.append(await _at_rest(sets))
    await sets.runner.stop()
    assert not sets.server.watches
    return held[1:]


async def _at_rest(sets: SetSimulation) -> Usage:
    sets.faults.rate = 0.0
    for name in "ab":
        sets.server.put(CONFIG_MAP_SET, config_map_set("sets", name, 3, "first"))
    await sets.simulation.clock.sleep(QUIET_SECONDS)
    sets.expect_convergence()
    # The memory of the fake server is not that of the process.
    calls = len(sets.server.requests)
    sets.history.clear()
    sets.server.requests.clear()
    sets.server.storage.compact()
    gc.collect()
    traces = tracemalloc.take_snapshot().filter_traces(MEASURED)
    return Usage(
        len(asyncio.all_tasks()),
        len(sets.server.watches),
        sum(trace.size for trace in traces.traces),
        calls,
    )


@pytest.mark.usefixtures("quiet")
def test_t32_memory_and_tasks_do_not_grow_in_an_hour_of_faults() -> None:
    tracemalloc.start()
    try:
        first, second = simulate(an_hour, seed=32)
    finally:
        tracemalloc.stop()
    # One watch for each selection: the two of the operator, and the others.

    assert first.streams == second.streams == 2 + len(OTHERS)
    assert second.tasks <= first.tasks + TIMERS, (first, second)
    assert second.bytes <= first.bytes + SLACK_BYTES, (first, second)
    assert min(first.calls, second.calls) > 400, "not enough requests"
