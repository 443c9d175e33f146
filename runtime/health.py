"""The HTTP endpoints of the process: /healthz, /readyz and /metrics.

Uses aiohttp, the metrics registry and the clock. The composition registers the checks and runs
one server, or two on different ports; the kubelet and Prometheus call them. Endpoints and answers
are those of controller-runtime: 200 "ok", or 500 with the names of the failed checks. The reasons
stay in the log, because the port is open to the whole pod network.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from aiohttp import web
from prometheus_client.aiohttp import make_aiohttp_handler

from runtime.clock import Clock
from runtime.metrics import Metrics

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Check = Callable[[], str | None]
"""None when all is well, else the reason. Synchronous and cheap: probes come every few seconds."""

STOP_SECONDS: Final = 1.0
"""How long open requests may last when the server stops."""

LAG_PERIOD: Final = 0.5


class Health:
    """The named checks of a process: liveness ("replace me") and readiness ("use me").

    Readiness means caches synced and able to serve. It must not mean leadership: a rolling update
    would wait for ever for a standby to become ready.
    """

    def __init__(self) -> None:
        self.liveness: dict[str, Check] = {}
        self.readiness: dict[str, Check] = {}
        self._failing: dict[str, str] = {}

    def verdict(self, checks: Mapping[str, Check]) -> dict[str, str | None]:
        """Run checks; the reason by name, None for those that pass. Changes are logged once."""
        verdict = {name: _run(check) for name, check in checks.items()}
        for name, reason in verdict.items():
            if reason is None:
                if self._failing.pop(name, None) is not None:
                    log.info("check passes again", check=name)
            elif name not in self._failing:
                self._failing[name] = reason
                log.warning("check fails", check=name, reason=reason)
        return verdict


class HttpServer:
    """Serves health checks, metrics, or both on one port, in the clear.

    Port 0 lets the system choose; `port` then tells which. What is not given is not served.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        health: Health | None = None,
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
            self._app.router.add_get("/metrics", make_aiohttp_handler(metrics.registry))

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError when the address cannot be bound."""
        runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=STOP_SECONDS)
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
    """One endpoint over a set of checks: all of them, or one by its name."""

    def __init__(self, word: str, health: Health, checks: Mapping[str, Check]) -> None:
        self._word = word
        self._health = health
        self._registered = checks

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_get(f"/{self._word}", self._answer_all)
        router.add_get(f"/{self._word}/{{check}}", self._answer_one)

    def _checks(self) -> Mapping[str, Check]:
        return self._registered or {"ping": lambda: None}

    async def _answer_all(self, request: web.Request) -> web.Response:
        excluded = {*request.query.getall("exclude", [])} & {*self._checks()}
        verdict = self._health.verdict(
            {name: check for name, check in self._checks().items() if name not in excluded}
        )
        failed = any(reason is not None for reason in verdict.values())
        if not failed and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [
            f"[+]{name} ok" if reason is None else f"[-]{name} failed: reason withheld"
            for name, reason in verdict.items()
        ]
        lines += [f"[+]{name} excluded: ok" for name in sorted(excluded)]
        lines.append(f"{self._word} check {'failed' if failed else 'passed'}")
        return web.Response(text="\n".join(lines) + "\n", status=500 if failed else 200)

    async def _answer_one(self, request: web.Request) -> web.Response:
        name = request.match_info["check"]
        check = self._checks().get(name)
        if check is None:
            return web.Response(text="no such check\n", status=404)
        if self._health.verdict({name: check})[name] is None:
            return web.Response(text="ok")
        return web.Response(text="internal server error: reason withheld\n", status=500)


class LoopLag:
    """Measures how late timers fire, which is how long callbacks hold the event loop."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._lag = metrics.event_loop_lag_seconds

    async def run(self) -> None:
        """Sleep and compare, until cancelled."""
        while True:
            due = self._clock.monotonic() + LAG_PERIOD
            await self._clock.sleep(LAG_PERIOD)
            self._lag.observe(max(0.0, self._clock.monotonic() - due))


def _run(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that breaks has not passed
        return f"{type(error).__name__}: {error}"
