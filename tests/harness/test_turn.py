"""Who waits for whom, and how much of the machine is idle."""

import fcntl
from pathlib import Path

import pytest

from e2e.harness.turn import Turn, idle_share

BEFORE = "cpu  100 0 50 1000 10 0 5 0 7 0\ncpu0 50 0 25 500 5 0 0 0 0 0\nintr 1\n"


def test_waiting_for_a_disk_is_idle_and_what_a_guest_uses_is_counted_once() -> None:
    after = "cpu  120 0 60 1060 20 0 5 0 27 0\ncpu0 9 0 9 9 9 0 0 0 0 0\nintr 2\n"
    assert idle_share(BEFORE, after) == 0.7


def test_time_that_another_machine_takes_is_not_idle() -> None:
    after = "cpu  100 0 50 1025 10 0 5 75 7 0\n"
    assert idle_share(BEFORE, after) == 0.25


def test_no_time_has_no_idle_part() -> None:
    assert idle_share(BEFORE, BEFORE) == 0.0


def test_who_has_ended_with_what_measures_holds_nobody_up(tmp_path: Path) -> None:
    first, second = Turn(tmp_path), Turn(tmp_path)
    first.begin(measures=True)
    with (tmp_path / "measures.lock").open("a") as door, pytest.raises(BlockingIOError):
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    first.end()
    second.begin(measures=False)


def test_those_that_measure_begin_side_by_side(tmp_path: Path) -> None:
    first, second = Turn(tmp_path), Turn(tmp_path)
    first.begin(measures=True)
    second.begin(measures=True)
    first.end()
    second.end()
