"""What is shown of a cluster that did not come up."""

import pytest

from contracts.conditions.condition import next_step
from e2e.demo.objects import Object
from e2e.demo.trouble import EVENTS, condition_lines, event_lines, log_line
from tests.demo.shapes import condition


def test_bad_news_comes_with_what_a_person_does_about_it() -> None:
    lines = condition_lines([condition("Stalled", "True", "UnsealKeyMissing", "Secret x is gone")])
    assert "UnsealKeyMissing: Secret x is gone" in lines[0]
    assert lines[1].strip() == f"-> {next_step('UnsealKeyMissing')}"


def test_good_news_stands_alone() -> None:
    good = [
        condition("Available", "True", "AllReplicasReady"),
        condition("Stalled", "False", "Ready"),
        condition("Reconciling", "True", "FirstBoot"),
    ]
    assert len(condition_lines(good)) == 3


def test_a_condition_that_nobody_knows_is_shown_all_the_same() -> None:
    assert "Strange" in condition_lines([condition("Strange", "True", "Odd")])[0]


def test_no_conditions_are_said_to_be_none() -> None:
    assert condition_lines([]) == ["  (none yet)"]


def test_the_newest_events_are_shown_the_newest_last() -> None:
    events: list[Object] = [
        {
            "lastTimestamp": f"2026-01-01T00:{minute:02d}:00Z",
            "involvedObject": {"kind": "Pod", "name": "bao-0"},
            "reason": "BackOff",
            "message": f"number {minute}",
        }
        for minute in reversed(range(30))
    ]
    # Events of the newer API have eventTime alone.
    events.append({"eventTime": "2026-01-01T01:00:00.000000Z", "reason": "New", "message": "last"})
    lines = event_lines(events, "")
    assert len(lines) == EVENTS
    assert lines[-1].endswith("New: last")
    assert lines[-2].endswith("Pod bao-0: BackOff: number 29")
    assert len(event_lines(events, "2026-01-01T00:28:00Z")) == 3


def test_a_log_line_is_made_readable() -> None:
    line = (
        '{"time":"2026-01-01T10:22:27.778460Z","level":"info","msg":"waiting",'
        '"reason":"Deleting","reconcile_id":"e54beab4"}'
    )
    assert log_line(line) == "10:22:27 info waiting reason=Deleting"


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "[]", "{"])
def test_a_line_that_is_no_log_line_stays_as_it_is(line: str) -> None:
    assert log_line(line) == line
