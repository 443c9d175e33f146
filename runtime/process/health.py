"""The HTTP endpoints of the process: /healthz, /readyz and /metrics.

Uses aiohttp, the metrics registry and the clock. The application registers the checks and runs one
server, or two on different ports; the kubelet and Prometheus call them.

Endpoints and responses are those of controller-runtime (pkg/healthz): /healthz and /readyz run all
checks, /healthz/NAME one, ?verbose shows each, ?exclude=NAME (repeatable) skips one; 200 "ok", or
500 with the names of the failed checks. Two differences: the last line of /readyz says readyz, and
the endpoint of a single check withholds its reason too. Reasons are only logged, because the port
is open to the whole pod network.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from aiohttp import web

from runtime.clock import Clock
from runtime.metrics.metrics import Metrics
from runtime.process.scrape import MetricsEndpoint

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Check = Callable[[], str | None]
"""None, or the reason of the failure. Synchronous and cheap: probes run every few seconds."""

STOP_SECONDS: Final = 1.0
"""How long open requests may take when the server stops."""

IDLE_SECONDS: Final = 90.0
"""Idle timeout of a connection; that of controller-runtime."""

HEADERS: Final = {"X-Content-Type-Options": "nosniff"}

LAG_PERIOD: Final = 0.5
"""Seconds between two measurements of the event loop."""


class HealthChecks:
    """The named checks of a process: liveness and readiness.

    Ready means that the caches are synced. It must not mean leadership: a rolling update would wait
    forever for a standby to become ready.
    """

    def __init__(self) -> None:
        self.liveness: dict[str, Check] = {}
        self.readiness: dict[str, Check] = {}
        self._failing: set[str] = set()

    def verdict(self, endpoint: str, checks: Mapping[str, Check]) -> dict[str, str | None]:
        """Run checks; return the reason by name, None for those that pass. Changes are logged once.

        `endpoint` distinguishes liveness and readiness, which may have checks of the same name.
        """
        verdict = {name: _run(check) for name, check in checks.items()}
        for name, reason in verdict.items():
            path = f"{endpoint}/{name}"
            if reason is None:
                if path in self._failing:
                    self._failing.remove(path)
                    log.info("check passes again", check=path)
            elif path not in self._failing:
                self._failing.add(path)
                log.warning("check fails", check=path, reason=reason)
        return verdict


class HttpServer:
    """Serves health checks, metrics, or both on one port, without TLS.

    With port 0 the system chooses a port, which `port` contains after `ready`. `health` or
    `metrics` None: these endpoints are not served.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        health: HealthChecks | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._app = web.Application()
        self._bound = asyncio.Event()
        if health is not None:
            _Probe("healthz", health, health.liveness).mount(self._app.router)
            _Probe("readyz", health, health.readiness).mount(self._app.router)
        if metrics is not None:
            self._app.router.add_get("/metrics", MetricsEndpoint(metrics.registry).answer)

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError if the address cannot be bound."""
        runner = web.AppRunner(
            self._app,
            access_log=None,
            shutdown_timeout=STOP_SECONDS,
            keepalive_timeout=IDLE_SECONDS,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.host, self.port)
            await site.start()
            self.port = runner.addresses[0][1]
            self._bound.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    async def ready(self) -> None:
        """Return once the port is bound."""
        await self._bound.wait()


class _Probe:
    """One endpoint for a set of checks: all of them, or one by its name."""

    def __init__(self, endpoint: str, health: HealthChecks, checks: Mapping[str, Check]) -> None:
        self._endpoint = endpoint
        self._health = health
        self._registered = checks

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_get(f"/{self._endpoint}", self._answer_all)
        router.add_get(f"/{self._endpoint}/", self._answer_all)
        router.add_get(f"/{self._endpoint}/{{check}}", self._answer_one)

    def _checks(self) -> Mapping[str, Check]:
        return self._registered or {"ping": lambda: None}

    async def _answer_all(self, request: web.Request) -> web.Response:
        checks = self._checks()
        excluded = {*request.query.getall("exclude", [])}
        verdict = self._health.verdict(
            self._endpoint, {name: check for name, check in checks.items() if name not in excluded}
        )
        failed = any(reason is not None for reason in verdict.values())
        if not failed and "verbose" not in request.query:
            return _text("ok")
        lines = [_line(name, verdict) for name in sorted(checks)]
        if unknown := sorted(excluded - {*checks}):
            quoted = ",".join(json.dumps(name) for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        lines.append(f"{self._endpoint} check {'failed' if failed else 'passed'}")
        return _text("\n".join(lines) + "\n", 500 if failed else 200)

    async def _answer_one(self, request: web.Request) -> web.Response:
        name = request.match_info["check"]
        check = self._checks().get(name)
        if check is None:
            return _text("404 page not found\n", 404)
        if self._health.verdict(self._endpoint, {name: check})[name] is None:
            return _text("ok")
        return _text("internal server error: reason withheld\n", 500)


def _line(name: str, verdict: Mapping[str, str | None]) -> str:
    if name not in verdict:
        return f"[+]{name} excluded: ok"
    return f"[+]{name} ok" if verdict[name] is None else f"[-]{name} failed: reason withheld"


def _text(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, headers=HEADERS)


class LoopLag:
    """Measures how late timers fire, which is how long callbacks block the event loop."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._lag = metrics.event_loop_lag_seconds

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            due = self._clock.monotonic() + LAG_PERIOD
            await self._clock.sleep(LAG_PERIOD)
            self._lag.observe(max(0.0, self._clock.monotonic() - due))


def _run(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that raises has failed
        return f"{type(error).__name__}: {error}"
