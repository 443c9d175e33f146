"""managers.jobs.run: the order of the steps of a run, and what ends a reconcile."""

from dataclasses import dataclass, field, replace

import pytest

from contracts.state_machine import Transition, TransitionDecision, always, decide
from managers.jobs.run import ActionOutcome, advance
from runtime.errors import Conflict, StatusInfo
from runtime.outcome import Blocked, Done, Outcome, Wait

Decision = TransitionDecision[int]
UNFINISHED = Wait("Unfinished", "there is more to do", 1.0)


@dataclass
class Counter:
    """A run whose subject is a number; each status write adds one to it."""

    table: tuple[Transition[int], ...]
    conflicts: int = 0
    """How many writes are refused because the subject changed."""
    ends: Outcome | None = None
    """How the action ends the pass."""
    refuses: bool = False
    log: list[str] = field(default_factory=list)

    async def observe(self, subject: int) -> int | Outcome:
        self.log.append(f"observe {subject}")
        return Blocked("Gone", "it is over") if subject > 2 else subject

    def decide(self, value: int) -> Decision:
        return decide(self.table, "Waiting", value)

    async def act(self, value: int, decision: Decision) -> ActionOutcome[int, int]:
        self.log.append(f"act {decision.transition.action}")
        if self.refuses:
            row = replace(decision.transition, action="refused")
            return ActionOutcome(value, TransitionDecision(row, "Refused", ""))
        return ActionOutcome(value, decision, self.ends)

    async def write(self, value: int, decision: Decision) -> tuple[int, Outcome | None]:
        self.log.append(f"write {decision.transition.action}")
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict(StatusInfo(409, "Conflict", "it changed"))
        after = decision.transition.after
        return value + 1, None if after is None else Wait("Waits", "", after)

    async def after_conflict(self, subject: int, conflict: Conflict) -> int | Outcome:
        self.log.append("conflict")
        return subject if self.conflicts == 0 else Wait("Changed", conflict.message, 1.0)


GO: Transition[int] = Transition("Waiting", always, action="go")
GOES_ON = (GO,)
STAYS = (replace(GO, after=5.0),)
STATUS_FIRST = (replace(GO, after=5.0, status_first=True),)
PASS = ["observe 0", "act go", "write go"]


@pytest.mark.parametrize(
    ("run", "outcome", "log"),
    [
        pytest.param(Counter(STAYS), Wait("Waits", "", 5.0), PASS, id="the write ends the pass"),
        pytest.param(
            Counter(GOES_ON),
            Blocked("Gone", "it is over"),
            [*PASS, "observe 1", "act go", "write go", "observe 2", "act go", "write go",
             "observe 3"],
            id="there is more to do until nothing can be observed",
        ),
        pytest.param(
            Counter(GOES_ON, ends=Done(3.0)), Done(3.0), PASS,
            id="the action ends the pass after the write",
        ),
        pytest.param(
            Counter(STATUS_FIRST), Wait("Waits", "", 5.0), ["observe 0", "write go", "act go"],
            id="the status first",
        ),
        pytest.param(
            Counter(STATUS_FIRST, refuses=True), Wait("Waits", "", 5.0),
            ["observe 0", "write go", "act go", "write refused"],
            id="the status first, and again when the action changed the decision",
        ),
        pytest.param(
            Counter(STAYS, conflicts=1), Wait("Waits", "", 5.0), [*PASS, "conflict", *PASS],
            id="a conflict, and the reconcile continues with the stored object",
        ),
        pytest.param(
            Counter(STAYS, conflicts=2), Wait("Changed", "it changed", 1.0), [*PASS, "conflict"],
            id="a conflict ends the pass",
        ),
    ],
)  # fmt: skip
async def test_the_steps_of_a_reconcile(run: Counter, outcome: Outcome, log: list[str]) -> None:
    assert await advance(run, 0, 8, UNFINISHED) == outcome
    assert run.log == log


async def test_a_loop_in_the_table_is_stopped() -> None:
    assert await advance(Counter(GOES_ON), 0, 2, UNFINISHED) == UNFINISHED
