"""Login of the operator at the servers.

The operator logs in with a token of its own ServiceAccount that is valid for this cluster only.
`Logins` caches one login per cluster, for all reconcilers of the process. Only
managers.cluster.adminops reads the root token of a first boot without self-init, to set up that
login.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import names
from managers.bao.client import OPERATOR_MOUNT, Bao, BaoError, Denied
from managers.bao.models import LoginToken
from managers.context.installation import Installation
from managers.context.service_account_token import AccountTokens
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SECRET
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, NotFound, Transient
from runtime.types import Object, ObjectKey, resource_version_of, uid_of

Answer = TypeVar("Answer")
OPERATOR_ROLE = "openbao-operator"
# The operator uses a token for at most this long; its role grants an hour.
TOKEN_SECONDS = 600.0
TOKEN_CHARACTERS_MAX = 4096
_TOKEN = "token"  # noqa: S105  the name of an entry
_TOKEN_TEXT = re.compile("[!-~]+")


class NoToken(Denied):
    """The API server issues no token to the operator: RBAC is missing."""


class TokenSource(Protocol):
    """Source of tokens for the servers."""

    async def token(self, bao: Bao, address: str) -> str:
        """Return a token for the servers; raises Denied (also NoToken), BaoError."""
        ...

    def forget(self) -> bool:
        """Drop a token that a server refused; return whether another token may be available."""
        ...


@dataclass(slots=True)
class ServiceAccountLogin:
    """Logs in with a token of the operator's own ServiceAccount, and caches the OpenBao token."""

    tokens: AccountTokens
    clock: Clock
    shared_tokens: AccountTokens | None = None
    """For the audience of the installation; None: the operator sends no such token."""
    is_shared: bool = False
    """The servers accepted the audience of the installation, and not that of their cluster."""
    _token: str = field(default="", repr=False)
    _until: float = 0.0
    _ends: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def token(self, bao: Bao, address: str) -> str:
        # Reconcilers that need a token at the same time share one login.
        async with self._lock:
            now = self.clock.monotonic()
            if self._token and now < self._until:
                return self._token
            try:
                login = await self._login(bao, address)
            except (Denied, BaoError):
                if self._token and now < self._ends:
                    # The API server is down, or signs with keys that OpenBao does not trust yet.
                    # With the last valid token, managers.jwt_auth can still write the new keys.
                    return self._token
                raise
            self._token = login.client_token
            self._until = now + min(TOKEN_SECONDS, login.lease_duration / 2)
            self._ends = now + login.lease_duration
            return self._token

    async def _login(self, bao: Bao, address: str) -> LoginToken:
        try:
            answer = await _login_with(self.tokens, bao, address)
        except NoToken:
            raise
        except Denied as refusal:
            if self.shared_tokens is None:
                raise
            try:
                answer = await _login_with(self.shared_tokens, bao, address)
            except Denied:
                # The first refusal names the audience that the roles should have.
                raise refusal from None
            self.is_shared = True
            return answer
        self.is_shared = False
        return answer

    def forget(self) -> bool:
        """Drop a token that a server refused; a new login may return another one."""
        self._until = self._ends = 0.0
        return True


async def _login_with(tokens: AccountTokens, bao: Bao, address: str) -> LoginToken:
    try:
        own = await tokens.get()
    except Transient as error:
        raise BaoError(f"the API server issued no token to the operator: {error}") from error
    except ApiError as error:
        raise NoToken(_no_token(tokens, error)) from error
    try:
        return await bao.login(address, OPERATOR_MOUNT, OPERATOR_ROLE, own.reveal())
    except Denied:
        tokens.invalidate()
        raise


def _no_token(tokens: AccountTokens, error: ApiError) -> str:
    return (
        f"the API server issues no token of ServiceAccount {tokens.account} to the operator for "
        f"audience {tokens.audience}: {error}"
    )


@dataclass(frozen=True, slots=True)
class StoredToken:
    """The root token of the first boot, from its Secret."""

    value: str = field(repr=False)

    async def token(self, bao: Bao, address: str) -> str:
        return self.value

    def forget(self) -> bool:
        """Return False: there is only one token."""
        return False


