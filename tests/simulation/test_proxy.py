"""runtime.testing.proxy and the HTTP side of the fake server, over real loopback sockets."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from yarl import URL

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client, WatchOptions
from runtime.clock import Deadline, SystemClock
from runtime.errors import Gone, ServerError, TooManyRequests, TransportError
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.http import serving
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.proxy import FaultProxy
from runtime.testing.wait import eventually
from runtime.types import ObjectKey
from tests.runtime.serving import Tokens

KEY = ObjectKey("shop", "a")


@dataclass(frozen=True, slots=True)
class Line:
    """A client, the proxy, the server behind it, and the faults of that server."""

    client: Client
    proxy: FaultProxy
    server: FakeApiServer
    faults: ScriptedFaults

    def watch(self) -> WatchOptions:
        return WatchOptions(str(self.server.storage.revision), 60)

    def put(self, value: str = "x") -> None:
        body = {"metadata": {"namespace": "shop", "name": "a"}, "data": {"k": value}}
        self.server.put(CONFIG_MAP, body)


@pytest_asyncio.fixture
async def line() -> AsyncIterator[Line]:
    clock = SystemClock()
    server = FakeApiServer(clock, random.Random(1))
    faults = ScriptedFaults()
    async with serving(server, faults=faults) as url:
        port = URL(url).port
        assert port is not None
        async with FaultProxy("127.0.0.1", port) as proxy:
            tokens = Tokens(f"http://127.0.0.1:{proxy.port}")
            client = Client(tokens, user_agent="test/1", clock=clock, timeout=5.0)
            try:
                line = Line(client, proxy, server, faults)
                line.put()
                yield line
            finally:
                await client.close()


async def test_without_faults_the_proxy_is_transparent(line: Line) -> None:
    assert (await line.client.get(CONFIG_MAP, KEY))["data"] == {"k": "x"}
    assert line.proxy.accepted == 1


async def test_a_reset_breaks_a_watch_and_new_connections_work(line: Line) -> None:
    async with line.client.watch(CONFIG_MAP, None, line.watch()) as lines:
        line.proxy.reset()
        with pytest.raises(TransportError):
            await anext(lines)
    await eventually(lambda: not line.server.watches, goal="the server has no watch")
    await line.client.get(CONFIG_MAP, KEY)


async def test_a_half_open_watch_is_silent_and_open(line: Line) -> None:
    async with line.client.watch(CONFIG_MAP, None, line.watch()) as lines:
        line.proxy.half_open()
        line.put("unheard")
        with pytest.raises(TimeoutError):
            async with Deadline(SystemClock(), 0.1):
                await anext(lines)
        assert line.proxy.open >= 1
    assert (await line.client.get(CONFIG_MAP, KEY))["data"] == {"k": "unheard"}


async def test_a_pause_loses_no_data(line: Line) -> None:
    async with line.client.watch(CONFIG_MAP, None, line.watch()) as lines:
        line.proxy.pause()
        line.put("late")
        waiting = asyncio.ensure_future(anext(lines))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done
        line.proxy.resume()
        assert b"late" in await waiting


async def test_a_stream_is_truncated_after_a_number_of_bytes(line: Line) -> None:
    line.proxy.truncate_after(300)
    with pytest.raises(TransportError):
        await line.client.get(CONFIG_MAP, KEY)
    line.proxy.truncate_after(None)
    await line.client.get(CONFIG_MAP, KEY)


async def test_delay_and_throttle_take_time(line: Line) -> None:
    clock = SystemClock()
    await line.client.get(CONFIG_MAP, KEY)
    start = clock.monotonic()
    line.proxy.delay(0.05)
    await line.client.get(CONFIG_MAP, KEY)
    assert clock.monotonic() - start >= 0.1
    line.proxy.delay(0.0)
    line.put("x" * 2000)
    line.proxy.throttle(20_000.0)
    await line.client.get(CONFIG_MAP, KEY)
    start = clock.monotonic()
    await line.client.get(CONFIG_MAP, KEY)
    assert clock.monotonic() - start >= 0.1


async def test_refused_connections_are_transport_errors(line: Line) -> None:
    line.proxy.refuse()
    with pytest.raises(TransportError):
        await line.client.get(CONFIG_MAP, KEY)
    line.proxy.refuse(False)
    await line.client.get(CONFIG_MAP, KEY)


async def test_an_absent_server_is_a_transport_error(line: Line) -> None:
    async with FaultProxy("127.0.0.1", 1) as proxy:
        tokens = Tokens(f"http://127.0.0.1:{proxy.port}")
        client = Client(tokens, user_agent="test/1", clock=SystemClock())
        with pytest.raises(TransportError):
            await client.get(CONFIG_MAP, KEY)
        await client.close()


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.EXPIRED, Gone),
        (FaultKind.TOO_MANY, TooManyRequests),
        (FaultKind.INTERNAL, ServerError),
        (FaultKind.PROXY, ServerError),
        (FaultKind.TORN, TransportError),
        (FaultKind.RESET, TransportError),
        (FaultKind.LOST_REPLY, TransportError),
    ],
)
async def test_the_faults_of_the_server_reach_a_client_over_http(
    line: Line, kind: FaultKind, error: type[Exception]
) -> None:
    # A read is tried four times; the caller handles waits of more than 5 s.
    line.faults.extend(*[Fault(kind, 9.0)] * 4)
    with pytest.raises(error):
        await line.client.get(CONFIG_MAP, KEY)


async def test_a_lost_reply_of_a_write_has_taken_effect(line: Line) -> None:
    line.faults.extend(Fault(FaultKind.LOST_REPLY))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": KEY._asdict(), "data": {"k": "y"}}
    with pytest.raises(TransportError):
        await line.client.apply(CONFIG_MAP, body, field_manager="me", force=True)
    assert (await line.client.get(CONFIG_MAP, KEY))["data"] == {"k": "y"}
