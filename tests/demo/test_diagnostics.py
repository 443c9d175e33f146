"""The output for a cluster that did not become available."""

import pytest

from contracts.conditions.condition import next_step
from e2e.demo.diagnostics import EVENTS, condition_lines, event_lines, log_line
from e2e.demo.objects import Object
from tests.demo.shapes import condition


def test_a_bad_condition_is_shown_with_the_next_step() -> None:
    lines = condition_lines([condition("Stalled", "True", "UnsealKeyMissing", "Secret x is gone")])
    assert "UnsealKeyMissing: Secret x is gone" in lines[0]
    assert lines[1].strip() == f"-> {next_step('UnsealKeyMissing')}"


def test_a_good_condition_is_shown_without_a_next_step() -> None:
    good = [
        condition("Available", "True", "AllReplicasReady"),
        condition("Stalled", "False", "Ready"),
        condition("Reconciling", "True", "FirstBoot"),
    ]
    assert len(condition_lines(good)) == 3


def test_an_unknown_condition_is_shown() -> None:
    assert "Strange" in condition_lines([condition("Strange", "True", "Odd")])[0]


def test_missing_conditions_are_reported() -> None:
    assert condition_lines([]) == ["  (none yet)"]


def test_the_latest_events_are_shown_in_order_of_time() -> None:
    events: list[Object] = [
        {
            "lastTimestamp": f"2026-01-01T00:{minute:02d}:00Z",
            "involvedObject": {"kind": "Pod", "name": "bao-0"},
            "reason": "BackOff",
            "message": f"number {minute}",
        }
        for minute in reversed(range(30))
    ]
    # Events of the newer API have only eventTime.
    events.append({"eventTime": "2026-01-01T01:00:00.000000Z", "reason": "New", "message": "last"})
    lines = event_lines(events, "")
    assert len(lines) == EVENTS
    assert lines[-1].endswith("New: last")
    assert lines[-2].endswith("Pod bao-0: BackOff: number 29")
    assert len(event_lines(events, "2026-01-01T00:28:00Z")) == 3


def test_a_json_log_line_is_formatted() -> None:
    line = (
        '{"time":"2026-01-01T10:22:27.778460Z","level":"info","msg":"waiting",'
        '"reason":"Deleting","reconcile_id":"e54beab4"}'
    )
    assert log_line(line) == "10:22:27 info waiting reason=Deleting"


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "[]", "{"])
def test_other_lines_of_a_log_are_unchanged(line: str) -> None:
    assert log_line(line) == line
