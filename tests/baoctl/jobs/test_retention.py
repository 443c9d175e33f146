"""The snapshots that retention removes, as a table and in a store in memory.

tests/integration/test_backup_job.py has a real store.
"""

import asyncio
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.retention import (
    FAILURES_MAX,
    TIMEOUT_SECONDS,
    RetentionResult,
    pair_keys,
    retain,
    retained_message,
    select_outdated,
)
from baoctl.jobs.store.store import LISTED_MAX, JobStore
from contracts.jobs.env import RetentionEnv, StoreEnv
from contracts.jobs.snapshot_manifest import MANIFEST_MAX
from contracts.naming.snapshot_keys import BackupKey, manifest_key
from runtime.testing.clock import ManualClock
from tests.gen.snapshots import manifest_for

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = 86_400


def snapshots_of_ages(*days: float) -> list[BackupKey]:
    """Snapshots of these ages."""
    return [
        BackupKey("p", "n", "c", NOW - timedelta(days=age), f"{number:08x}")
        for number, age in enumerate(days)
    ]


def going(keys: list[BackupKey], rules: RetentionEnv) -> list[int]:
    return [keys.index(key) for key in select_outdated(keys, rules, NOW)]


def test_the_oldest_beyond_the_count_are_removed() -> None:
    assert going(snapshots_of_ages(4, 0, 2, 1, 3), RetentionEnv(2)) == [0, 4, 2]


def test_the_maximum_age_applies_alone_and_with_the_count() -> None:
    keys = snapshots_of_ages(0, 1, 2, 3)
    assert going(keys, RetentionEnv(max_age_seconds=2 * DAY)) == [3]
    assert going(keys, RetentionEnv(2, 2 * DAY)) == [3, 2]
    assert going(keys, RetentionEnv(4, 2 * DAY)) == [3]


def test_without_rules_nothing_is_removed() -> None:
    assert going(snapshots_of_ages(0, 1000), RetentionEnv()) == []


def test_a_protected_snapshot_is_kept_and_counted() -> None:
    keys = snapshots_of_ages(0, 1, 2, 3)
    rules = RetentionEnv(2, protected=(keys[3].text, "not/of/this/store.snap"))
    assert going(keys, rules) == [2]


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 400), max_size=20, unique=True),
    st.integers(0, 5),
    st.integers(0, 100 * DAY),
)
def test_the_newest_snapshot_is_never_removed(ages: list[float], count: int, age: int) -> None:
    keys = snapshots_of_ages(*ages)
    gone = select_outdated(keys, RetentionEnv(count, age), NOW)
    assert not keys or max(keys, key=lambda key: (key.at, key.id8)) not in gone
    if count:
        assert len(keys) - len(gone) <= max(count, 1)


def test_only_complete_snapshots_of_the_cluster_are_listed() -> None:
    whole, bare, alone = snapshots_of_ages(0, 1, 2)
    others = [
        BackupKey("p", "n", "cd", NOW, "00000000"),
        BackupKey("q", "n", "c", NOW, "00000000"),
        BackupKey("p/p", "n", "c", NOW, "00000000"),
        BackupKey("p", "n", "c", NOW, "00000000", "pre-upgrade"),
    ]
    names = [whole.text, whole.manifest, bare.text, alone.manifest, "p/n/c/notes.json"]
    for other in others:
        names += [other.text, manifest_key(other.text)]
    assert pair_keys(names, whole) == ([whole], [alone])


def test_snapshots_that_retention_never_removes_are_reported() -> None:
    assert retained_message(0) == ""
    assert retained_message(3).startswith("3 more snapshots of this name are kept")
    assert "manually" in retained_message(3)


class Memory(JobStore):
    """A store in memory; a listing may omit the objects that were written last."""

    def __init__(self, *keys: BackupKey) -> None:
        super().__init__(StoreEnv("s3", "b"), MemoryStore(), None)
        self.snapshots = keys
        self.not_listed: set[str] = set()
        self.locked: set[str] = set()
        self.archived: set[str] = set()
        self.refused = 0

    async def keys(self, prefix: str, limit: int = LISTED_MAX) -> list[str]:
        return [key for key in await super().keys(prefix, limit) if key not in self.not_listed]

    async def read(self, key: str, limit: int) -> bytes | None:
        if key in self.archived:
            raise JobFailure("Storage", f"{key} in bucket b: the object is archived")
        return await super().read(key, limit)

    async def delete(self, key: str) -> None:
        if key in self.locked:
            self.refused += 1
            raise JobFailure("Storage", f"{key} in bucket b: the store refuses the credentials")
        await super().delete(key)

    async def filled(self) -> "Memory":
        """Write the snapshots and their manifests."""
        for key in self.snapshots:
            await self.write(key.text, b"a snapshot")
            manifest = manifest_for(key.text, cluster_uid="uid")
            await self.write(key.manifest, manifest.to_bytes())
        return self

    async def left(self) -> list[int]:
        """Return the numbers of the snapshots that have both objects."""
        names = set(await super().keys("p/n/c/"))
        return [
            number for number, key in enumerate(self.snapshots) if {key.text, key.manifest} <= names
        ]

    async def retained(self, rules: RetentionEnv, now: datetime = NOW) -> RetentionResult:
        """Run the retention of the Job that stored the first snapshot."""
        return await retain(self, rules, self.snapshots[0], "uid", ManualClock(now))


async def test_a_job_with_a_fast_clock_removes_nothing_by_age() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2)).filled()
    rules = RetentionEnv(max_age_seconds=30 * DAY)
    assert await store.retained(rules, NOW + timedelta(days=365)) == RetentionResult()
    assert await store.left() == [0, 1, 2]


