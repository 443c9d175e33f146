"""e2e.harness.crash_points: where operators die, and which writes that has to reach."""

from typing import NamedTuple

import pytest

from e2e.harness.crash_points import ends, never_reached, numbered
from e2e.harness.crashing_operator import CRASHED, Plan, Position, Result
from e2e.harness.write_key import WriteKey

STATUS = WriteKey("patch", "openbaoclusters", "status", "one", "lock")
JOB = WriteKey("create", "jobs", "", "upgrade-one", "")
ENDED_BY_ALARM = -14


class Crash(NamedTuple):
    plan: Plan
    result: Result | None


def crash(key: WriteKey, occurrence: int, position: Position, status: int | None) -> Crash:
    result = None if status is None else Result("ns", status, 1.0)
    return Crash(Plan("ns", key, occurrence, position), result)


def test_an_operator_dies_before_each_write_and_after_the_last() -> None:
    assert ends(numbered([STATUS, JOB, STATUS])) == [
        (STATUS, 1, "before"),
        (JOB, 1, "before"),
        (STATUS, 2, "before"),
        (STATUS, 2, "after"),
    ]


def test_a_write_that_comes_once_less_is_reached_all_the_same() -> None:
    crashes = [
        crash(STATUS, 1, "before", CRASHED),
        crash(JOB, 1, "before", CRASHED),
        crash(STATUS, 2, "before", ENDED_BY_ALARM),
        crash(STATUS, 2, "after", ENDED_BY_ALARM),
    ]
    assert never_reached(crashes) == []


@pytest.mark.parametrize("status", [ENDED_BY_ALARM, 0, None])
def test_a_write_that_no_crash_came_to_is_named(status: int | None) -> None:
    crashes = [crash(STATUS, 1, "before", CRASHED), crash(JOB, 1, "before", status)]
    assert never_reached(crashes) == [str(JOB)]
