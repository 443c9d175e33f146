"""managers.tenancy.service_accounts: a provisioner starts when both ServiceAccounts exist."""

import asyncio

import pytest

from managers.tenancy.service_accounts import RETRY_SECONDS, AccountMissingError, Accounts
from runtime.builtin_kinds import SERVICE_ACCOUNT
from runtime.errors import TransportError
from runtime.testing.clock import ManualClock
from runtime.types import Object
from tests.gen.api import FakeApi

WANTED = {"the controller": "operator", "the delegate": "writer"}


def account(name: str) -> Object:
    metadata = {"name": name, "namespace": "operators", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def holding(*names: str) -> FakeApi:
    return FakeApi().with_objects(*((SERVICE_ACCOUNT, account(name)) for name in names))


async def test_both_accounts_exist() -> None:
    api = holding("operator", "writer")
    accounts = Accounts(api, ManualClock(), "operators", WANTED)
    running = asyncio.create_task(accounts.run())
    await accounts.ready()
    assert api.take_requests() == ["peek ServiceAccount operator", "peek ServiceAccount writer"]
    assert not running.done()
    running.cancel()


@pytest.mark.parametrize(
    ("there", "missing", "role"),
    [("operator", "writer", "the delegate"), ("writer", "operator", "the controller")],
)
async def test_a_missing_account_is_named(there: str, missing: str, role: str) -> None:
    accounts = Accounts(holding(there), ManualClock(), "operators", WANTED)
    text = f"ServiceAccount operators/{missing} does not exist: it is required as {role}"
    with pytest.raises(AccountMissingError, match=text):
        await accounts.run()


async def test_an_unavailable_api_server_is_retried() -> None:
    api, clock = holding("operator", "writer"), ManualClock()
    api.refuse("peek ServiceAccount operator", TransportError("away"))
    accounts = Accounts(api, clock, "operators", WANTED)
    running = asyncio.create_task(accounts.run())
    await clock.advance(RETRY_SECONDS / 2)
    assert api.take_requests() == ["peek ServiceAccount operator"]
    await clock.advance(RETRY_SECONDS)
    await accounts.ready()
    running.cancel()
