"""Which snapshots go, as a table; what is done about it is in tests/integration."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from baoctl.jobs.retention import pair_keys, retained_message, select_outdated
from contracts.jobs.env import RetentionEnv
from contracts.naming.snapshot_keys import BackupKey, manifest_key

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


def test_the_oldest_go_first_beyond_the_count() -> None:
    assert going(snapshots_of_ages(4, 0, 2, 1, 3), RetentionEnv(2)) == [0, 4, 2]


def test_age_counts_alone_and_together_with_the_count() -> None:
    keys = snapshots_of_ages(0, 1, 2, 3)
    assert going(keys, RetentionEnv(max_age_seconds=2 * DAY)) == [3]
    assert going(keys, RetentionEnv(2, 2 * DAY)) == [3, 2]
    assert going(keys, RetentionEnv(4, 2 * DAY)) == [3]


def test_without_rules_all_stay() -> None:
    assert going(snapshots_of_ages(0, 1000), RetentionEnv()) == []


def test_what_is_protected_stays_and_counts() -> None:
    keys = snapshots_of_ages(0, 1, 2, 3)
    rules = RetentionEnv(2, protected=(keys[3].text, "not/of/this/store.snap"))
    assert going(keys, rules) == [2]


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 400), max_size=20, unique=True),
    st.integers(0, 5),
    st.integers(0, 100 * DAY),
)
def test_the_newest_never_goes(ages: list[float], count: int, age: int) -> None:
    keys = snapshots_of_ages(*ages)
    gone = select_outdated(keys, RetentionEnv(count, age), NOW)
    assert not keys or max(keys, key=lambda key: (key.at, key.id8)) not in gone
    if count:
        assert len(keys) - len(gone) <= max(count, 1)


def test_only_whole_snapshots_of_this_place_are_listed() -> None:
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


def test_what_no_retention_ever_removes_is_counted_for_a_person() -> None:
    assert retained_message(0) == ""
    assert retained_message(3).startswith("3 more snapshots of this name are kept")
    assert "by hand" in retained_message(3)
