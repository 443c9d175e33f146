"""The termination message of a pod. Uses the standard library."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TERMINATION_LOG: Final = Path("/dev/termination-log")
_BYTES = 4000


def write_termination_message(text: str, path: Path = TERMINATION_LOG) -> None:
    """Write the termination message."""
    try:
        path.write_text(text[:_BYTES], encoding="utf-8")
    except OSError:
        # Not in a pod, or the file cannot be written: the log also contains the message.
        return
