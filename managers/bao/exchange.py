"""Requests to the servers of one cluster over HTTPS, and the bodies of their answers.

May use aiohttp. Called by managers.bao.client, which knows the API; managers.bao.timeouts limits
how long a request may take. The owner of the cluster chooses the program that answers, so
runtime.limits.http_client limits how much of an answer is read.

Every method except GET is a write. Like a write to the API server, it calls the guard twice: before
it gets a connection, and when its bytes are sent (runtime.client.write_guard). It is sent at most
once.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import orjson
from pydantic import BaseModel

from managers.bao.answers import OWN, BaoError, Bound, NotSentError, as_model, as_object, granted
from managers.bao.breakers import UnansweredError
from managers.bao.timeouts import request_timeout
from runtime.client.write_guard import (
    Guard,
    GuardCheck,
    GuardedBody,
    guarded_pieces,
    no_silent_resend,
)
from runtime.errors import ConnectionDropped
from runtime.limits.http_client import (
    bounded_session,
    exceeded_limit,
    read_body,
    refuse_compressed,
)
from runtime.limits.nesting import UnreadableError
from runtime.limits.tls import tls_context

Answer = TypeVar("Answer", bound=BaseModel)
Reply = tuple[int, Mapping[str, Any]]
"""Code and body of an answer."""
# For writes too: a write that the guard allowed ends before another process may become leader.
_QUESTION, _CONNECT = 5.0, 2.0
TIMEOUT = aiohttp.ClientTimeout(total=_QUESTION, connect=_CONNECT)
# A snapshot has no total limit, but its stream never pauses for so long.
TRANSFER = aiohttp.ClientTimeout(total=None, connect=5.0, sock_read=120.0)
TRANSFER_BUFFER = 1 << 20
_CONNECTIONS = 8
_TOKEN_HEADER = "X-Vault-Token"  # noqa: S105  the name of a header


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """One request."""

    method: str
    address: str
    path: str
    token: str = field(repr=False)
    payload: Mapping[str, Any] | None = field(repr=False)
    bound: Bound


class Exchange:
    """Connections to the servers of one cluster, which share one TLS name and one CA."""

    def __init__(
        self, authority: str, server_name: str, port: int, *, guard: Guard, plain: bool
    ) -> None:
        self._guard = guard
        self._tls = tls_context(authority)
        self._server_name = server_name
        self._port = port
        self._scheme = "http" if plain else "https"
        self._session = bounded_session(TIMEOUT, tls=self._tls, limit=_CONNECTIONS)
        self._transfers: aiohttp.ClientSession | None = None
        self.unusable = ""

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        if self._transfers is not None:
            await self._transfers.close()

    async def call(
        self,
        method: str,
        address: str,
        path: str,
        token: str,
        payload: Mapping[str, Any] | None,
        bound: Bound,
    ) -> Reply:
        """Send a request once. Raises BaoError and the errors of the guard."""
        with request_timeout(address, path, _QUESTION) as seconds:
            return await self.send(
                ServerRequest(method, address, path, token, payload, bound), seconds
            )

    async def send(self, request: ServerRequest, seconds: float) -> Reply:
        """Send a request that may take `seconds`. Raises BaoError and the errors of the guard."""
        url = self._url(request.address, request.path)
        writes = request.method != "GET"
        guard_check = GuardCheck(self._guard)
        if writes:
            guard_check()
        try:
            async with self._session.request(
                request.method,
                url,
                headers={_TOKEN_HEADER: request.token} if request.token else {},
                data=_body(request.payload, guard_check) if writes else None,
                server_hostname=self._server_name,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds, connect=_CONNECT),
                middlewares=(no_silent_resend,) if writes else (),
            ) as response:
                text = await _text(response, request.bound)
            return response.status, as_object(text, request.bound)
        except (aiohttp.ClientError, ConnectionDropped, OSError, ValueError) as error:
            if guard_check.error is not None:
                raise guard_check.error from None
            raise self._failed(request.path, request.address, error) from error

    @asynccontextmanager
    async def download(
        self, address: str, path: str, token: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the stream of an answer, in pieces of up to TRANSFER_BUFFER bytes.

        Opening raises Denied and BaoError, and so does the stream when it breaks.
        """
        try:
            async with self._transfer().get(
                self._url(address, path),
                headers={_TOKEN_HEADER: token},
                server_hostname=self._server_name,
                allow_redirects=False,
                read_bufsize=TRANSFER_BUFFER,
            ) as response:
                if response.status != 200:
                    granted(response.status, await _reasons(response), path)
                    raise BaoError(f"{path} answered {response.status}")
                refuse_compressed(response)
                yield _pieces(response)
        except (aiohttp.ClientError, UnreadableError, TimeoutError) as error:
            raise self._failed(path, address, error) from error

    async def upload(
        self, address: str, path: str, token: str, body: AsyncIterable[bytes]
    ) -> Reply:
        """Send a stream once.

        Raises NotSentError when nothing was sent, BaoError, and the errors of the guard.
        """
        guard_check = GuardCheck(self._guard)
        guard_check()
        try:
            async with self._transfer().post(
                self._url(address, path),
                headers={_TOKEN_HEADER: token, "Content-Type": "application/octet-stream"},
                data=guarded_pieces(body, guard_check),
                server_hostname=self._server_name,
                allow_redirects=False,
            ) as response:
                return response.status, await _reasons(response)
        except aiohttp.ClientConnectorError as error:
            raise NotSentError(f"{path} of {address}: {type(error).__name__}") from error
        except (aiohttp.ClientError, UnreadableError, TimeoutError) as error:
            if guard_check.error is not None:
                raise guard_check.error from None
            raise self._failed(path, address, error) from error

    def read(self, model: type[Answer], body: Mapping[str, Any], path: str, address: str) -> Answer:
        """Validate the body of an answer. Raises BaoError."""
        try:
            return as_model(model, body)
        except UnreadableError as error:
            raise self._failed(path, address, error) from None

    def _transfer(self) -> aiohttp.ClientSession:
        if self._transfers is None:
            self._transfers = bounded_session(
                TRANSFER, tls=self._tls, limit=_CONNECTIONS, pieces=False
            )
        return self._transfers

    def _url(self, address: str, path: str) -> str:
        host = f"[{address}]" if ipaddress.ip_address(address).version == 6 else address
        return f"{self._scheme}://{host}:{self._port}/v1/{path}"

    def _failed(self, path: str, address: str, error: Exception) -> BaoError:
        broken = exceeded_limit(error) if isinstance(error, aiohttp.ClientError) else error
        if isinstance(broken, UnreadableError):
            message = f"{path} of {address}: the answer is {broken}"
            # The first in alphabetical order, so that a status does not change.
            self.unusable = min(self.unusable or message, message)
            return BaoError(message)
        # Only the class, because the text of some of these errors contains the whole request.
        error_type = UnansweredError if isinstance(error, TimeoutError) else BaoError
        return error_type(f"{path} of {address}: {type(error).__name__}")


def _body(payload: Mapping[str, Any] | None, guard_check: GuardCheck) -> GuardedBody:
    encoded = b"" if payload is None else orjson.dumps(payload)
    return GuardedBody(encoded, guard_check, content_type="application/json")


async def _text(response: aiohttp.ClientResponse, bound: Bound) -> bytes:
    refuse_compressed(response)
    # Nothing else limits the time for the answer after a transfer.
    async with asyncio.timeout(TIMEOUT.total):
        return await read_body(response, bound.size)


async def _reasons(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    """Return the body of an answer with an error code; empty when it is not JSON."""
    text = await _text(response, OWN)
    try:
        return as_object(text, OWN)
    except UnreadableError:
        return {}


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    async for piece in response.content.iter_any():
        yield piece
