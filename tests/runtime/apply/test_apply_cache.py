"""runtime.apply.apply_cache: which entries are kept, and when they expire."""

import copy
import random
from typing import Any

import pytest

from runtime.apply.apply_cache import LONGEST_LIFE, SHORTEST_LIFE, ApplyCache, fingerprint
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import ApplyResult
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource
from runtime.verdict import Verdict
from tests.gen.api import FakeApi, StillInformer, api_error
from tests.runtime.apply_bench import KEY, OWNER, Bench, intent, owned_object

SLOT = (CONFIG_MAP, KEY)


class Quiet(FakeApi):
    """A server with generations that stores values in another form than they were sent."""

    def admitted(self, obj: Object) -> Object:
        metadata = {**obj["metadata"], "generation": 1}
        return {
            **obj,
            "metadata": metadata,
            "data": {key: value.upper() for key, value in obj["data"].items()},
        }


async def test_t24_status_writes_cost_nothing() -> None:
    bench = Bench(Quiet())
    await bench.ensure()
    bench.api.calls.clear()
    for n in range(5):
        bench.edit(status={"replicas": n})
        assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.api.take_requests() == []


async def test_t24_after_an_hour_an_object_is_compared_and_nothing_is_sent() -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.calls.clear()
    for _ in range(3):
        await bench.clock.advance(LONGEST_LIFE)
        assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.api.take_requests() == []


async def test_t24_after_an_hour_an_incomparable_object_is_sent_once() -> None:
    bench = Bench(Quiet())
    await bench.ensure()
    bench.api.calls.clear()
    for _ in range(2):
        await bench.clock.advance(LONGEST_LIFE)
        for _ in range(3):
            assert (await bench.ensure()).in_place
        assert bench.api.take_requests() == ["apply ConfigMap c"]


async def test_t24_an_unnoticed_change_is_corrected_within_an_hour() -> None:
    """A change of neither generation nor metadata, which no server should permit."""
    bench = Bench(Quiet())
    await bench.ensure(intent(k="V"))
    live = copy.deepcopy(bench.api.objects[SLOT])
    bench.api.with_objects((CONFIG_MAP, {**live, "data": {"k": "TAMPERED"}}))
    bench.sync()
    bench.api.calls.clear()
    assert (await bench.ensure(intent(k="V"))).verdict is Verdict.SKIPPED
    await bench.clock.advance(LONGEST_LIFE)
    assert (await bench.ensure(intent(k="V"))).verdict is Verdict.UPDATED
    assert bench.api.take_requests() == ["apply ConfigMap c"]
    assert bench.api.objects[SLOT]["data"] == {"k": "V"}


async def test_t24_entries_expire_after_half_an_hour_to_an_hour_and_not_together() -> None:
    clock = ManualClock()
    settled = ApplyCache(clock, random.Random(7))
    slots = [(CONFIG_MAP, ObjectKey("ns", f"c-{n}")) for n in range(200)]
    live = owned_object(resourceVersion="1")
    for slot in slots:
        settled.note(slot, live, "hash")
    left = []
    for at in (SHORTEST_LIFE - 1, 1 + (LONGEST_LIFE - SHORTEST_LIFE) / 2, LONGEST_LIFE / 2):
        await clock.advance(at)
        left.append(sum(settled.holds(slot, live, "hash") for slot in slots))
    assert left[0] == 200
    assert 60 < left[1] < 140
    assert left[2] == 0
    assert len(settled) == 0


async def test_an_entry_keeps_the_object_of_the_cache_and_not_the_response() -> None:
    """The response has managedFields, which are most of an object."""
    bench = Bench()
    applied = await bench.ensure()
    cached = bench.caches[CONFIG_MAP].get(KEY)
    assert cached is not None
    assert applied.live is not cached
    assert bench.settled._entries[SLOT].live is cached
    assert bench.settled.holds(SLOT, cached, intent().digest)


async def test_t24_a_change_that_the_watch_reports_before_the_response_is_corrected() -> None:
    class Overtaken(FakeApi):
        async def apply(self, resource: Resource, body: Object, **options: Any) -> ApplyResult:
            result = await super().apply(resource, body, **options)
            if result.created:
                bench.edit(data={"k": "TAMPERED"})
            return result

    bench = Bench(Overtaken())
    assert (await bench.ensure()).verdict is Verdict.CREATED
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    assert bench.api.objects[SLOT]["data"] == {"k": "v"}


async def test_t24_a_deleted_object_has_no_entry() -> None:
    bench = Bench()
    await bench.owned.ensure_all(OWNER, [intent(f"c-{n}") for n in range(5)])
    assert len(bench.settled) == 5
    for where in [where for where in bench.api.objects if where[1] != ObjectKey("ns", "c-0")]:
        del bench.api.objects[where]
    # The remaining one is written once more, so that the list is newer than all of them.
    bench.api.with_objects(*((CONFIG_MAP, obj) for obj in bench.api.of(CONFIG_MAP)))
    bench.sync()
    assert len(bench.settled) == 1


async def test_t24_an_uncached_object_has_no_entry() -> None:
    """A watch by our label never reports the deletion of an object without it."""

    class Strict(FakeApi):
        def admitted(self, obj: Object) -> Object:
            if obj["data"] == {"k": "bad"}:
                raise api_error(422)
            return obj

    bench = Bench(Strict().with_objects((CONFIG_MAP, owned_object())))
    bench.caches[CONFIG_MAP] = StillInformer(CONFIG_MAP, "our=label")
    bench.restart()
    bench.caches[CONFIG_MAP].says()
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    assert (await bench.ensure(intent(k="bad"))).verdict is Verdict.REJECTED
    assert len(bench.settled) == 0


# name: (a change of the object, whether the fingerprint changes)
PRINTS: dict[str, tuple[Object, Object, bool]] = {
    "not a status of a kind with generations": (
        {"generation": 1, "resourceVersion": "1"}, {"generation": 1, "resourceVersion": "2"}, False,
    ),
    "a generation": ({"generation": 1}, {"generation": 2}, True),
    "a label": ({"generation": 1}, {"generation": 1, "labels": {"a": "b"}}, True),
    "an annotation": ({"generation": 1}, {"generation": 1, "annotations": {"a": "b"}}, True),
    "an owner": ({"generation": 1}, {"generation": 1, "ownerReferences": [{"uid": "1"}]}, True),
    "a deletion": ({"generation": 1}, {"generation": 1, "deletionTimestamp": "t"}, True),
    "a finalizer": ({"generation": 1}, {"generation": 1, "finalizers": ["a/b"]}, True),
    "another uid": ({"generation": 1, "uid": "1"}, {"generation": 1, "uid": "2"}, True),
    "any version of a kind without generations": (
        {"resourceVersion": "1"}, {"resourceVersion": "2"}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "news"), PRINTS.values(), ids=PRINTS.keys())
def test_fingerprint(before: Object, after: Object, news: bool) -> None:
    assert (fingerprint({"metadata": before}) != fingerprint({"metadata": after})) is news
