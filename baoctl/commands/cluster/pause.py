"""`baoctl pause --for`: pauses a cluster, waits, and resumes it.

Uses baoctl.commands.cluster.patch. Called by baoctl.verbs.edits. The API has no timed pause, so
this process resumes the cluster. If it is killed, the cluster stays paused, and `status` and
`doctor` report the pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from baoctl.commands.api_client import RequestError
from baoctl.commands.cluster.patch import EditRequest, edit_cluster
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.values.duration import parse_duration
from runtime.clock import Clock, SystemClock


def seconds_of(period: str) -> float:
    """Parse a duration, such as 30m. Raises ValueError if it is invalid or not longer than 0."""
    try:
        seconds = parse_duration(period).total_seconds()
    except ValueError:
        rule = "must be a duration of h, m and s, as in 90s, 30m or 1h30m"
        raise ValueError(f"{period[:80]!r}: {rule}") from None
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
    """Pause a cluster, and resume it after a time or an interrupt. Raises RequestError."""
    echo(edit_cluster(EditRequest("pause", cluster), access))
    echo(f"Resumes in {seconds:g} s, or immediately with Ctrl-C.")
    try:
        asyncio.run((clock or SystemClock()).sleep(seconds))
    except KeyboardInterrupt:
        echo("Interrupted.")
    try:
        echo(edit_cluster(EditRequest("resume", cluster), access))
    except (KeyboardInterrupt, RequestError) as error:
        code = error.exit_code if isinstance(error, RequestError) else ExitCode.ERROR
        text = (
            f"{str(error) or 'interrupted'}; the cluster stays paused until baoctl resume {cluster}"
        )
        raise RequestError(text, code) from None
