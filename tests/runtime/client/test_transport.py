"""runtime.client.transport: deadlines, retries, the write guard, metrics."""

import asyncio

import pytest
from aiohttp import web

from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE
from runtime.client.client import WatchOptions
from runtime.client.wire import REQUEST_POOL
from runtime.errors import (
    Conflict,
    LeaseLost,
    NotFound,
    ServerError,
    TooManyRequests,
    TransportError,
    Unauthorized,
)
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import Answer, drop, listing, reply, silence, status, stream
from runtime.testing.wait import eventually
from runtime.types import ObjectKey
from tests.runtime.serving import (
    WRITES,
    Verb,
    apply,
    config_map,
    delete,
    get,
    run_scripted_server,
    update,
)

NOT_RETRIED: dict[str, tuple[Verb, Answer]] = {
    "429 without a time": (get, status(429, "TooManyRequests")),
    "429 with a long time": (get, status(429, "TooManyRequests", retryAfterSeconds=10)),
    "a version that the server has waited for": (
        get,
        status(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}], retryAfterSeconds=1),
    ),
    "500 without a time": (get, status(500, "InternalError")),
    "a write that met 503": (apply, status(503, "Unavailable", retryAfterSeconds=1)),
}


def refuse() -> None:
    raise LeaseLost


class TestFailures:
    """Errors, retries, deadlines."""

    async def test_errors_are_typed(self) -> None:
        script = (
            status(404, "NotFound", "configmaps web not found"),
            status(409, "Conflict", "stale"),
        )
        async with run_scripted_server(*script) as (_server, client):
            with pytest.raises(NotFound, match="web not found"):
                await get(client)
            with pytest.raises(Conflict, match="stale"):
                await update(client)

    @pytest.mark.parametrize("body", [b"<html>hello</html>", b"[]", b"", b'{"a":'])
    async def test_a_response_that_is_no_object_is_an_error(self, body: bytes) -> None:
        async with run_scripted_server(reply(200, body)) as (_server, client):
            with pytest.raises(TransportError, match="the answer is not"):
                await get(client)

    async def test_a_redirect_is_not_followed(self) -> None:
        script = (reply(302, b"", headers={"Location": "http://192.0.2.1/"}),)
        async with run_scripted_server(*script) as (_server, client):
            with pytest.raises(Exception, match="302") as caught:
                await get(client)
        assert getattr(caught.value, "code", None) == 302

    async def test_a_refused_connection_is_a_transport_error(self) -> None:
        async with run_scripted_server() as (server, client):
            await server.stop()
            reason = r"GET .*/web: cannot connect to 127\.0\.0\.1:\d+: connection refused$"
            with pytest.raises(TransportError, match=reason):
                await get(client)

    @pytest.mark.parametrize("first", [drop, stream(b'{"cut', then="cut")], ids=["drop", "cut"])
    async def test_a_read_without_a_response_is_retried_once(self, first: Answer) -> None:
        async with run_scripted_server(first, reply(200, config_map("web"))) as (_server, client):
            assert await get(client) == config_map("web")

    async def test_a_read_that_is_dropped_twice_fails(self) -> None:
        async with run_scripted_server(drop, drop) as (server, client):
            with pytest.raises(TransportError):
                await get(client)
        assert len(server.requests) == 2

    @pytest.mark.parametrize("verb", WRITES)
    async def test_a_dropped_write_is_never_sent_again(self, verb: Verb) -> None:
        async with run_scripted_server(reply(200, {}), drop) as (server, client):
            # The first fills the pool: libraries resend automatically on a reused connection.
            await get(client)
            with pytest.raises(TransportError):
                await verb(client)
        assert len(server.requests) == 2
        assert server.surplus == []

    @pytest.mark.parametrize("verb", [get, apply, delete])
    async def test_a_busy_server_is_retried_after_its_retry_after(self, verb: Verb) -> None:
        clock = ManualClock()
        script = (
            status(429, "TooManyRequests", retryAfterSeconds=2),
            reply(200, config_map("web")),
        )
        async with run_scripted_server(*script, clock=clock) as (server, client):
            task = asyncio.ensure_future(verb(client))
            await eventually(
                lambda: clock.next_wake == 2.0, goal="the client waits for two seconds"
            )
            assert len(server.requests) == 1
            await clock.advance(2.0)
            await task
        assert len(server.requests) == 2

    async def test_a_server_that_stays_busy_gets_four_attempts(self) -> None:
        clock = ManualClock()
        busy = status(429, "TooManyRequests", retryAfterSeconds=1)
        async with run_scripted_server(*[busy] * 5, clock=clock) as (server, client):
            task = asyncio.ensure_future(get(client))
            for tries in (1, 2, 3):
                await eventually(lambda: clock.next_wake == 1.0)
                assert len(server.requests) == tries
                await clock.advance(1.0)
            with pytest.raises(TooManyRequests):
                await task
        assert len(server.requests) == 4

    @pytest.mark.parametrize(("verb", "answer"), NOT_RETRIED.values(), ids=NOT_RETRIED)
    async def test_what_is_not_retried_here(self, verb: Verb, answer: Answer) -> None:
        async with run_scripted_server(answer) as (server, client):
            with pytest.raises((TooManyRequests, ServerError)):
                await verb(client)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("verb", [get, apply])
    async def test_a_rejected_token_is_renewed_once(self, verb: Verb) -> None:
        refusal = status(401, "Unauthorized")
        async with run_scripted_server(refusal, reply(200, {})) as (server, client):
            await verb(client)
        sent = [request.headers["Authorization"] for request in server.requests]
        assert sent == ["Bearer t0", "Bearer t1"]
        async with run_scripted_server(refusal, refusal) as (server, client):
            with pytest.raises(Unauthorized):
                await verb(client)
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("verb", "seconds"),
        [(get, 10), (apply, 10), (lambda c: c.list(CONFIG_MAP), 60)],
        ids=["a read", "a write", "a page of a list"],
    )
    async def test_a_silent_server_ends_at_the_deadline(self, verb: Verb, seconds: int) -> None:
        clock = ManualClock()
        async with run_scripted_server(silence, clock=clock) as (server, client):
            task = asyncio.ensure_future(verb(client))
            await eventually(lambda: server.requests)
            await clock.advance(seconds - 0.1)
            assert not task.done()
            await clock.advance(0.2)
            with pytest.raises(TransportError, match=f"within {seconds} s"):
                await task


