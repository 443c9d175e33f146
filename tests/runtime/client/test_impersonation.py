"""runtime.client.impersonation: requests with an impersonated user."""

import ssl
from collections.abc import Mapping

import pytest

from runtime.client.credentials import Route
from runtime.client.impersonation import USER_HEADER, as_service_account
from runtime.types import ObjectKey


class Sender:
    """Credentials that record the calls."""

    server = "https://192.0.2.1:6443"
    route = Route(server_name="api.example.com")
    namespace = "operators"

    def __init__(self) -> None:
        self.refused_at = 0.0

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": "Bearer of-the-sender"}

    def ssl_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def invalidate(self, *, before: float) -> None:
        self.refused_at = before


async def test_the_sender_is_kept_and_the_user_is_added() -> None:
    sender = Sender()
    service_account = as_service_account(sender, ObjectKey("operators", "delegate"))
    assert await service_account.headers() == {
        "Authorization": "Bearer of-the-sender",
        USER_HEADER: "system:serviceaccount:operators:delegate",
    }
    assert (service_account.server, service_account.namespace) == (sender.server, sender.namespace)
    assert service_account.route is sender.route
    service_account.invalidate(before=7.0)
    assert sender.refused_at == 7.0


@pytest.mark.parametrize("account", [ObjectKey("", "delegate"), ObjectKey("operators", "")])
def test_an_incomplete_service_account_is_rejected(account: ObjectKey) -> None:
    with pytest.raises(ValueError, match="not a ServiceAccount"):
        as_service_account(Sender(), account)
