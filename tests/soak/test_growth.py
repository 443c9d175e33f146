"""T32: the soak sees growth where there is some, and none where there is only noise."""

import random
from collections.abc import Callable

import pytest

from e2e.soak.growth import LIMITS, Sample, growth, judge, plot

COUNT = 60
STEADY: Sample = {"tasks": 27.0, "sockets": 14.0, "files": 21.0, "resident": 110e6}

Course = Callable[[int], float]


def samples(name: str, course: Course) -> list[Sample]:
    """A steady process, in which one number takes its own course."""
    return [{**STEADY, name: course(number)} for number in range(COUNT)]


def growing_types(samples: list[Sample]) -> set[str]:
    return {verdict.limit.name for verdict in judge(samples) if verdict.grows}


@pytest.mark.parametrize("name", [limit.name for limit in LIMITS])
def test_t32_a_leak_is_seen(name: str) -> None:
    one_each_time = 1.0 if name != "resident" else 0.3e6
    assert growing_types(samples(name, lambda n: STEADY[name] + one_each_time * n)) == {name}


def test_t32_what_fills_up_first_is_no_leak() -> None:
    assert growing_types(samples("resident", lambda n: 90e6 + 1e6 * min(n, COUNT // 2))) == set()


def test_t32_faults_that_come_and_go_are_no_leak() -> None:
    dice = random.Random(4)
    assert (
        growing_types(samples("sockets", lambda _: dice.choice([3.0, 13.0, 14.0, 15.0, 19.0])))
        == set()
    )


def test_t32_what_shrinks_is_no_leak() -> None:
    assert growing_types(samples("tasks", lambda n: 60.0 - n / 2)) == set()


def test_growth_is_the_rise_of_the_fitted_line() -> None:
    assert growth([3.0, 5.0, 7.0]) == pytest.approx(4.0)
    assert growth([7.0, 7.0, 7.0]) == 0.0
    assert growth([1.0]) == 0.0


def test_a_plot_is_one_line_from_low_to_high() -> None:
    assert plot([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert plot([5.0, 5.0]) == "▁▁"
    assert len(plot([float(n) for n in range(600)])) == 60
