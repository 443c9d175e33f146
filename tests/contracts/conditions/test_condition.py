"""The catalog of conditions, and the merge that keeps transition times."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.conditions.condition import (
    MESSAGE_MAX,
    REASONS,
    TYPES,
    Condition,
    ConditionUpdate,
    condition,
    merge,
    next_step,
)
from contracts.conditions.message import clean_message

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def up() -> Condition:
    return condition("Available", "True", "AllReplicasReady", "m", 1)


def down(reason: str = "NotReady") -> Condition:
    return condition("Available", "False", reason, "m", 1)


class TestCatalog:
    def test_every_reason_of_a_type_is_explained(self) -> None:
        assert {name for kind in TYPES for name in kind.reasons} == set(REASONS)

    def test_no_type_and_no_reason_is_listed_twice(self) -> None:
        names = [kind.name for kind in TYPES]
        assert len(names) == len(set(names))
        for kind in TYPES:
            assert len(kind.reasons) == len(set(kind.reasons)), kind.name

    def test_every_entry_has_short_sentences(self) -> None:
        texts = [kind.meaning for kind in TYPES]
        texts += [
            text for reason in REASONS.values() for text in (reason.meaning, reason.next_step)
        ]
        for text in texts:
            assert text.endswith("."), text
            assert len(text) <= 120, text

    def test_kstatus_finds_its_three_conditions_first(self) -> None:
        assert [kind.name for kind in TYPES[:3]] == ["Ready", "Reconciling", "Stalled"]

    def test_a_reason_has_a_next_step(self) -> None:
        assert "backup" in next_step("UnsealKeyMissing")
        with pytest.raises(KeyError):
            next_step("Nonsense")


class TestCondition:
    def test_an_unknown_type_or_reason_raises_at_once(self) -> None:
        with pytest.raises(ValueError, match="Nonsense"):
            condition("Nonsense", "True", "Ready", "", 1)
        with pytest.raises(ValueError, match="Sealed"):
            condition("Available", "True", "Sealed", "", 1)
        with pytest.raises(ValueError, match="Sealed"):
            ConditionUpdate("Available", "True", "Sealed")

    def test_an_empty_message_becomes_the_meaning_of_the_reason(self) -> None:
        available = condition("Available", "True", "AllReplicasReady", "", 3)
        assert available.message == REASONS["AllReplicasReady"].meaning.removesuffix(".")
        assert available.observed_generation == 3

    def test_a_condition_has_the_format_of_the_api_server(self) -> None:
        (available,) = merge(
            [], [condition("Available", "True", "AllReplicasReady", "3/3", 3)], NOON
        )
        assert available.to_object() == {
            "type": "Available",
            "status": "True",
            "reason": "AllReplicasReady",
            "message": "3/3",
            "observedGeneration": 3,
            "lastTransitionTime": "2026-01-01T12:00:00Z",
        }


class TestMerge:
    def test_the_time_stays_until_the_status_flips(self) -> None:
        stored = merge([], [down("NoReplicasReady")], NOON)
        (again,) = merge(stored, [down()], LATER)
        assert again.last_transition_time == NOON
        assert again.reason == "NotReady"
        (flipped,) = merge([again], [up()], LATER)
        assert flipped.last_transition_time == LATER

    def test_a_stored_condition_without_a_time_gets_one(self) -> None:
        (again,) = merge([up()], [up()], LATER)
        assert again.last_transition_time == LATER

    def test_the_order_is_that_of_the_catalog(self) -> None:
        new = [
            condition("ProductionReady", "False", "ProfileNotSet", "", 1),
            condition("Ready", "True", "Ready", "", 1),
        ]
        assert [item.type for item in merge([], new, NOON)] == ["Ready", "ProductionReady"]

    def test_a_condition_that_is_no_longer_reported_is_removed(self) -> None:
        stored = merge([], [condition("Paused", "True", "Paused", "", 1)], NOON)
        assert merge(stored, [], LATER) == ()

    def test_a_duplicate_condition_is_refused(self) -> None:
        twice = [up(), down()]
        with pytest.raises(ValueError, match="twice"):
            merge([], twice, NOON)

    def test_fractions_of_a_second_are_cut_as_the_api_server_does(self) -> None:
        moment = NOON.replace(microsecond=700_000)
        (available,) = merge([], [up()], moment)
        assert available.last_transition_time == NOON

    def test_merging_the_stored_conditions_changes_nothing(self) -> None:
        stored = merge([], [up()], NOON)
        assert merge(stored, [up()], LATER) == stored


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00", "\\x00"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
        ("gr\u00fc\u00df", "gr\u00fc\u00df"),
    ],
)
def test_a_message_is_one_printable_line(text: str, clean: str) -> None:
    assert clean_message(text) == clean


def test_a_long_message_is_cut() -> None:
    cut = clean_message("\n" * 5000)
    assert len(cut) == MESSAGE_MAX
    assert cut.endswith("...")
