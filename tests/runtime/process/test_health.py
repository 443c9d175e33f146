"""The endpoints with a real socket, and the lag of the loop with a manual clock."""

import asyncio

import aiohttp
import pytest
from structlog.testing import capture_logs

from runtime.metrics.metrics import Metrics
from runtime.process.health import HealthChecks, HttpServer, LoopLag
from runtime.testing.clock import ManualClock
from tests.runtime.process.http_serving import serving


async def fetch(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


class World:
    """Two readiness checks, one of which can fail, and no liveness check."""

    def __init__(self) -> None:
        self.error: str | None = None
        self.health = HealthChecks()
        # Not sorted by name, as in the response.
        self.health.readiness["shop"] = lambda: None
        self.health.readiness["informers"] = lambda: self.error


CASES: dict[str, tuple[str | None, str, int, str]] = {
    "all checks pass": (None, "/readyz", 200, "ok"),
    "ping without checks": (None, "/healthz", 200, "ok"),
    "ping by name": (None, "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"),
    "verbose names each check": (
        None,
        "/readyz?verbose",
        200,
        "[+]informers ok\n[+]shop ok\nreadyz check passed\n",
    ),
    "a failure names the check but not the reason": (
        "secret detail",
        "/readyz",
        500,
        "[-]informers failed: reason withheld\n[+]shop ok\nreadyz check failed\n",
    ),
    "a failure without a message": ("", "/readyz/informers", 500, "internal server error"),
    "a failure without a message fails the endpoint": ("", "/readyz", 500, "[-]informers failed"),
    "liveness ignores readiness checks": ("secret detail", "/healthz", 200, "ok"),
    "an excluded check cannot fail": (
        "secret detail",
        "/readyz?exclude=informers&verbose",
        200,
        "[+]informers excluded: ok\n[+]shop ok\nreadyz check passed\n",
    ),
    "all checks can be excluded": ("x", "/readyz?exclude=informers&exclude=shop", 200, "ok"),
    "an unknown excluded check is ignored": (None, "/readyz?exclude=nonsense", 200, "ok"),
    "an unknown excluded check is reported by verbose": (
        None,
        "/readyz?exclude=b&exclude=shop&verbose&exclude=a",
        200,
        "[+]informers ok\n[+]shop excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "a","b"\n'
        "readyz check passed\n",
    ),
    "a slash at the end changes nothing": (None, "/readyz/", 200, "ok"),
    "only ping": (None, "/healthz/ping", 200, "ok"),
    "no ping with other checks": (None, "/readyz/ping", 404, "404 page not found"),
    "one passing check": (None, "/readyz/informers", 200, "ok"),
    "one failing check": ("secret detail", "/readyz/informers", 500, "internal server"),
    "one passing check while another fails": ("secret detail", "/readyz/shop", 200, "ok"),
    "an unknown check": (None, "/readyz/nonsense", 404, "404 page not found"),
    "metrics on the health port": (None, "/metrics", 404, "404: Not Found"),
}


@pytest.mark.parametrize(("error", "path", "status", "body"), CASES.values(), ids=CASES.keys())
async def test_probe(error: str | None, path: str, status: int, body: str) -> None:
    world = World()
    world.error = error
    async with serving(HttpServer("127.0.0.1", 0, health=world.health)) as url:
        answer = await fetch(url + path)
    assert answer[0] == status
    assert answer[1].startswith(body)
    assert "secret detail" not in answer[1]


async def test_metrics_are_served_as_prometheus_reads_them() -> None:
    metrics = Metrics()
    metrics.register_controller("shop")
    async with serving(HttpServer("127.0.0.1", 0, metrics=metrics)) as url:
        status, text = await fetch(url + "/metrics")
        assert await fetch(url + "/healthz") == (404, "404: Not Found")
    assert status == 200
    assert 'controller_runtime_reconcile_total{controller="shop",result="success"} 0.0' in text


def test_a_check_that_raises_has_failed_and_only_changes_are_logged() -> None:
    health = HealthChecks()
    facts: dict[str, str] = {}
    broken = {"x": lambda: facts["y"]}
    with capture_logs() as logs:
        for _ in range(3):
            assert health.verdict("readyz", broken)["x"] == "KeyError: 'y'"
        assert health.verdict("healthz", {"x": lambda: None}) == {"x": None}, "another x"
        for _ in range(2):
            assert health.verdict("readyz", {"x": lambda: None}) == {"x": None}
    assert [line["event"] for line in logs] == ["check fails", "check passes again"]


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with serving(HttpServer("127.0.0.1", 0, health=HealthChecks())) as url:
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(OSError, match="address"):
            await HttpServer("127.0.0.1", port, health=HealthChecks()).run()


async def test_lag_is_how_late_a_timer_fires() -> None:
    class Held(ManualClock):
        """Its timers fire a quarter of a second late, as if a callback had blocked the loop."""

        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + 0.25)

    clock, metrics = Held(), Metrics()
    task = asyncio.create_task(LoopLag(clock, metrics).run())
    await clock.advance(3.0)
    sample = metrics.registry.get_sample_value
    assert sample("event_loop_lag_seconds_count") == 4
    assert sample("event_loop_lag_seconds_sum") == pytest.approx(1.0)
    task.cancel()