class TestGuard:
    """The guard before each write."""

    async def test_reads_are_not_guarded(self) -> None:
        async with run_scripted_server(reply(200, {}), listing([]), guard=refuse) as (
            _server,
            client,
        ):
            await get(client)
            await client.list(CONFIG_MAP)

    async def test_a_write_that_is_sent_again_is_guarded_again(self) -> None:
        asked_at: set[int] = set()
        script = (status(401, "Unauthorized"), reply(200, {}))
        async with run_scripted_server(
            *script, guard=lambda: asked_at.add(len(server.requests))
        ) as (
            server,
            client,
        ):
            await apply(client)
        assert asked_at == {0, 1}

    @pytest.mark.parametrize("verb", WRITES)
    async def test_t20_a_write_that_waited_for_a_connection_is_guarded_again(
        self, verb: Verb
    ) -> None:
        """All connections are in use; when one is free, the lease has expired."""
        refusing = False
        release = asyncio.Event()

        def guard() -> None:
            if refusing:
                raise LeaseLost

        async def late(request: web.BaseRequest) -> web.StreamResponse:
            await release.wait()
            return await reply(200, {})(request)

        async with run_scripted_server(*[late] * REQUEST_POOL, guard=guard) as (server, client):
            reads = [asyncio.ensure_future(get(client)) for _ in range(REQUEST_POOL)]
            await eventually(lambda: len(server.requests) == REQUEST_POOL, goal="the pool is full")
            write = asyncio.ensure_future(verb(client))
            await ManualClock().settle()
            refusing = True
            release.set()
            await asyncio.gather(*reads)
            with pytest.raises(LeaseLost):
                await write
            # Its connection is not lost.
            server.extend(reply(200, {}))
            await get(client)

    @pytest.mark.parametrize("verb", WRITES)
    async def test_t20_the_guard_is_called_when_the_bytes_are_sent(self, verb: Verb) -> None:
        """Stopped between its first check and the socket."""
        answers = iter((True, False, True, True))

        def guard() -> None:
            if not next(answers):
                raise LeaseLost

        async with run_scripted_server(reply(200, {}), guard=guard) as (server, client):
            with pytest.raises(LeaseLost):
                await verb(client)
            assert server.requests == []
            await verb(client)
        assert len(server.requests) == 1

    async def test_an_exception_of_the_last_guard_check_is_raised_unchanged(self) -> None:
        """The guard of the operator also refuses writes to a cluster that was paused meanwhile."""
        answers = iter((True, False))

        def guard() -> None:
            if not next(answers):
                raise LookupError("paused")

        async with run_scripted_server(guard=guard) as (server, client):
            with pytest.raises(LookupError, match="paused"):
                await apply(client)
        assert server.requests == []


async def test_every_attempt_is_counted() -> None:
    metrics = Metrics()
    script = (
        status(401, "Unauthorized"),
        reply(200, {}),
        status(404, "NotFound"),
        drop,
        stream(),
        silence,
    )
    clock = ManualClock()
    async with run_scripted_server(*script, clock=clock, metrics=metrics) as (server, client):
        await get(client)
        with pytest.raises(NotFound):
            await client.get(NAMESPACE, ObjectKey("", "absent"))
        with pytest.raises(TransportError):
            await apply(client)
        async with client.watch(CONFIG_MAP, None, WatchOptions("1", 300)):
            pass
        late = asyncio.ensure_future(delete(client))
        await eventually(lambda: len(server.requests) == 6)
        await clock.advance(10.0)
        with pytest.raises(TransportError, match="within 10 s"):
            await late
    host = server.url.removeprefix("http://")

    def count(code: str, method: str) -> float | None:
        labels = {"code": code, "method": method, "host": host}
        return metrics.registry.get_sample_value("rest_client_requests_total", labels)

    assert count("200", "GET") == 2
    assert count("401", "GET") == count("404", "GET") == 1
    assert count("<error>", "PATCH") == count("<error>", "DELETE") == 1
