"""The combination of the outcomes of parallel steps."""

import pytest

from runtime.outcome import Blocked, Done, Outcome, Wait, combine

CASES: dict[str, tuple[tuple[Outcome, ...], Outcome]] = {
    "nothing to combine is done": ((), Done()),
    "one outcome stays what it is": ((Wait("A", "a", 3.0),), Wait("A", "a", 3.0)),
    "done without timers has none": ((Done(), Done()), Done()),
    "the soonest recheck survives": ((Done(60.0), Done(5.0), Done()), Done(5.0)),
    "a wait beats done": ((Done(), Wait("A", "a")), Wait("A", "a")),
    "a wait takes over the sooner timer of done": (
        (Done(5.0), Wait("A", "a", 30.0)),
        Wait("A", "a", 5.0),
    ),
    "blocked beats a wait and keeps the timer of it": (
        (Wait("A", "a", 2.0), Blocked("B", "b")),
        Blocked("B", "b", 2.0),
    ),
    "the first of the worst speaks": (
        (Done(), Blocked("B", "b", 9.0), Blocked("C", "c", 4.0)),
        Blocked("B", "b", 4.0),
    ),
    "order does not hide the worst": ((Blocked("B", "b"), Wait("A", "a")), Blocked("B", "b")),
    "a timer of zero is a timer": ((Done(0.0), Done(1.0)), Done(0.0)),
}


@pytest.mark.parametrize(("outcomes", "expected"), CASES.values(), ids=CASES.keys())
def test_combine(outcomes: tuple[Outcome, ...], expected: Outcome) -> None:
    assert combine(*outcomes) == expected
