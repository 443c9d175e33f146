"""T32: the soak test detects growth, and none in noise."""

import random
from collections.abc import Callable

import pytest

from e2e.soak.growth import LIMITS, Sample, growth, judge, plot

COUNT = 60
STEADY: Sample = {"tasks": 27.0, "sockets": 14.0, "files": 21.0, "resident": 110e6}

Course = Callable[[int], float]


def samples(name: str, course: Course) -> list[Sample]:
    """A steady process, except for one number."""
    return [{**STEADY, name: course(number)} for number in range(COUNT)]


def growing_types(samples: list[Sample]) -> set[str]:
    return {verdict.limit.name for verdict in judge(samples) if verdict.grows}


@pytest.mark.parametrize("name", [limit.name for limit in LIMITS])
def test_t32_a_leak_is_detected(name: str) -> None:
    one_each_time = 1.0 if name != "resident" else 0.3e6
    assert growing_types(samples(name, lambda n: STEADY[name] + one_each_time * n)) == {name}


def test_t32_an_initial_growth_is_not_a_leak() -> None:
    assert growing_types(samples("resident", lambda n: 90e6 + 1e6 * min(n, COUNT // 2))) == set()


def test_t32_noise_by_faults_is_not_a_leak() -> None:
    dice = random.Random(4)
    assert (
        growing_types(samples("sockets", lambda _: dice.choice([3.0, 13.0, 14.0, 15.0, 19.0])))
        == set()
    )


def test_t32_a_decrease_is_not_a_leak() -> None:
    assert growing_types(samples("tasks", lambda n: 60.0 - n / 2)) == set()


def test_growth_is_the_increase_of_the_regression_line() -> None:
    assert growth([3.0, 5.0, 7.0]) == pytest.approx(4.0)
    assert growth([7.0, 7.0, 7.0]) == 0.0
    assert growth([1.0]) == 0.0


def test_a_plot_is_one_line_of_scaled_bars() -> None:
    assert plot([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert plot([5.0, 5.0]) == "▁▁"
    assert len(plot([float(n) for n in range(600)])) == 60
