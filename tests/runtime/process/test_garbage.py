"""runtime.process.garbage.

The garbage of closed connections is collected, however high the thresholds are.
"""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from runtime.clock import yield_to_loop
from runtime.process.garbage import OLDER_EVERY, PERIOD, Garbage
from runtime.testing.clock import ManualClock


class Session:
    """A reference cycle, as of a connection whose error refers to its frame."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def _no_thresholds() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def test_t31_young_garbage_is_collected_after_a_period() -> None:
    clock = ManualClock()
    running = asyncio.create_task(Garbage(clock).run())
    await yield_to_loop()
    left = weakref.ref(Session())
    assert left() is not None
    await clock.advance(PERIOD)
    assert left() is None
    running.cancel()


async def test_t31_survivors_are_collected_later() -> None:
    clock = ManualClock()
    running = asyncio.create_task(Garbage(clock).run())
    await yield_to_loop()
    session = Session()
    left = weakref.ref(session)
    await clock.advance(PERIOD)
    del session
    for _ in range(OLDER_EVERY - 1):
        await clock.advance(PERIOD)
    assert left() is None
    running.cancel()
