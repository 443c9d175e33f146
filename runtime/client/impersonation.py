"""Impersonation of another user, where the API server permits it to this identity.

Wraps the credentials of runtime.client.credentials; handed to a runtime.client.client.Client of its
own, so that no other request is impersonated by accident.
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

    The API server accepts them if `credentials` hold the verb impersonate on that user, and then
    checks the rights of the user, and never those of the sender. A ServiceAccount is in its own
    groups by default (apiserver, filters/impersonation).
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
        """The headers of the sender, and the user that is meant."""
        return {**await self.credentials.headers(), USER_HEADER: self.user}

    def ssl_context(self) -> ssl.SSLContext:
        """Trust and client certificate of the sender."""
        return self.credentials.ssl_context()

    def invalidate(self, *, before: float) -> None:
        """The server refused the sender."""
        self.credentials.invalidate(before=before)


def as_service_account(credentials: Credentials, account: ObjectKey) -> Impersonating:
    """Act as a ServiceAccount. Raises ValueError for one without a name or a namespace."""
    if not account.namespace or not account.name:
        raise ValueError(f"not a ServiceAccount: {account}")
    user = f"system:serviceaccount:{account.namespace}:{account.name}"
    return Impersonating(credentials, user)
