"""What a run of pytest says about a mutant. Pure; called by the runner and the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.mutants.operators import Mutant

Outcome = Literal["killed", "timeout", "survived", "undecided"]
Cause = Literal["assertion", "error", "import", "crash", "time", ""]

_TESTS_FAILED = 1
_INTERRUPTED = 2
_USAGE = 4
_CONFTEST = "while loading conftest"
_ASSERTIONS = frozenset({"AssertionError", "Failed"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, or a file that cannot be imported (phase `collect`)."""

    test: str
    phase: str
    error: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of pytest: its exit status (None: the time limit ended it), and what failed."""

    status: int | None
    failures: tuple[Failure, ...]
    seconds: float
    output: str


@dataclass(frozen=True, slots=True)
class Result:
    """A mutant with its outcome. `test` is the failed test, `text` its message."""

    mutant: Mutant
    outcome: Outcome
    cause: Cause
    test: str
    text: str
    seconds: float
    files: int


def result(mutant: Mutant, run: Run, files: int) -> Result:
    """Evaluate the run of that many test files in a copy with the mutant."""
    outcome, cause = _outcome(run)
    first = run.failures[0] if run.failures else Failure("", "", "", "")
    text = f"{first.error}: {first.text}" if first.error else ""
    if outcome == "undecided" or (cause and not text):
        text = run.output
    return Result(mutant, outcome, cause, first.test, text, run.seconds, files)


def _outcome(run: Run) -> tuple[Outcome, Cause]:
    match run.status, run.failures:
        case 0, _:
            return "survived", ""
        case _, [first, *_]:
            return _by_failure(first)
        case None, _:
            return "timeout", "time"
        case int(status), _ if status < 0:
            return "killed", "crash"
        case status, _ if status == _USAGE and _CONFTEST in run.output:
            return "killed", "import"
        case _:
            return "undecided", ""


def _by_failure(first: Failure) -> tuple[Outcome, Cause]:
    if first.phase == "collect":
        return "killed", "import"
    if first.error == "Failed" and first.text.startswith("Timeout"):
        return "timeout", "time"
    return "killed", "assertion" if first.error in _ASSERTIONS else "error"


def killers(results: Sequence[Result]) -> tuple[str, ...]:
    """The tests that killed, each once and without its parameters."""
    killed = (
        result for result in results if result.outcome == "killed" and result.cause != "import"
    )
    return tuple(sorted({result.test.partition("[")[0] for result in killed if result.test}))
