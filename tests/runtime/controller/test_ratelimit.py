"""The exponential backoff and the token bucket, value by value."""

import math

import pytest

from runtime.controller.ratelimit import Bucket, ItemExponentialFailure, MaxOf
from runtime.testing.clock import ManualClock


def test_t05_delays_double_from_5_ms_to_the_cap_of_1000_s() -> None:
    limiter = ItemExponentialFailure()
    delays = [limiter.when("a") for _ in range(20)]
    assert delays[:4] == pytest.approx([0.005, 0.010, 0.020, 0.040])
    assert delays[17] == pytest.approx(655.36)
    assert delays[18:] == [1000.0, 1000.0]


def test_t05_forget_resets_only_one_item() -> None:
    limiter = ItemExponentialFailure(base=1.0, cap=8.0)
    for item in ("a", "a", "b"):
        limiter.when(item)
    limiter.forget("a")
    assert (limiter.num_requeues("a"), limiter.num_requeues("b")) == (0, 1)
    assert (limiter.when("a"), limiter.when("b")) == (1.0, 2.0)


def test_t05_many_failures_do_not_overflow() -> None:
    limiter = ItemExponentialFailure(base=0.001, cap=60.0)
    delays = [limiter.when("a") for _ in range(2000)]
    assert delays[-1] == 60.0
    assert limiter.num_requeues("a") == 2000


async def test_t05_bucket_lets_a_burst_of_100_pass_and_then_10_a_second() -> None:
    clock = ManualClock()
    bucket = Bucket(clock)
    assert [bucket.when(n) for n in range(100)] == [0.0] * 100
    assert [bucket.when(n) for n in range(3)] == pytest.approx([0.1, 0.2, 0.3])
    await clock.advance(0.3)
    assert bucket.when("a") == pytest.approx(0.1)


async def test_t05_bucket_fills_up_to_its_burst_only() -> None:
    clock = ManualClock()
    bucket = Bucket(clock, rate=1.0, burst=2)
    await clock.advance(3600)
    assert [bucket.when("a") for _ in range(3)] == pytest.approx([0.0, 0.0, 1.0])
    bucket.forget("a")
    assert bucket.when("a") == pytest.approx(2.0), "a reservation is not given back"
    assert bucket.num_requeues("a") == 0


def test_t05_the_longest_delay_wins_and_every_limiter_counts() -> None:
    fast = ItemExponentialFailure(base=1.0, cap=100.0)
    slow = ItemExponentialFailure(base=3.0, cap=4.0)
    limiter = MaxOf(fast, slow)
    assert [limiter.when("a") for _ in range(4)] == [3.0, 4.0, 4.0, 8.0]
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert (fast.num_requeues("a"), slow.num_requeues("a")) == (0, 0)


@pytest.mark.parametrize(
    ("base", "cap"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (math.nan, 1.0)], ids=str
)
def test_invalid_delays_are_rejected(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match="base"):
        ItemExponentialFailure(base=base, cap=cap)


def test_invalid_limiters_are_rejected() -> None:
    with pytest.raises(ValueError, match="at least one"):
        MaxOf()
    with pytest.raises(ValueError, match="rate"):
        Bucket(ManualClock(), rate=0.0)
    with pytest.raises(ValueError, match="burst"):
        Bucket(ManualClock(), burst=0)
