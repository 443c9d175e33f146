"""The task of the work that only a leader does.

Uses asyncio. Called by runtime.leader.leader.
"""

import asyncio
from collections.abc import Awaitable, Callable


async def run_work(work: Callable[[], Awaitable[None]]) -> None:
    """Run the work as a coroutine, which a task requires."""
    await work()


async def until_any(
    tasks: set[asyncio.Task[None]], work: asyncio.Task[None]
) -> asyncio.CancelledError | None:
    """Wait for one of the tasks. Our own cancellation is passed on to `work` and returned.

    Repeated cancellations do not end the wait: the work must not outlive this task.
    """
    interrupted = None
    while True:
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as error:
            interrupted = error
            work.cancel()
        else:
            return interrupted


def error_of(work: asyncio.Task[None]) -> BaseException | None:
    """Return why the work failed; None if it did not, or was cancelled.

    Without this call asyncio logs the error when the task is garbage-collected.
    """
    return None if work.cancelled() else work.exception()
