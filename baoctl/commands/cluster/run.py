"""Waits for the end of an OpenBaoBackup or OpenBaoRestore, and prints what becomes of it.

Uses runtime.client.client. Called by baoctl.commands.cluster.backup and restore.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from datetime import UTC
from typing import Final

from baoctl.commands.api_client import AskError, Session
from baoctl.commands.cluster.observed import text
from baoctl.exit_codes import ExitCode
from contracts.conditions.message import clean_message
from runtime.clock import Deadline
from runtime.types import Object, ObjectKey, Resource

PERIOD: Final = 1.0
"""Seconds between two looks."""


def run_name(api: Session, cluster: str, purpose: str) -> str:
    """Return a name for an object that is created now."""
    return f"{cluster}-{purpose}-{api.clock.now().astimezone(UTC):%Y%m%d-%H%M%S}"


async def ended(
    api: Session, kind: Resource, name: str, terminal: Collection[str], seconds: float
) -> Object:
    """Print each phase, and return the object in a terminal one. Raises AskError."""
    last = ""
    try:
        async with Deadline(api.clock, seconds):
            while True:
                live = await api.client.get(kind, ObjectKey(api.namespace, name))
                phase = text(live, "status", "phase") or "Pending"
                line = f"{phase}: {text(live, 'status', 'message')}".rstrip(": ")
                if line != last:
                    sys.stdout.write(f"{clean_message(line)}\n")
                    sys.stdout.flush()
                    last = line
                if phase in terminal:
                    return live
                await api.clock.sleep(PERIOD)
    except TimeoutError:
        late = (
            f"{kind.kind} {name} has not ended in {seconds:g} s; it goes on: "
            f"kubectl -n {api.namespace} get {kind.plural} {name}"
        )
        raise AskError(late, ExitCode.NOT_READY) from None