async def test_snapshots_with_a_time_in_the_future_do_not_replace_later_ones() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2, 3, -400, -401, -402)).filled()
    removed = await store.retained(RetentionEnv(3))
    assert await store.left() == [0, 1, 2, 4, 5, 6]
    assert removed.deleted == 1
    assert removed.message.startswith("3 snapshots are kept because their keys have a later time")


async def test_an_object_with_the_name_of_a_manifest_does_not_stop_retention() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2, 3)).filled()
    await store.write(store.snapshots[3].manifest, b"x" * (MANIFEST_MAX + 1))
    assert await store.retained(RetentionEnv(1)) == RetentionResult(2, retained_message(1))
    assert await store.left() == [0, 3]


async def test_an_archived_manifest_does_not_stop_retention() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2, 3, 4)).filled()
    left_over = store.snapshots[4]
    await store.delete(left_over.text)
    store.archived = {store.snapshots[2].manifest, left_over.manifest}
    removed = await store.retained(RetentionEnv(1))
    assert await store.left() == [0, 2]
    assert await store.size(left_over.manifest) is not None
    assert removed.deleted == 2
    assert removed.message == (
        "2 manifests cannot be read, so their snapshots are kept; the first error: "
        f"{left_over.manifest} in bucket b: the object is archived"
    )


async def test_many_archived_manifests_do_not_stop_retention() -> None:
    store = await Memory(*snapshots_of_ages(*range(FAILURES_MAX + 10))).filled()
    store.archived = {key.manifest for key in store.snapshots[2:]}
    removed = await store.retained(RetentionEnv(1))
    assert (removed.deleted, await store.left()) == (1, [0, *range(2, FAILURES_MAX + 10)])


@settings(deadline=None, max_examples=50)
@given(st.data(), st.integers(0, 4), st.integers(0, 6))
def test_an_archived_manifest_never_makes_retention_remove_more(
    data: st.DataObject, count: int, days: int
) -> None:
    ages = range(7)
    archived = data.draw(st.sets(st.sampled_from(ages)))

    async def left(names: set[int]) -> set[int]:
        store = await Memory(*snapshots_of_ages(*ages)).filled()
        store.archived = {store.snapshots[number].manifest for number in names}
        await store.retained(RetentionEnv(count, days * DAY))
        return set(await store.left())

    assert asyncio.run(left(archived)) >= asyncio.run(left(set())) | archived


async def test_the_manifest_of_an_unlisted_snapshot_is_kept() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2)).filled()
    store.not_listed = {store.snapshots[1].text, store.snapshots[2].text}
    await store.delete(store.snapshots[2].text)
    await store.retained(RetentionEnv(5))
    assert await store.left() == [0, 1]
    assert await store.size(store.snapshots[2].manifest) is None


async def test_a_locked_snapshot_does_not_stop_retention() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2, 3)).filled()
    locked = store.snapshots[3].text
    store.locked = {locked}
    removed = await store.retained(RetentionEnv(1))
    assert await store.left() == [0, 3]
    assert removed.deleted == 2
    assert removed.message == (
        "1 outdated snapshots could not be deleted; the first error: "
        f"{locked} in bucket b: the store refuses the credentials"
    )


async def test_a_locked_manifest_does_not_stop_retention() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2, 3)).filled()
    left_over = store.snapshots[3]
    await store.delete(left_over.text)
    store.locked = {left_over.manifest, store.snapshots[2].manifest}
    removed = await store.retained(RetentionEnv(1))
    assert await store.left() == [0]
    assert removed.message.startswith("2 outdated snapshots could not be deleted")
    assert await store.size(left_over.manifest) is not None


async def test_failed_deletions_are_limited() -> None:
    store = await Memory(*snapshots_of_ages(*range(FAILURES_MAX + 10))).filled()
    store.locked = {key.text for key in store.snapshots}
    removed = await store.retained(RetentionEnv(1))
    assert store.refused == FAILURES_MAX
    assert removed.message.startswith(f"stopped after 0: {FAILURES_MAX} outdated snapshots could")


async def test_a_refused_address_stops_retention() -> None:
    """The proxy of the Job refuses all requests to it."""
    store = await Memory(*snapshots_of_ages(0, 1, 2)).filled()

    async def refuse(key: str) -> None:
        store.refused += 1
        raise JobFailure("Config", "spec.backup.target.endpoint: is not allowed")

    store.delete = refuse  # type: ignore[method-assign]
    removed = await store.retained(RetentionEnv(1))
    assert store.refused == 1
    assert removed == RetentionResult(
        0, "stopped after 0: spec.backup.target.endpoint: is not allowed"
    )


async def test_failures_before_the_time_limit_are_reported() -> None:
    store = await Memory(*snapshots_of_ages(0, 1, 2)).filled()
    clock = ManualClock(NOW)
    stuck = asyncio.Event()

    async def delete(key: str) -> None:
        if key == store.snapshots[1].text:
            stuck.set()
            await clock.sleep(TIMEOUT_SECONDS + 1)
        raise JobFailure("Storage", "no answer")

    store.delete = delete  # type: ignore[method-assign]
    retention = asyncio.create_task(
        retain(store, RetentionEnv(1), store.snapshots[0], "uid", clock)
    )
    await stuck.wait()
    await clock.advance(TIMEOUT_SECONDS)
    removed = await retention
    assert removed.message == (
        "stopped after 0: took over 300 s; 1 outdated snapshots could not be deleted; the first "
        "error: no answer"
    )
