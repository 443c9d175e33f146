"""The results of the runs of a scenario. Pure, except for reading a JUnit report of pytest."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from e2e.demo import table as tables

HEADERS = ("scenario", "runs", "failed", "median", "slowest", "tests that failed")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed test, with the message of pytest."""

    test: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario."""

    seconds: float
    tests: int
    failures: tuple[Failure, ...]

    def summary(self) -> str:
        """Return the result of the run on one line."""
        failed = f"{len(self.failures)} failed" if self.failures else "all passed"
        return f"{self.tests} tests in {self.seconds:.0f} s, {failed}"


def read(report: Path, code: int, output: str, seconds: float) -> Run:
    """Read the JUnit report of a run that ended with `code`.

    A run without a report, or one that failed without a failed test, counts as a failure with the
    end of its output.
    """
    if not report.exists():
        return Run(seconds, 0, (Failure("the run itself", output),))
    # The file is from our own pytest, so it is trusted.
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 -- see above
    failures = tuple(
        Failure(f"{case.get('classname')}::{case.get('name')}", part.text or "")
        for case in cases
        for part in (*case.findall("failure"), *case.findall("error"))
    )
    if not failures and (code != 0 or not cases):
        failures = (Failure(f"the run itself, exit code {code}", output),)
    return Run(seconds, len(cases), failures)


def table(results: Mapping[str, Sequence[Run]]) -> str:
    """Return a table with a row per scenario."""
    return tables.plain(HEADERS, [_row(name, runs) for name, runs in results.items()])


def _row(name: str, runs: Sequence[Run]) -> tuple[str, ...]:
    seconds = [run.seconds for run in runs]
    failed: dict[str, int] = {}
    for run in runs:
        for test in {failure.test for failure in run.failures}:
            failed[test] = failed.get(test, 0) + 1
    names = ", ".join(f"{test.rpartition('::')[2]} ({count})" for test, count in failed.items())
    return (
        name,
        str(len(runs)),
        str(sum(bool(run.failures) for run in runs)),
        f"{statistics.median(seconds):.0f} s",
        f"{max(seconds):.0f} s",
        names or "-",
    )
