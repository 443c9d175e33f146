"""What runs of pytest say about a mutant, and which tests are run once more."""

import pytest

from tests.mutants.operators import Mutant
from tests.mutants.verdict import Failure, Run, killers, result

MUTANT = Mutant("a.py", 1, 1, "not", "not ", "", 0, 4)
WRONG = Failure("t.py::test_a[1]", "call", "AssertionError", "assert 1 == 2")
BROKEN = Failure("t.py::test_b", "setup", "KeyError", "'x'")
SLOW = Failure("t.py::test_c", "call", "Failed", "Timeout (>120.0s) from pytest-timeout.")
EXPECTED = Failure("t.py::test_d", "call", "Failed", "DID NOT RAISE ValueError")
LOST = Failure("t.py", "collect", "import", "NameError: x")


@pytest.mark.parametrize(
    ("status", "failures", "output", "expected"),
    [
        (0, (), "", ("survived", "")),
        (1, (WRONG, BROKEN), "", ("killed", "assertion")),
        (1, (EXPECTED,), "", ("killed", "assertion")),
        (1, (BROKEN,), "", ("killed", "error")),
        (1, (SLOW,), "", ("timeout", "time")),
        (2, (LOST,), "", ("killed", "import")),
        (4, (), "ImportError while loading conftest 'x'", ("killed", "import")),
        (-9, (), "", ("killed", "crash")),
        (None, (), "", ("timeout", "time")),
        (None, (WRONG,), "", ("killed", "assertion")),
        (4, (), "ERROR: file or directory not found", ("undecided", "")),
        (5, (), "no tests ran", ("undecided", "")),
        (1, (), "", ("undecided", "")),
    ],
)
def test_the_outcome_of_a_run(
    status: int | None, failures: tuple[Failure, ...], output: str, expected: tuple[str, str]
) -> None:
    verdict = result(MUTANT, Run(status, failures, 1.0, output), files=3)
    assert (verdict.outcome, verdict.cause) == expected


def test_a_run_without_a_failure_shows_its_output() -> None:
    assert result(MUTANT, Run(5, (), 1.0, "no tests ran"), files=3).text == "no tests ran"


def test_killing_tests_are_listed_once_without_parameters() -> None:
    again = Failure("t.py::test_a[2]", "call", "AssertionError", "")
    runs = [Run(1, (outcome,), 1.0, "") for outcome in (WRONG, again, BROKEN, LOST, SLOW)]
    assert killers([result(MUTANT, run, 3) for run in runs]) == ("t.py::test_a", "t.py::test_b")
