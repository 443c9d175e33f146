"""managers.context.reads.negative_ttl_getter: one question in a while, whatever the answer."""

import pytest

from managers.context.reads.negative_ttl_getter import CachedObject, NegativeTtlGetter
from runtime.builtin_kinds import CONFIG_MAP
from runtime.errors import ServerError
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi, api_error

KEY = ObjectKey("ns", "public")
LIVE: Object = {"metadata": {"namespace": "ns", "name": "public"}}


async def test_it_is_asked_for_once_in_a_while() -> None:
    api, clock = FakeApi().holding((CONFIG_MAP, LIVE)), ManualClock()
    seen = NegativeTtlGetter(api, clock, 9.0)
    for _ in range(3):
        assert (await seen.get(CONFIG_MAP, KEY)).live is not None
    assert len(api.asked) == 1
    await clock.advance(10)
    await seen.get(CONFIG_MAP, KEY)
    assert len(api.asked) == 1


async def test_that_there_is_none_is_remembered_too() -> None:
    api, clock = FakeApi(), ManualClock()
    seen = NegativeTtlGetter(api, clock, 9.0)
    for _ in range(3):
        assert await seen.get(CONFIG_MAP, KEY) == CachedObject(None)
    assert len(api.asked) == 1
    api.holding((CONFIG_MAP, LIVE))
    await clock.advance(10)
    assert (await seen.get(CONFIG_MAP, KEY)).live is not None


async def test_a_refusal_is_an_answer() -> None:
    api = FakeApi()
    seen = NegativeTtlGetter(api, ManualClock(), 9.0)
    api.refuse("get ConfigMap public", api_error(403))
    for _ in range(3):
        assert await seen.get(CONFIG_MAP, KEY) == CachedObject(None, readable=False)
    assert len(api.asked) == 1


async def test_a_failure_is_raised_and_not_remembered() -> None:
    api = FakeApi().holding((CONFIG_MAP, LIVE))
    seen = NegativeTtlGetter(api, ManualClock(), 9.0)
    api.refuse("get ConfigMap public", api_error(500))
    with pytest.raises(ServerError):
        await seen.get(CONFIG_MAP, KEY)
    assert (await seen.get(CONFIG_MAP, KEY)).live is not None


async def test_what_was_not_asked_for_the_longest_is_forgotten() -> None:
    api = FakeApi()
    seen = NegativeTtlGetter(api, ManualClock(), 9.0, kept=2)
    for name in ("a", "b", "c", "c", "b", "a"):
        await seen.get(CONFIG_MAP, ObjectKey("ns", name))
    assert api.asked == [f"get ConfigMap {name}" for name in ("a", "b", "c", "a")]
