"""contracts.state_machine: the first row that applies decides."""

import pytest

from contracts.state_machine import GuardMessage, GuardReason, Transition, always, decide

ROWS: tuple[Transition[int], ...] = (
    Transition(
        "Waiting",
        lambda number: GuardMessage("even") if number % 2 == 0 else None,
        reason="Even",
    ),
    Transition("Waiting", lambda number: GuardReason("Large", str(number)) if number > 8 else None),
    Transition("Waiting", always, to="Running", action="start", reason="Started"),
)


@pytest.mark.parametrize(
    ("number", "reason", "message", "to"),
    [(2, "Even", "even", "Waiting"), (9, "Large", "9", "Waiting"), (1, "Started", "", "Running")],
)
def test_the_first_row_that_applies_decides(
    number: int, reason: str, message: str, to: str
) -> None:
    decision = decide(ROWS, "Waiting", number)
    assert (decision.reason, decision.message, decision.next) == (reason, message, to)


def test_a_state_without_a_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no transition of the table applies in state Running"):
        decide(ROWS, "Running", 1)
