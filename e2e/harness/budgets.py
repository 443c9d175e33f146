"""Measured values of scenarios and their budgets. Exceeding one fails the test only if STRICT=1.

Called by scenarios, their helpers and e2e.conftest. A claim is passed from a worker to the table at
the end of the run in the `user_properties` of a test report.
"""

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

import pytest

from e2e.demo import table

STRICT: Final = "STRICT"
"""STRICT=1 in the environment: a value above its budget fails the test."""
OVER: Final = "over budget"
_PROPERTY = "budget"
_HEADERS = ("test", "claim", "measured", "budget", "")


class Claim(NamedTuple):
    """One measured value. Has plain values only, because it is sent between processes."""

    what: str
    value: float
    limit: float
    unit: str

    @property
    def over(self) -> bool:
        """Whether it exceeds the limit."""
        return self.value > self.limit

    def __str__(self) -> str:
        mark = f", {OVER}" if self.over else ""
        return f"{self.what}: {self.value:.4g} {self.unit} (budget {self.limit:.4g}){mark}"


# Values that this process measured and has not reported.
_made: list[Claim] = []


def budget(what: str, value: float, limit: float, unit: str) -> None:
    """Record and print a measured value; raise AssertionError above its limit if STRICT=1."""
    claim = Claim(what, value, limit, unit)
    _made.append(claim)
    print(f"  {claim}")
    if claim.over and os.environ.get(STRICT) == "1":
        raise AssertionError(str(claim))


def hand_over(report: pytest.TestReport) -> None:
    """Add the values since the last report to this one."""
    report.user_properties.extend((_PROPERTY, tuple(claim)) for claim in _made)
    _made.clear()


def rows(reports: Iterable[object]) -> list[tuple[str, ...]]:
    """Return a row for each claim in the reports, in their order."""
    return [
        (
            report.nodeid,
            claim.what,
            f"{claim.value:.4g} {claim.unit}",
            f"{claim.limit:.4g}",
            OVER if claim.over else "",
        )
        for report in reports
        if isinstance(report, pytest.TestReport)
        for claim in _claims(report)
    ]


def as_table(reports: Iterable[object]) -> str:
    """Return all claims in the reports as a table, or "" if there are none."""
    lines = rows(reports)
    return table.plain(_HEADERS, lines) if lines else ""


def _claims(report: pytest.TestReport) -> list[Claim]:
    # Other properties of a report have values of other types.
    claims = [value for name, value in report.user_properties if name == _PROPERTY]
    return [Claim(*value) for value in claims if isinstance(value, (tuple, list))]
