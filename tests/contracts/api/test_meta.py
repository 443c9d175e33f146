"""Durations, quantities and read-only mappings."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.api.meta import Quantity, StorageSize, freeze, thaw
from contracts.api.values.duration import counted_duration, parse_duration
from contracts.rfc3339 import rfc3339


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("1h30m", 5400),
        ("720h", 720 * 3600),
        ("1.5h", 5400),
        ("1m500ms", 60.5),
        ("1h1h", 7200),
        ("250us", 0.00025),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "1", "h", "1d", "-1h", "+1h", "1 h", "1h ", "1.h", ".5h", "1H", "9e9h", "2562048h"]
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["1" * 200_000, "1s" * 100_000, "1." * 100_000])
def test_a_long_text_is_refused_as_a_duration_at_once(text: str) -> None:
    """Servers name durations, too: 16 KB of digits took six seconds."""
    assert counted_duration(text) is None


@pytest.mark.parametrize("text", ["", "Gi", "1gi", "-1Gi", "1 Gi", "1Gi ", "1Gib", "1e", "0x1"])
def test_an_invalid_volume_size_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(StorageSize).validate_python(text)


@pytest.mark.parametrize("kind", [StorageSize, Quantity])
def test_a_quantity_has_at_most_32_characters(kind: Any) -> None:
    """As in the schema of the API server."""
    assert TypeAdapter(kind).validate_python("1" * 32) == "1" * 32
    with pytest.raises(ValidationError, match="at most 32 characters"):
        TypeAdapter(kind).validate_python("1" * 33)


def test_a_time_is_written_in_utc_without_fractions() -> None:
    zone = timezone(timedelta(hours=2))
    assert rfc3339(datetime(2026, 1, 1, 1, 2, 3, 999, tzinfo=zone)) == "2025-12-31T23:02:03Z"
    assert rfc3339(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00Z"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_thaw_reverts_freeze(value: Any) -> None:
    assert thaw(freeze(value)) == value


def test_frozen_data_cannot_be_changed_at_any_depth() -> None:
    frozen = freeze({"a": [{"b": 1}]})
    with pytest.raises(TypeError):
        frozen["a"] = 1
    with pytest.raises(TypeError):
        frozen["a"][0]["b"] = 2
