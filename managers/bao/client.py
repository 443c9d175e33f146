"""One cluster's servers over HTTPS: addressed by pod IP, known by the cluster's own TLS name.

No DNS is involved, and no certificate but one of the cluster's own authority is accepted. API:
OpenBao 2.4.0 (sys/health, auth/jwt, sys/storage/raft).
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from contracts.ports import API
from managers.bao.models import Health, Login, Member, RaftAnswer
from runtime.errors import TerminalError, Transient

Answer = TypeVar("Answer", bound=BaseModel)
TIMEOUT = aiohttp.ClientTimeout(total=5.0, connect=2.0)
TOKEN_HEADER = "X-Vault-Token"  # noqa: S105  the name of a header
# Answers of sys/health: active, standby, uninitialised, sealed. Each has a body.
HEALTH_CODES = frozenset({200, 429, 501, 503})


class BaoError(Transient):
    """A server could not be asked, or gave an answer that we do not understand."""


class Denied(TerminalError):  # noqa: N818  named after what happened
    """The server knows us and refuses: a token that ended, a role or a policy that is missing."""


class Bao:
    """A session with the servers of one cluster. Use as an async context manager."""

    def __init__(self, authority: str, server_name: str, port: int = API.number) -> None:
        context = ssl.create_default_context(cadata=authority)
        connector = aiohttp.TCPConnector(ssl=context, limit=8)
        self._server_name = server_name
        self._port = port
        self._session = aiohttp.ClientSession(connector=connector, timeout=TIMEOUT, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def health(self, address: str) -> Health:
        """Ask a server how it is. Raises BaoError when it does not say."""
        code, body = await self._call("GET", address, "sys/health")
        if code not in HEALTH_CODES:
            raise BaoError(f"sys/health of {address} answered {code}")
        return _read(Health, body)

    async def login(self, address: str, mount: str, role: str, token: str) -> Login:
        """Log in with a ServiceAccount token. Raises Denied, BaoError."""
        path = f"auth/{mount}/login"
        code, body = await self._call("POST", address, path, payload={"role": role, "jwt": token})
        return _read(Login, _granted(code, body, path).get("auth") or {})

    async def members(self, address: str, token: str) -> tuple[Member, ...]:
        """List the raft members. Raises Denied, BaoError."""
        path = "sys/storage/raft/configuration"
        code, body = await self._call("GET", address, path, token=token)
        return _read(RaftAnswer, _granted(code, body, path)).members

    async def _call(
        self,
        method: str,
        address: str,
        path: str,
        *,
        token: str = "",
        payload: Mapping[str, Any] | None = None,
    ) -> tuple[int, Mapping[str, Any]]:
        host = f"[{address}]" if ipaddress.ip_address(address).version == 6 else address
        try:
            async with self._session.request(
                method,
                f"https://{host}:{self._port}/v1/{path}",
                headers={TOKEN_HEADER: token} if token else {},
                json=payload,
                server_hostname=self._server_name,
                allow_redirects=False,
            ) as response:
                body = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            # The class says what happened; the text of some of these holds the whole request.
            raise BaoError(f"{path} of {address}: {type(error).__name__}") from error
        return response.status, body if isinstance(body, dict) else {}


def _granted(code: int, body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    if code in (400, 403, 404):
        errors = "; ".join(map(str, body.get("errors") or ()))[:200]
        raise Denied(f"{path} answered {code}: {errors or 'no reason given'}")
    if code != 200:
        raise BaoError(f"{path} answered {code}")
    return body


def _read(model: type[Answer], body: Mapping[str, Any]) -> Answer:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise BaoError(f"an answer is no {model.__name__}: {error.error_count()} errors") from None
