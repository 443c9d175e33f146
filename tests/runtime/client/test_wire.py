"""A client over another wire than HTTP: the same guard, retries, credentials and metrics."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client, WatchOptions
from runtime.client.transport import HttpRequest, HttpResponse
from runtime.errors import ConnectionDropped, LeaseLost, TransportError, api_error
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from tests.runtime.serving import WRITES, Tokens, Verb, apply, get


class Recording:
    """A wire that returns an empty object for each request."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls: list[HttpRequest] = []
        self.closed = False

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        self.calls.append(call)
        if self.errors:
            raise self.errors.pop(0)
        return HttpResponse(200, b"{}")

    @asynccontextmanager
    async def stream(self, call: HttpRequest, /) -> AsyncIterator[AsyncIterator[bytes]]:
        self.calls.append(call)
        if self.errors:
            raise self.errors.pop(0)
        yield self.lines()

    async def lines(self) -> AsyncIterator[bytes]:
        yield b"{}\n"

    async def close(self) -> None:
        self.closed = True


def over(wire: Recording, **options: Any) -> Client:
    return Client.over(wire, Tokens("https://api:6443"), clock=ManualClock(), **options)


@pytest.mark.parametrize("verb", WRITES)
async def test_t20_the_guard_is_called(verb: Verb) -> None:
    def refuse() -> None:
        raise LeaseLost

    wire = Recording()
    with pytest.raises(LeaseLost):
        await verb(over(wire, guard=refuse))
    assert wire.calls == []


async def test_streams_and_closing() -> None:
    wire = Recording()
    client = over(wire)
    async with client.watch(CONFIG_MAP, None, WatchOptions("1", 300)) as lines:
        assert [line async for line in lines] == [b"{}\n"]
    await client.close()
    assert wire.closed
    wire = Recording(ConnectionDropped("gone"))
    with pytest.raises(TransportError, match="GET /api/v1/configmaps: gone"):
        async with over(wire).watch(CONFIG_MAP, None, WatchOptions("1", 300)):
            pass


async def test_a_slow_credential_does_not_bypass_the_guard() -> None:
    """The guard is called after the last await, not before."""
    requests: list[str] = []

    class Slow(Tokens):
        async def headers(self) -> Mapping[str, str]:
            requests.append("token")
            return await super().headers()

    wire = Recording()
    client = Client.over(
        wire, Slow("http://x"), clock=ManualClock(), guard=lambda: requests.append("guard")
    )
    await apply(client)
    assert requests == ["token", "guard"]


async def test_durations_sizes_and_retries_are_optional_metrics() -> None:
    metrics = Metrics(request_details=True)
    clock = ManualClock()

    class Slow(Recording):
        async def request(self, call: HttpRequest, /) -> HttpResponse:
            await clock.sleep(0.3)
            return await super().request(call)

    wire = Slow(api_error(401, {}, b""), ConnectionDropped("gone"))
    client = Client.over(wire, Tokens("https://api:6443"), clock=clock, metrics=metrics)
    read = asyncio.ensure_future(get(client))
    await clock.advance(1.0)
    await read

    def sample(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(
            f"rest_client_{name}", {"host": "api:6443", "verb": "GET", **labels}
        )

    assert sample("request_duration_seconds_count") == 3
    assert sample("request_duration_seconds_bucket", le="0.25") == 0
    assert sample("request_duration_seconds_bucket", le="0.5") == 3
    assert sample("request_size_bytes_sum") == 0
    assert (sample("response_size_bytes_count"), sample("response_size_bytes_sum")) == (1, 2)
    for code in ("401", "<error>"):
        assert sample("request_retries_total", code=code) == 1
