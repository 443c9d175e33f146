"""managers.context.reads.ttl_getter: what users name is read by name, and forgotten in time."""

from managers.context.reads.ttl_getter import TtlGetter
from runtime.builtin_kinds import SERVICE_ACCOUNT
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi


def account(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"namespace": "ns", "name": name},
        "secrets": [{"name": "old"}],
    }


async def test_only_metadata_crosses_the_wire_when_that_is_enough() -> None:
    api = FakeApi().holding((SERVICE_ACCOUNT, account("a")))
    named = TtlGetter(api, ManualClock(), SERVICE_ACCOUNT, 15.0, metadata_only=True)
    found = await named.get(ObjectKey("ns", "a"))
    assert found is not None
    assert "secrets" not in found


async def test_names_that_nobody_asks_for_any_more_are_not_kept() -> None:
    api, clock = FakeApi(), ManualClock()
    named = TtlGetter(api, clock, SERVICE_ACCOUNT, 15.0)
    for number in range(50):
        api.holding((SERVICE_ACCOUNT, account(f"a{number}")))
        await named.get(ObjectKey("ns", f"a{number}"))
        await clock.advance(10)
    assert len(named._kept) <= 2
