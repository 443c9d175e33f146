"""runtime.backoff: the delays, their jitter, and their reset."""

import random

from runtime.backoff import REFUSED_LADDER, UNREACHABLE_LADDER, Backoff
from runtime.testing.clock import ManualClock


def test_backoff_doubles_up_to_its_cap_with_jitter_and_is_reset_after_calm() -> None:
    clock = ManualClock()
    backoff = Backoff(clock, random.Random(1), REFUSED_LADDER)
    ladder = [backoff.delay() for _ in range(8)]
    for delay, low in zip(ladder, (0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0, 15.0), strict=True):
        assert low <= delay <= 2 * low
    assert len({round(delay, 6) for delay in ladder}) == 8


async def test_the_backoff_is_reset_only_after_a_calm_time() -> None:
    initial, _, calm = UNREACHABLE_LADDER
    clock = ManualClock()
    backoff = Backoff(clock, random.Random(1), UNREACHABLE_LADDER)
    await clock.advance(backoff.delay() + calm - 0.01)
    assert backoff.delay() >= 2 * initial
    await clock.advance(4 * initial + calm + 0.01)
    assert backoff.delay() <= 2 * initial
