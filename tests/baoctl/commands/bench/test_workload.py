"""baoctl.commands.bench.workload: closed-loop workers with a manual clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from baoctl.commands.bench.engine import own_engine
from baoctl.commands.bench.workload import (
    PAUSE_SECONDS,
    Attempt,
    FailedRequestError,
    Login,
    Worker,
    measure,
)
from baoctl.commands.login.connection import REVOKE, run_to_completion
from baoctl.commands.login.reads import LoginOptions
from managers.context.sensitive import SensitiveString
from runtime.testing.clock import ManualClock
from tests.managers.bao.servers import ADDRESS, serving


async def test_each_worker_sends_its_next_request_after_the_response() -> None:
    clock, sent = ManualClock(), list[tuple[str, int]]()

    def worker(name: str, seconds: float) -> Attempt:
        async def attempt(number: int) -> float:
            sent.append((name, number))
            await clock.sleep(seconds)
            return seconds

        return attempt

    run = asyncio.ensure_future(measure(clock, 1.0, [worker("a", 0.5), worker("b", 0.3)]))
    await clock.advance(2.0)
    samples = await run
    assert sorted(sent) == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("b", 3)]
    assert sorted(samples.seconds) == [0.3, 0.3, 0.3, 0.3, 0.5, 0.5]
    assert not samples.errors


async def test_a_worker_pauses_after_an_error() -> None:
    clock, sent = ManualClock(), list[int]()

    async def attempt(number: int) -> float:
        sent.append(number)
        raise FailedRequestError("answered 503")

    run = asyncio.ensure_future(measure(clock, 1.0, [attempt]))
    await clock.advance(PAUSE_SECONDS * 2.5)
    assert sent == [0, 1, 2]
    await clock.advance(2.0)
    samples = await run
    assert samples.seconds == []
    assert dict(samples.errors) == {"answered 503": len(sent)}


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_run_waits_for_requests_in_flight(fails: bool) -> None:
    clock, ended = ManualClock(), list[int]()

    async def attempt(number: int) -> float:
        await run_to_completion(clock.sleep(0.5))
        ended.append(number)
        if fails:
            raise FailedRequestError("answered 503")
        return 0.5

    run = asyncio.ensure_future(measure(clock, 60.0, [attempt, attempt]))
    await clock.settle()
    run.cancel()
    await clock.settle()
    assert not run.done()
    await clock.advance(0.5)
    with pytest.raises(asyncio.CancelledError):
        await run
    assert ended == [0, 0]


LOGIN = "auth/jwt-operator/login"
ISSUED = (200, {"auth": {"client_token": "issued", "lease_duration": 60}})


def login_options() -> Login:
    login = LoginOptions("first", (), "app", None, "jwt-operator", None, None)
    return Login(login, SensitiveString("jwt"))


async def test_the_token_of_a_login_is_revoked_before_the_next_request(tmp_path: Path) -> None:
    answers = {LOGIN: ISSUED, REVOKE: (204, None)}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        await Worker(0, bao, ADDRESS, "token", ManualClock()).log_in(login_options())(0)
    assert [(request.path, request.token) for request in server.requests] == [
        (f"/v1/{LOGIN}", ""),
        (f"/v1/{REVOKE}", "issued"),
    ]
    assert server.requests[0].body == {"role": "app", "jwt": "jwt"}


async def test_a_failed_revocation_is_retried_once_and_counted_as_an_error(
    tmp_path: Path,
) -> None:
    answers = {LOGIN: ISSUED, REVOKE: (502, None)}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        attempt = Worker(0, bao, ADDRESS, "token", ManualClock()).log_in(login_options())
        with pytest.raises(FailedRequestError, match="502"):
            await attempt(0)
    assert [request.path for request in server.requests[1:]] == [f"/v1/{REVOKE}"] * 2


async def test_errors_are_counted_regardless_of_the_key(tmp_path: Path) -> None:
    engine, errors = own_engine("0123"), set()
    async with serving(tmp_path, {}) as server, server.client() as bao:
        attempt = Worker(0, bao, ADDRESS, "token", ManualClock()).write(engine, "x", 4)
        for number in range(4):
            with pytest.raises(FailedRequestError) as error:
                await attempt(number)
            errors.add(str(error.value))
    assert len({request.path for request in server.requests}) == 4
    assert errors == {"answered 404: no reason given"}
