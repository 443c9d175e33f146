"""managers.context.reads.pvcs: a claim is asked for at most once in a while."""

from managers.context.reads.pvcs import NamedPvcs
from runtime.builtin_kinds import PVC
from runtime.testing.clock import ManualClock
from runtime.types import ObjectKey
from tests.gen.api import FakeApi

KEY = ObjectKey("ns", "shared")
CLAIM = {"metadata": {"namespace": "ns", "name": "shared"}, "spec": {}}


async def test_it_is_read_once_in_a_while() -> None:
    api, clock = FakeApi().holding((PVC, CLAIM)), ManualClock()
    claims = NamedPvcs(api, clock, 15.0)
    for _ in range(3):
        assert await claims.get(KEY) is not None
    assert len(api.asked) == 1
    await clock.advance(16)
    assert await claims.get(KEY) is not None
    assert len(api.asked) == 1


async def test_what_is_not_there_is_asked_for_each_time() -> None:
    api = FakeApi()
    claims = NamedPvcs(api, ManualClock(), 15.0)
    assert await claims.get(KEY) is None
    api.holding((PVC, CLAIM))
    assert await claims.get(KEY) is not None


async def test_what_is_forgotten_is_asked_for_again() -> None:
    api = FakeApi().holding((PVC, CLAIM))
    claims = NamedPvcs(api, ManualClock(), 15.0)
    await claims.get(KEY)
    claims.forget("ns", "shared")
    await claims.get(KEY)
    assert len(api.asked) == 2