@dataclass(frozen=True, slots=True)
class UnusableToken:
    """The Secret of the root token contains no valid token. Each use raises Denied."""

    problem: str

    async def token(self, bao: Bao, address: str) -> str:
        raise Denied(self.problem)

    def forget(self) -> bool:
        """Return False: there is no other token."""
        return False


def root_token_key(owner: Owner) -> ObjectKey:
    """Return the key of the Secret with the root token of the first boot."""
    return ObjectKey(owner.namespace, names.root_token_secret(owner.name))


def _version(secret: Object) -> str:
    return f"{uid_of(secret)}/{resource_version_of(secret)}"


def stored_token(key: ObjectKey, encoded: str) -> TokenSource:
    """Read the root token from its Secret; `encoded` is base64."""
    try:
        text = base64.b64decode(encoded).decode("ascii")
    except ValueError:
        text = ""
    # The token is sent as a header.
    if not _TOKEN_TEXT.fullmatch(text) or len(text) > TOKEN_CHARACTERS_MAX:
        return UnusableToken(
            f"Secret {key}, key {_TOKEN}: it must be 1 to {TOKEN_CHARACTERS_MAX} printable ASCII "
            "characters without spaces and line ends: put the token there again"
        )
    return StoredToken(text)


async def request_with_token(
    bao: Bao,
    address: str,
    login: TokenSource,
    request: Callable[[str, str], Awaitable[Answer]],
) -> Answer:
    """Send a request with a token, and retry with a new token if the server denies the request.

    A restore of the storage or an administrator may revoke a token early. Raises Denied when there
    is no other token or the server denies that one too, and BaoError.
    """
    try:
        return await request(address, await login.token(bao, address))
    except Denied:
        if not login.forget():
            raise
        return await request(address, await login.token(bao, address))


@dataclass(slots=True)
class Logins:
    """One login per cluster, shared by the reconcilers of a process.

    A new cluster with the name of a former one gets its own login.
    """

    client: Client
    clock: Clock
    installation: Installation
    _cache: dict[ObjectKey, tuple[str, ServiceAccountLogin]] = field(default_factory=dict)

    def session(self, authority: str, server_name: str) -> Bao:
        """Open a session with the servers of one cluster, with the write guard of the API client.

        A process that may not write to the API server cannot write to a server either.
        """
        return Bao(authority, server_name, guard=self.client.guard)

    def of(self, owner: Owner) -> ServiceAccountLogin:
        """Return the operator's own login at a cluster, even if OpenBao has no role for it."""
        uid, login = self._cache.get(owner.key, ("", None))
        if login is None or uid != owner.uid:
            installation = self.installation
            audience = installation.audience_of(owner.key)
            tokens = AccountTokens(self.client, self.clock, installation.account, audience)
            shared = None
            if installation.shared_audience:
                shared = AccountTokens(
                    self.client, self.clock, installation.account, installation.audience
                )
            login = ServiceAccountLogin(tokens, self.clock, shared)
            self._cache[owner.key] = (owner.uid, login)
        return login

    def for_cluster(self, cluster: OpenBaoCluster, owner: Owner) -> ServiceAccountLogin | None:
        """Return the login for a cluster; None when the operator has none there."""
        return self.of(owner) if cluster.has_operator_login else None

    async def root_token_version(self, owner: Owner) -> str:
        """Return UID and resource version of the Secret with the root token; "" without one.

        The token itself is not read. Raises the errors of the API server, except NotFound.
        """
        try:
            live = await self.client.get(SECRET, root_token_key(owner), metadata_only=True)
        except NotFound:
            return ""
        return _version(live)

    async def root_token(self, owner: Owner) -> tuple[str, TokenSource] | None:
        """Read the root token, and the version of its Secret; None without a Secret.

        Raises the errors of the API server, except NotFound.
        """
        key = root_token_key(owner)
        try:
            live = await self.client.get(SECRET, key)
        except NotFound:
            return None
        return _version(live), stored_token(key, (live.get("data") or {}).get(_TOKEN, ""))

    def forget(self, key: ObjectKey) -> None:
        """Drop the login of a deleted cluster."""
        self._cache.pop(key, None)

    def __len__(self) -> int:
        return len(self._cache)
