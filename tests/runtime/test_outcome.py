"""The combination of the outcomes of parallel steps."""

import pytest

from runtime.outcome import Blocked, Done, Outcome, Wait, combine

CASES: dict[str, tuple[tuple[Outcome, ...], Outcome]] = {
    "no outcomes are Done": ((), Done()),
    "one outcome is unchanged": ((Wait("A", "a", 3.0),), Wait("A", "a", 3.0)),
    "Done without timers has none": ((Done(), Done()), Done()),
    "the soonest recheck survives": ((Done(60.0), Done(5.0), Done()), Done(5.0)),
    "Wait takes precedence over Done": ((Done(), Wait("A", "a")), Wait("A", "a")),
    "Wait has the sooner timer of Done": (
        (Done(5.0), Wait("A", "a", 30.0)),
        Wait("A", "a", 5.0),
    ),
    "Blocked takes precedence over Wait and keeps its timer": (
        (Wait("A", "a", 2.0), Blocked("B", "b")),
        Blocked("B", "b", 2.0),
    ),
    "the first of the worst outcomes is returned": (
        (Done(), Blocked("B", "b", 9.0), Blocked("C", "c", 4.0)),
        Blocked("B", "b", 4.0),
    ),
    "the order does not matter for the worst outcome": (
        (Blocked("B", "b"), Wait("A", "a")),
        Blocked("B", "b"),
    ),
    "a timer of zero is a timer": ((Done(0.0), Done(1.0)), Done(0.0)),
}


@pytest.mark.parametrize(("outcomes", "expected"), CASES.values(), ids=CASES.keys())
def test_combine(outcomes: tuple[Outcome, ...], expected: Outcome) -> None:
    assert combine(*outcomes) == expected
