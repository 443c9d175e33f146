"""managers.context.reads.secrets.

How often a Secret is read, and how much of it.
"""

from typing import Any

import pytest

from managers.context.reads.secrets import ENTRIES_PER_READER, SecretStore
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SECRET
from runtime.errors import Forbidden
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests.gen.api import Call, FakeApi, api_error

KEY = ObjectKey("ns", "s")


def secret(value: str = "one", **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "ns", **metadata},
        "data": {"value": value},
    }


def project(live: Object) -> str:
    """The value, or "?" where only metadata was read."""
    return str((live.get("data") or {}).get("value", "?"))


class Bench:
    def __init__(self, *objects: Object, api: FakeApi | None = None) -> None:
        self.api = (api or FakeApi()).with_objects(*((SECRET, obj) for obj in objects))
        self.clock = ManualClock()
        self.store: SecretStore[str] = SecretStore(self.api, self.clock, project)

    async def ask(
        self, *, reader: str = "u", content: bool = True, key: ObjectKey = KEY
    ) -> str | None:
        owner = Owner("v1", "A", "ns", "a", reader)
        return await self.store.facts(key, reader=owner, max_age=15, content=content)

    def change(self, value: str) -> None:
        self.api.with_objects((SECRET, secret(value)))


async def test_after_max_age_the_version_is_read_and_a_new_one_in_full() -> None:
    bench = Bench(secret())
    assert await bench.ask() == "one"
    assert bench.api.take_requests() == ["get Secret s"]
    await bench.clock.advance(15)
    assert await bench.ask() == "one"
    assert bench.api.take_requests() == ["peek Secret s"]
    # The read counts: until its age is exceeded, no request is sent.
    bench.change("two")
    await bench.clock.advance(14.9)
    assert await bench.ask() == "one"
    assert bench.api.take_requests() == []
    await bench.clock.advance(0.1)
    assert await bench.ask() == "two"
    assert bench.api.take_requests() == ["peek Secret s", "get Secret s"]


async def test_without_content_no_value_is_transferred() -> None:
    bench = Bench(secret())
    assert await bench.ask(content=False) == "?"
    bench.change("two")
    await bench.clock.advance(15)
    assert await bench.ask(content=False) == "?"
    assert bench.api.take_requests() == ["peek Secret s", "peek Secret s"]


async def test_absence_is_cached_as_long() -> None:
    bench = Bench()
    assert await bench.ask() is None
    assert await bench.ask() is None
    assert bench.api.take_requests() == ["get Secret s"]
    bench.change("late")
    await bench.clock.advance(15)
    assert await bench.ask() == "late"
    assert bench.api.take_requests() == ["get Secret s"]


async def test_a_deleted_secret_is_detected() -> None:
    bench = Bench(secret())
    await bench.ask()
    bench.api.objects.clear()
    await bench.clock.advance(15)
    assert await bench.ask() is None


async def test_our_own_write_is_known_at_once() -> None:
    bench = Bench()
    await bench.ask()
    owner = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": True}
    owned = {"ownerReferences": [owner], "resourceVersion": "7"}
    assert bench.store.store(secret("ours", **owned)) == "ours"
    bench.api.calls.clear()
    assert await bench.ask() == "ours"
    assert bench.api.take_requests() == []


async def test_a_dropped_secret_is_read_again() -> None:
    bench = Bench(secret())
    await bench.ask()
    bench.store.drop(KEY)
    bench.store.drop(KEY)
    bench.api.calls.clear()
    assert await bench.ask() == "one"
    assert bench.api.take_requests() == ["get Secret s"]


async def test_a_deleted_cluster_leaves_nothing() -> None:
    """Its user chose the names of some of its Secrets."""
    bench = Bench(secret())
    await bench.ask()
    await bench.ask(key=ObjectKey("ns", "of a user"))
    bench.store.forget(ObjectKey("ns", "other"))
    bench.store.forget(ObjectKey("other", "a"))
    assert len(bench.store) == 2
    bench.store.forget(ObjectKey("ns", "a"))
    assert len(bench.store) == 0


async def test_a_secret_that_another_cluster_reads_now_stays() -> None:
    bench = Bench(secret())
    await bench.ask()
    other = Owner("v1", "A", "ns", "b", "v")
    assert await bench.store.facts(KEY, reader=other, max_age=15, content=True) == "one"
    bench.store.forget(ObjectKey("ns", "a"))
    assert len(bench.store) == 1
    bench.store.forget(other.key)
    assert len(bench.store) == 0


async def test_attack_t10_a_spec_that_names_ever_more_secrets_fills_no_memory() -> None:
    bench = Bench(secret())
    for number in range(2 * ENTRIES_PER_READER):
        await bench.ask(key=ObjectKey("ns", str(number)))
        await bench.clock.advance(1)
        # In use, so it is never among those that are dropped.
        assert await bench.ask() == "one"
    assert len(bench.store) == ENTRIES_PER_READER


async def test_a_new_cluster_of_the_name_reads_again() -> None:
    bench = Bench()
    assert await bench.ask(reader="before") is None
    bench.change("new")
    assert await bench.ask(reader="after") == "new"


async def test_a_refusal_is_raised_and_not_cached() -> None:
    bench = Bench(secret())
    bench.api.refuse("get Secret s", api_error(403))
    with pytest.raises(Forbidden):
        await bench.ask()
    assert await bench.ask() == "one"


class RacingApi(FakeApi):
    """An API server on which another client writes the Secret after each read."""

    async def answering(self, call: Call) -> None:
        self.with_objects((SECRET, secret(f"after {len(self.calls)} looks")))


async def test_a_secret_that_changes_between_two_reads_is_the_newer_one() -> None:
    bench = Bench(secret(), api=RacingApi())
    assert await bench.ask() == "one"
    await bench.clock.advance(15)
    assert await bench.ask() == "after 2 looks"
    assert bench.api.take_requests() == ["get Secret s", "peek Secret s", "get Secret s"]


def test_only_the_projection_is_cached() -> None:
    bench = Bench()
    bench.store.store(secret("a-key", resourceVersion="1"))
    shown = repr(bench.store._entries)
    assert "'a-key'" in shown
    assert "'data'" not in shown
