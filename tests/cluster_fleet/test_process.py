"""e2e.cluster_fleet.process: the scrape of the operator that is measured."""

import asyncio
from collections.abc import Iterator

from e2e.cluster_fleet.process import DEPTH, SAMPLES, scrape
from runtime.clock import SystemClock
from runtime.controller.controller import Controller
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.process.health import HttpServer
from runtime.types import Request
from tests.runtime.process.http_serving import serving


async def idle(_: Request, /) -> Outcome:
    return Done()


async def test_a_scrape_reads_no_other_samples() -> None:
    """Those of the clusters take most of the CPU time of a scrape."""
    reads = 0

    def read() -> Iterator[Reading]:
        nonlocal reads
        reads += 1
        yield ("x",), 1.0

    metrics = Metrics()
    metrics.read_gauge("other", "Help.", ("name",), read)
    metrics.leader_election_master_status.labels("lease").set(1)
    Controller("x", idle, clock=SystemClock(), metrics=metrics)
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        families = await asyncio.to_thread(scrape, int(url.rpartition(":")[2]))
        samples = [sample for family in families for sample in family.samples]
    assert {sample.name for sample in samples} == {*SAMPLES}
    assert DEPTH in SAMPLES
    assert reads == 0
