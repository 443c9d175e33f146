"""The requests of a measurement: closed-loop workers, each with its own connection.

Uses managers.bao.client. Called by baoctl.commands.bench.stages and
baoctl.commands.bench.connections. A worker sends its next request after the response to the
previous one; after an error it pauses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from baoctl.commands.bench.engine import Engine
from baoctl.commands.bench.figures import Samples
from baoctl.commands.login.connection import REVOKE, raise_if_cancelled, run_to_completion
from baoctl.commands.login.reads import LoginOptions
from managers.bao.client import Bao, BaoError, Denied
from managers.context.sensitive import SensitiveString
from runtime.clock import Clock

PAUSE_SECONDS: Final = 0.1
"""Pause between an error and the next request of the same worker."""
SAMPLES_MAX: Final = 1_000_000
"""Maximum requests of one operation, which then ends early."""

Attempt = Callable[[int], Awaitable[float]]
"""Sends the n-th request of a worker, and returns the seconds until the response."""


class FailedRequestError(Exception):
    """A request failed. The text omits the path, so that equal errors are counted together."""


@dataclass(frozen=True, slots=True)
class Login:
    """The login of a worker."""

    options: LoginOptions
    jwt: SensitiveString = field(repr=False)


@dataclass(frozen=True, slots=True)
class Worker:
    """One connection, and the keys that only this worker writes."""

    number: int
    bao: Bao
    address: str
    token: str = field(repr=False)
    clock: Clock

    def keys(self, count: int) -> list[str]:
        """Return the names of its keys."""
        return [self.key(number, count) for number in range(count)]

    def key(self, number: int, count: int) -> str:
        """Return the name of the key of its n-th request, for `count` keys."""
        return f"w{self.number}k{number % count}"

    def write(self, engine: Engine, value: str, count: int) -> Attempt:
        """Return the request that writes a key."""
        payload = engine.payload(value)

        async def attempt(number: int) -> float:
            path = engine.content_path(self.key(number, count))
            request = self.bao.write(self.address, self.token, path, payload)
            # Complete it even if the task is cancelled: no write may follow the removal.
            return await self._measure(path, run_to_completion(request))

        return attempt

    def read(self, engine: Engine, count: int) -> Attempt:
        """Return the request that reads a key."""

        async def attempt(number: int) -> float:
            path = engine.content_path(self.key(number, count))
            return await self._measure(path, self.bao.read(self.address, self.token, path))

        return attempt

    def log_in(self, login: Login) -> Attempt:
        """Return the request that logs in; the token is revoked before the next one."""
        options = login.options
        role = options.role or options.service_account

        async def attempt(number: int) -> float:
            path = f"auth/{options.auth_path}/login"
            start = self.clock.monotonic()
            request = self.bao.login(self.address, options.auth_path, role, login.jwt.reveal())
            try:
                # Complete it even if the task is cancelled: an issued token must be revoked.
                login_token = await run_to_completion(request)
                latency = self.clock.monotonic() - start
                await run_to_completion(self._revoke(login_token.client_token))
            except (BaoError, Denied) as error:
                raise _failure(error, path) from None
            return latency

        return attempt

    async def _revoke(self, token: str) -> None:
        try:
            await self.bao.write(self.address, token, REVOKE, {})
        except BaoError:
            # Retry once, because without a response the token may still be valid.
            await self.bao.write(self.address, token, REVOKE, {})

    async def _measure(self, path: str, request: Awaitable[object]) -> float:
        start = self.clock.monotonic()
        try:
            await request
        except (BaoError, Denied) as error:
            raise _failure(error, path) from None
        return self.clock.monotonic() - start


def _failure(error: Exception, path: str) -> FailedRequestError:
    return FailedRequestError(str(error).removeprefix(path).strip())


async def measure(clock: Clock, seconds: float, attempts: Sequence[Attempt]) -> Samples:
    """Run one worker for each attempt; at the end wait for the requests in flight."""
    samples = Samples()
    end = clock.monotonic() + seconds

    async def work(attempt: Attempt) -> None:
        number = 0
        while clock.monotonic() < end and len(samples.seconds) < SAMPLES_MAX:
            try:
                samples.seconds.append(await attempt(number))
            except FailedRequestError as error:
                samples.fail(str(error))
                raise_if_cancelled()
                await clock.sleep(PAUSE_SECONDS)
            raise_if_cancelled()
            number += 1

    async with asyncio.TaskGroup() as group:
        for attempt in attempts:
            group.create_task(work(attempt))
    return samples
