"""Snapshot keys: a key survives a round trip, and other keys are ignored."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.naming import snapshot_keys

AT = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
PREFIXES = st.lists(st.from_regex(r"[A-Za-z0-9_.-]{1,10}", fullmatch=True), max_size=3)


def test_a_key_has_the_documented_format() -> None:
    key = snapshot_keys.make("/prod/eu/", "team-a", "bao", AT, "0a1b2c3d")
    assert key == "prod/eu/team-a/bao/2026-01-15T03-00-00Z-0a1b2c3d.snap"
    assert (
        snapshot_keys.make("", "n", "c", AT, "0a1b2c3d") == "n/c/2026-01-15T03-00-00Z-0a1b2c3d.snap"
    )


@settings(deadline=None)
@given(PREFIXES, NAMES, NAMES, st.sampled_from(["", "pre-upgrade", "a"]))
def test_a_key_survives_a_round_trip(
    prefix: list[str], namespace: str, cluster: str, tag: str
) -> None:
    key = snapshot_keys.make("/".join(prefix), namespace, cluster, AT, "0a1b2c3d", tag)
    read = snapshot_keys.parse(key)
    assert read is not None
    assert (read.text, read.prefix, read.namespace) == (key, "/".join(prefix), namespace)
    assert (read.cluster, read.at, read.id8, read.tag) == (cluster, AT, "0a1b2c3d", tag)


def test_the_time_is_in_utc_and_whole_seconds() -> None:
    east = datetime(2026, 1, 15, 5, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert snapshot_keys.make("", "n", "c", east, "0a1b2c3d") == snapshot_keys.make(
        "", "n", "c", AT, "0a1b2c3d"
    )


@pytest.mark.parametrize(
    "key",
    [
        "n/c/2026-01-15T03-00-00Z-0a1b2c3d.snap.json",
        "n/c/2026-01-15T03-00-00Z-0A1B2C3D.snap",
        "n/c/2026-13-15T03-00-00Z-0a1b2c3d.snap",
        "n/c/2026-01-15T03:00:00Z-0a1b2c3d.snap",
        "c/2026-01-15T03-00-00Z-0a1b2c3d.snap",
        "n/C/2026-01-15T03-00-00Z-0a1b2c3d.snap",
        "n/c/x2026-01-15T03-00-00Z-0a1b2c3d.snap",
        "/n/c/2026-01-15T03-00-00Z-0a1b2c3d.snap",
        "n/c/2026-01-15T03-00-00Z-0a1b2c3d.snap\n",
        "notes.txt",
        "",
    ],
)
def test_other_keys_are_not_parsed(key: str) -> None:
    assert snapshot_keys.parse(key) is None


def test_a_list_prefix_excludes_clusters_with_a_longer_name() -> None:
    longer = snapshot_keys.make("p", "n", "ab", AT, "0a1b2c3d")
    assert not longer.startswith(snapshot_keys.list_prefix("p", "n", "a"))


def test_invalid_parts_of_a_key_are_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        snapshot_keys.make("", "n", "c", AT.replace(tzinfo=None), "0a1b2c3d")
    with pytest.raises(ValueError, match="not an id"):
        snapshot_keys.make("", "n", "c", AT, "../../..")
    with pytest.raises(ValueError, match="namespace"):
        snapshot_keys.make("", "n/m", "c", AT, "0a1b2c3d")
    with pytest.raises(ValueError, match="the limit is 1024"):
        snapshot_keys.make("p" * 1000, "n", "c", AT, "0a1b2c3d")


def test_a_manifest_key_gives_the_snapshot_key() -> None:
    key = snapshot_keys.make("p", "n", "c", AT, "0a1b2c3d")
    assert snapshot_keys.snapshot_key(snapshot_keys.manifest_key(key)) == key
    assert snapshot_keys.snapshot_key("p/n/c/config.json") is None
