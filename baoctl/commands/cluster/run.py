"""Waits for the end of an OpenBaoBackup or OpenBaoRestore, and shows its progress.

Uses runtime.client.client and baoctl.commands.cluster.run_view. Called by
baoctl.commands.cluster.backup and baoctl.commands.cluster.restore.
"""

from __future__ import annotations

import sys
from datetime import UTC
from typing import Final, TextIO

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.cluster.run_steps import FINAL_PHASES, progress_of
from baoctl.commands.cluster.run_view import run_view
from baoctl.commands.cluster.terminal import STRUCTURED, format_structured
from baoctl.exit_codes import ExitCode
from contracts.conditions.message import clean_message
from runtime.clock import Deadline
from runtime.errors import Transient
from runtime.types import Object, ObjectKey, Resource

PERIOD: Final = 1.0
"""Seconds between two reads."""


def run_name(api: Session, cluster: str, purpose: str) -> str:
    """Return a name for an object that is created now."""
    return f"{cluster}-{purpose}-{api.clock.now().astimezone(UTC):%Y%m%d-%H%M%S}"


def progress_stream(output: str) -> TextIO:
    """Return the stream for the progress: standard error if a program reads the output."""
    return sys.stderr if output in STRUCTURED else sys.stdout


async def wait_for_end(
    api: Session, kind: Resource, name: str, seconds: float, stream: TextIO
) -> Object:
    """Show the progress on a stream, and return the object once its phase is final.

    The API server may be unavailable for a time, for example during its upgrade. Raises
    RequestError if the phase is not final within `seconds`.
    """
    last_error = ""
    try:
        async with Deadline(api.clock, seconds):
            with run_view(api.clock, stream) as show:
                while True:
                    try:
                        live = await api.client.get(kind, ObjectKey(api.namespace, name))
                    except Transient as error:
                        last_error = f"; the last request failed: {error}"
                    else:
                        last_error, progress = "", progress_of(kind, live)
                        show(progress)
                        if progress.phase in FINAL_PHASES:
                            return live
                    await api.clock.sleep(PERIOD)
    except TimeoutError:
        text = (
            f"{kind.kind} {name} has not finished in {seconds:g} s and continues: "
            f"kubectl -n {api.namespace} get {kind.plural} {name}{clean_message(last_error)}"
        )
        raise RequestError(text, ExitCode.NOT_READY) from None


def print_object(live: Object, output: str) -> None:
    """Print an object as JSON or YAML, without metadata.managedFields, as kubectl does."""
    metadata = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
    sys.stdout.write(format_structured({**live, "metadata": metadata}, output))
