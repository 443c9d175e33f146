"""`baoctl pause --for`: pauses a cluster, waits, and resumes it.

Uses baoctl.commands.cluster.order. Called by baoctl.verbs.orders. The API knows no end of a pause,
so this process keeps it; when it is killed, `status` and `doctor` tell of the pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from baoctl.commands.cluster.order import ClusterOrder, carry_out
from baoctl.options import Access
from contracts.api.values.duration import parse_duration
from runtime.clock import Clock, SystemClock


def seconds_of(period: str) -> float:
    """Read a period; raises ValueError for one that is none."""
    seconds = parse_duration(period).total_seconds()
    if seconds <= 0:
        raise ValueError("must be longer than 0")
    return seconds


def pause_for(
    cluster: str,
    seconds: float,
    access: Access,
    echo: Callable[[str], object],
    clock: Clock | None = None,
) -> None:
    """Pause it, and resume it after that time, or when the user interrupts. Raises AskError."""
    echo(carry_out(ClusterOrder("pause", cluster), access))
    echo(f"Resumes in {seconds:g} s, or at once with Ctrl-C.")
    try:
        asyncio.run((clock or SystemClock()).sleep(seconds))
    except KeyboardInterrupt:
        echo("Interrupted.")
    echo(carry_out(ClusterOrder("resume", cluster), access))
