"""Impersonation of another user, if the API server permits it.

Wraps the credentials of runtime.client.credentials. Use it in a separate
runtime.client.client.Client, so that no other request is impersonated by accident.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.client.credentials import Credentials, Route
from runtime.types import ObjectKey

USER_HEADER = "Impersonate-User"


@dataclass(frozen=True, slots=True)
class Impersonating:
    """Credentials with an impersonated user in addition to the sender.

    The API server accepts them if the sender has the verb impersonate on that user, and then checks
    only the rights of the user. A ServiceAccount gets its own groups by default (apiserver,
    filters/impersonation).
    """

    credentials: Credentials
    user: str

    @property
    def server(self) -> str:
        """The base URL without a trailing slash."""
        return self.credentials.server

    @property
    def namespace(self) -> str:
        """The namespace of the sender."""
        return self.credentials.namespace

    @property
    def route(self) -> Route:
        """How connections of the sender reach the server."""
        return self.credentials.route

    async def headers(self) -> Mapping[str, str]:
        """The headers of the sender, and the impersonated user."""
        return {**await self.credentials.headers(), USER_HEADER: self.user}

    def ssl_context(self) -> ssl.SSLContext:
        """CA and client certificate of the sender."""
        return self.credentials.ssl_context()

    def invalidate(self, *, before: float) -> None:
        """Read the credentials of the sender again."""
        self.credentials.invalidate(before=before)


def as_service_account(credentials: Credentials, account: ObjectKey) -> Impersonating:
    """Act as a ServiceAccount. Raises ValueError for one without a name or a namespace."""
    if not account.namespace or not account.name:
        raise ValueError(f"not a ServiceAccount: {account}")
    user = f"system:serviceaccount:{account.namespace}:{account.name}"
    return Impersonating(credentials, user)
