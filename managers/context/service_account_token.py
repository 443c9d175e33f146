"""Requests tokens of the operator's own ServiceAccount, each valid only for one cluster.

Uses TokenRequest (authentication.k8s.io/v1), a POST that stores no object. Called by
managers.bao.login and baoctl.commands.login.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from managers.context.context import FIELD_MANAGER
from managers.context.sensitive import SensitiveString
from runtime.builtin_kinds import SERVICE_ACCOUNT
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, Transient
from runtime.types import ObjectKey

LIFETIME_SECONDS = 600
"""The shortest lifetime that the API server grants."""
RENEW_AFTER = 0.8 * LIFETIME_SECONDS
# A refusal is cached for this time: some callers request a token several times in a reconcile.
REFUSED_SECONDS = 30.0
# A server may refuse a token because the API server now signs with a new key. Only a token of at
# least this age is replaced, so that a refused login does not cause a request at every attempt.
REPLACE_AFTER = 60.0


@dataclass(slots=True)
class AccountTokens:
    """The tokens of one ServiceAccount for one audience, requested on demand."""

    client: Client
    clock: Clock
    account: ObjectKey
    audience: str
    _token: SensitiveString | None = None
    _issued_at: float = 0.0
    _refusal: ApiError | None = None
    _refused_at: float = 0.0

    async def get(self) -> SensitiveString:
        """Return a token with at least a fifth of its lifetime left.

        Raises ApiError if the API server refuses the request; the refusal is cached. Raises
        Transient if it does not respond.
        """
        now = self.clock.monotonic()
        if self._token is not None and now - self._issued_at < RENEW_AFTER:
            return self._token
        if self._refusal is not None and now - self._refused_at < REFUSED_SECONDS:
            raise self._refusal
        self._refusal = None
        try:
            self._token = await self._request()
        except Transient:
            raise
        except ApiError as error:
            self._refusal, self._refused_at = error, now
            raise
        self._issued_at = now
        return self._token

    def invalidate(self) -> None:
        """Record that a server refused the token; drop it unless it is new."""
        if self.clock.monotonic() - self._issued_at >= REPLACE_AFTER:
            self._token = None

    async def _request(self) -> SensitiveString:
        body: dict[str, Any] = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": self.account.name, "namespace": self.account.namespace},
            "spec": {"audiences": [self.audience], "expirationSeconds": LIFETIME_SECONDS},
        }
        answer = await self.client.create(
            SERVICE_ACCOUNT, body, field_manager=FIELD_MANAGER, subresource="token"
        )
        return SensitiveString(str(answer["status"]["token"]))
