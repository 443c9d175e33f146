"""baoctl.commands.login.connection: the effect of a signal."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from baoctl.commands.login.processes import termination_signals
from runtime.testing.wait import eventually


async def test_a_signal_cancels_the_task_of_the_block_and_is_returned() -> None:
    numbers: list[int] = []

    async def block() -> None:
        nonlocal numbers
        with termination_signals() as numbers:
            os.kill(os.getpid(), signal.SIGTERM)
            await eventually(lambda: numbers)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(block())
    assert numbers == [signal.SIGTERM]
