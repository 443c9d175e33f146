"""Runs other programs: short ones silently, long ones with a progress line every 20 seconds."""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.rig.errors import RigError
from e2e.rig.locks import HEARTBEAT_SECONDS
from e2e.rig.progress import Progress

_SHOWN = 3000


def require_root(what: str) -> None:
    """Raise RigError unless this process is root."""
    if os.geteuid() != 0:
        raise RigError(f"{what} needs root: namespaces, mounts and cgroups (try sudo -E)")


def run(*argv: str) -> str:
    """Run a command and return its output. Raises RigError with its error output."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RigError(f"{argv[0]} is not installed") from error
    if done.returncode != 0:
        output_text = (done.stderr or done.stdout).strip()
        raise RigError(f"`{' '.join(argv)}` failed: {output_text[-_SHOWN:]}")
    return done.stdout


def run_long(
    what: str,
    argv: Sequence[str],
    progress: Progress,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command that may take minutes; ``what`` names it in the progress lines.

    Its output is shown only in the RigError of a failure. An exception here kills it.
    """
    started = time.monotonic()
    progress(what)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            while _wait(process) is None:
                progress(f"{what}: {time.monotonic() - started:.0f} s so far")
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode != 0:
            output.seek(0)
            output_text = output.read().decode(errors="replace").strip()
            raise RigError(f"{what} failed (`{' '.join(argv)}`):\n{output_text[-_SHOWN:]}")
    progress(f"{what}: done in {time.monotonic() - started:.1f} s")


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(HEARTBEAT_SECONDS)
    return None
