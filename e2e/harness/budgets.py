"""Measured values of scenarios and their budgets. Exceeding one fails the test only if STRICT=1.

Called by scenarios, their helpers and e2e.conftest. A value is passed from a worker to the table at
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
_HEADERS = ("test", "value", "measured", "budget", "")


class Measurement(NamedTuple):
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
_made: list[Measurement] = []


def budget(what: str, value: float, limit: float, unit: str) -> None:
    """Record and print a measured value; raise AssertionError above its limit if STRICT=1."""
    measurement = Measurement(what, value, limit, unit)
    _made.append(measurement)
    print(f"  {measurement}")
    if measurement.over and os.environ.get(STRICT) == "1":
        raise AssertionError(str(measurement))


def add_to_report(report: pytest.TestReport) -> None:
    """Add the values since the last report to this one."""
    report.user_properties.extend((_PROPERTY, tuple(measurement)) for measurement in _made)
    _made.clear()


def rows(reports: Iterable[object]) -> list[tuple[str, ...]]:
    """Return a row for each measurement in the reports, in their order."""
    return [
        (
            report.nodeid,
            measurement.what,
            f"{measurement.value:.4g} {measurement.unit}",
            f"{measurement.limit:.4g}",
            OVER if measurement.over else "",
        )
        for report in reports
        if isinstance(report, pytest.TestReport)
        for measurement in _measurements(report)
    ]


def as_table(reports: Iterable[object]) -> str:
    """Return all measurements in the reports as a table, or "" if there are none."""
    lines = rows(reports)
    return table.plain(_HEADERS, lines) if lines else ""


def _measurements(report: pytest.TestReport) -> list[Measurement]:
    # Other properties of a report have values of other types.
    measurements = [value for name, value in report.user_properties if name == _PROPERTY]
    return [Measurement(*value) for value in measurements if isinstance(value, (tuple, list))]
