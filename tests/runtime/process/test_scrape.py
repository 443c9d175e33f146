"""runtime.process.scrape: an answer is complete, and leaves the event loop to others."""

import asyncio
import threading
from collections.abc import Iterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from runtime.clock import yield_to_loop
from runtime.metrics.metrics import Metrics
from runtime.process.health import HttpServer
from tests.runtime.process.http_serving import serving

FAMILIES = ("first", "second", "third")


class Collector:
    """Families of many samples; records in which iteration each was read, and by which thread."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.iteration = 0
        self.iterations: list[int] = []
        self.threads: list[int] = []

    def collect(self) -> Iterator[Metric]:
        for name in FAMILIES:
            self.iterations.append(self.iteration)
            self.threads.append(threading.get_ident())
            family = GaugeMetricFamily(name, "Help.", labels=("name",))
            for number in range(self.samples):
                family.add_metric((str(number),), number)
            yield family

    async def count_iterations(self) -> None:
        while True:
            self.iteration += 1
            await yield_to_loop()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


async def fetch(url: str, **headers: str) -> tuple[aiohttp.ClientResponse, bytes]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers=headers) as response,
    ):
        return response, await response.read()


async def test_other_tasks_run_between_two_families(metrics: Metrics) -> None:
    """The caches are read in the thread that changes them."""
    collector = Collector(samples=2)
    metrics.registry.register(collector)
    collector.iterations.clear()
    collector.threads.clear()
    others = asyncio.ensure_future(collector.count_iterations())
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        _, body = await fetch(f"{url}/metrics", **{"Accept-Encoding": "identity"})
    others.cancel()
    assert len({*collector.iterations}) == len(FAMILIES)
    assert {*collector.threads} == {threading.get_ident()}
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert [len(families[name].samples) for name in FAMILIES] == [2, 2, 2]


async def test_text_is_written_in_another_thread(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def encode(collected: CollectorRegistry) -> bytes:
        threads.append(threading.get_ident())
        return b"".join(family.name.encode() for family in collected.collect())

    monkeypatch.setattr("runtime.process.scrape.choose_encoder", lambda _: (encode, "text/plain"))
    metrics.registry.register(Collector(samples=1))
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        _, body = await fetch(f"{url}/metrics", **{"Accept-Encoding": "identity"})
    assert body.endswith("".join(FAMILIES).encode())
    assert threads != [threading.get_ident()]


@pytest.mark.parametrize("samples", [1, 5_000])
async def test_an_answer_is_compressed_for_who_accepts_it(metrics: Metrics, samples: int) -> None:
    metrics.registry.register(Collector(samples))
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        whole, plain = await fetch(f"{url}/metrics", **{"Accept-Encoding": "identity"})
        packed, body = await fetch(f"{url}/metrics", **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in whole.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(body) < len(plain)


async def test_a_client_selects_samples_and_a_format(metrics: Metrics) -> None:
    metrics.registry.register(Collector(samples=1))
    openmetrics = "application/openmetrics-text; version=1.0.0"
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        headers = {"Accept": openmetrics, "Accept-Encoding": "identity"}
        response, body = await fetch(f"{url}/metrics?name[]=first&name[]=third", **headers)
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert b"second" not in body
    assert b'third{name="0"} 0.0' in body
    assert body.endswith(b"# EOF\n")
