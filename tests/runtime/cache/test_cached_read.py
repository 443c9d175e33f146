"""runtime.cache.cached_read: a response is used for the time of its policy."""

import pytest

from runtime.builtin_kinds import PVC, SERVICE_ACCOUNT
from runtime.cache.cached_read import CachedAnswer, CachePolicy, TtlCache, objects_by_name
from runtime.errors import Forbidden, ServerError
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi, api_error

NAMED = CachePolicy(15.0)
SHARED = CachePolicy(9.0, negative_ttl=9.0, refusals=(Forbidden,))
STALE = CachePolicy(9.0, stale_if_error=True)
CLAIM = (PVC, ObjectKey("ns", "shared"))
LIVE: Object = {"metadata": {"namespace": "ns", "name": "shared"}, "spec": {}}
ASKED = ["get PersistentVolumeClaim shared"]


def account(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"namespace": "ns", "name": name},
        "secrets": [{"name": "old"}],
    }


@pytest.mark.parametrize("policy", [NAMED, SHARED, STALE])
async def test_an_object_is_read_once_per_period(policy: CachePolicy) -> None:
    api, clock = FakeApi().with_objects((PVC, LIVE)), ManualClock()
    reads = objects_by_name(api, clock, policy)
    for _ in range(3):
        assert await reads.value(CLAIM) is not None
    assert api.take_requests() == ASKED
    await clock.advance(policy.ttl)
    assert await reads.value(CLAIM) is not None
    assert api.take_requests() == ASKED


@pytest.mark.parametrize(("policy", "times"), [(NAMED, 3), (SHARED, 1)])
async def test_an_absent_object(policy: CachePolicy, times: int) -> None:
    api, clock = FakeApi(), ManualClock()
    reads = objects_by_name(api, clock, policy)
    for _ in range(3):
        assert await reads.get(CLAIM) == CachedAnswer(None)
    assert api.take_requests() == ASKED * times
    api.with_objects((PVC, LIVE))
    await clock.advance(policy.negative_ttl)
    assert await reads.value(CLAIM) is not None


async def test_an_object_that_vanished_is_not_kept() -> None:
    api, clock = FakeApi().with_objects((PVC, LIVE)), ManualClock()
    reads = objects_by_name(api, clock, NAMED)
    assert await reads.value(CLAIM) is not None
    api.refuse(ASKED[0], api_error(404))
    await clock.advance(NAMED.ttl)
    assert await reads.value(CLAIM) is None


async def test_an_error_is_cached_if_the_policy_lists_it() -> None:
    api = FakeApi()
    reads = objects_by_name(api, ManualClock(), SHARED)
    api.refuse(ASKED[0], api_error(403))
    for _ in range(3):
        assert await reads.get(CLAIM) == CachedAnswer(None, readable=False)
    assert api.take_requests() == ASKED


async def test_an_error_is_raised_if_the_policy_does_not_list_it() -> None:
    api = FakeApi()
    reads = objects_by_name(api, ManualClock(), NAMED)
    api.refuse(ASKED[0], api_error(403))
    with pytest.raises(Forbidden):
        await reads.get(CLAIM)


@pytest.mark.parametrize("policy", [NAMED, SHARED, STALE])
async def test_a_failure_is_raised_and_not_kept(policy: CachePolicy) -> None:
    api = FakeApi().with_objects((PVC, LIVE))
    reads = objects_by_name(api, ManualClock(), policy)
    api.refuse(ASKED[0], api_error(500))
    with pytest.raises(ServerError):
        await reads.get(CLAIM)
    assert await reads.value(CLAIM) is not None


@pytest.mark.parametrize(("policy", "served"), [(STALE, True), (SHARED, False)])
async def test_a_failure_after_a_response(policy: CachePolicy, served: bool) -> None:
    api, clock = FakeApi().with_objects((PVC, LIVE)), ManualClock()
    reads = objects_by_name(api, clock, policy)
    await reads.get(CLAIM)
    await clock.advance(9.0)
    api.refuse(ASKED[0], api_error(500))
    if not served:
        with pytest.raises(ServerError):
            await reads.get(CLAIM)
        return
    assert len(api.take_requests()) == 1
    for _ in range(2):
        assert await reads.value(CLAIM) is not None
    # The old response has a new period: a failing server does not get a request per call.
    assert api.take_requests() == ASKED


async def test_a_dropped_response_is_read_again() -> None:
    api = FakeApi().with_objects((PVC, LIVE))
    reads = objects_by_name(api, ManualClock(), NAMED)
    await reads.get(CLAIM)
    reads.drop(CLAIM)
    await reads.get(CLAIM)
    assert api.take_requests() == ASKED * 2


async def test_only_metadata_is_requested() -> None:
    api = FakeApi().with_objects((SERVICE_ACCOUNT, account("a")))
    reads = objects_by_name(api, ManualClock(), NAMED, metadata_only=True)
    value = await reads.value((SERVICE_ACCOUNT, ObjectKey("ns", "a")))
    assert value is not None
    assert "secrets" not in value


async def test_unused_names_expire() -> None:
    api, clock = FakeApi(), ManualClock()
    reads = objects_by_name(api, clock, NAMED)
    for number in range(50):
        api.with_objects((SERVICE_ACCOUNT, account(f"a{number}")))
        await reads.get((SERVICE_ACCOUNT, ObjectKey("ns", f"a{number}")))
        await clock.advance(10)
    assert len(reads) <= 2


async def test_of_too_many_the_oldest_is_dropped() -> None:
    api = FakeApi()
    reads = objects_by_name(api, ManualClock(), CachePolicy(9.0, negative_ttl=9.0, size=2))
    for name in ("a", "b", "c", "c", "b", "a"):
        await reads.get((PVC, ObjectKey("ns", name)))
    assert api.take_requests() == [
        f"get PersistentVolumeClaim {name}" for name in ("a", "b", "c", "a")
    ]


async def test_a_value_has_its_own_expiry() -> None:
    clock = ManualClock()
    cache: TtlCache[str, int] = TtlCache(clock)
    cache.put("long", 1, clock.monotonic() + 60)
    cache.put("short", 2, clock.monotonic() + 5)
    assert (cache.get("long"), cache.get("short")) == (1, 2)
    await clock.advance(5)
    assert (cache.get("long"), cache.get("short"), cache.last("short")) == (1, None, 2)
    cache.put("over", 3, clock.monotonic())
    assert cache.get("over") is None
