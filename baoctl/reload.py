"""`python -m baoctl.reload`: tell the server of this pod to read its files again.

Runs as an ephemeral container that shares the process namespace of the server's container
(docs/rollouts.md). Waits until the mounted files are the expected ones - the kubelet takes up to a
minute or two to show what changed - then sends SIGHUP to the server and ends.

Uses the standard library alone and starts at once. Exit status: 0 the signal was sent, 1 the files
did not come in time, 2 wrong arguments, 3 there is no server to signal.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SERVER = "bao"
PROCESSES = Path("/proc")
EVERY = 0.5
_NEVER = threading.Event()
DONE, LATE, NO_SERVER = 0, 1, 3
_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """One file, and what its content must hash to (SHA-256, lower-case hex)."""

    path: Path
    digest: str
    measure: Callable[[bytes], str]

    def arrived(self) -> bool:
        """Whether the file is there and is the expected one."""
        try:
            return self.measure(self.path.read_bytes()) == self.digest
        except OSError:
            return False


def content_digest(content: bytes) -> str:
    """SHA-256 of the bytes."""
    return hashlib.sha256(content).hexdigest()


def certificate_digest(content: bytes) -> str:
    """Fingerprint of the first certificate of a PEM file; "" when there is none."""
    _, begin, rest = content.partition(_BEGIN)
    body, end, _ = rest.partition(_END)
    if not begin or not end:
        return ""
    try:
        return content_digest(base64.b64decode(b"".join(body.split()), validate=True))
    except binascii.Error:
        return ""


def server_process(processes: Path = PROCESSES) -> int | None:
    """Return the first process of that name: the one that all others of the container came from."""
    pids = []
    for folder in processes.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name = (folder / "comm").read_text(encoding="utf-8").strip()
        except OSError:
            # It ended meanwhile.
            continue
        if name == SERVER:
            pids.append(int(folder.name))
    return min(pids, default=None)


def reload(
    expected: Sequence[ExpectedFile],
    seconds: float,
    *,
    processes: Path = PROCESSES,
    pause: Callable[[float], object] = _NEVER.wait,
) -> int:
    """Wait for the files, signal the server, and return the exit status."""
    looks = max(1, round(seconds / EVERY))
    while missing := [one for one in expected if not one.arrived()]:
        looks -= 1
        if not looks:
            names = ", ".join(str(one.path) for one in missing)
            _say(f"not the expected content after {seconds:g} s: {names}")
            return LATE
        pause(EVERY)
    process = server_process(processes)
    if process is None:
        _say(f"no process is called {SERVER}")
        return NO_SERVER
    try:
        os.kill(process, signal.SIGHUP)
    except OSError as error:
        _say(f"process {process} cannot be signalled: {error.strerror}")
        return NO_SERVER
    _say(f"the files are in place: sent SIGHUP to {SERVER}, process {process}")
    return DONE


def _say(text: str) -> None:
    # The kubelet keeps the last lines as the message of the ended container.
    sys.stdout.write(text + "\n")


def _expected(measure: Callable[[bytes], str]) -> Callable[[str], ExpectedFile]:
    def parse(text: str) -> ExpectedFile:
        path, equals, digest = text.rpartition("=")
        if not equals or not path or len(digest) != hashlib.sha256().digest_size * 2:
            raise argparse.ArgumentTypeError(f"{text!r} is not PATH=SHA256")
        return ExpectedFile(Path(path), digest, measure)

    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(prog="baoctl.reload", description=__doc__)
    for flag, measure in (("--file", content_digest), ("--certificate", certificate_digest)):
        parser.add_argument(
            flag,
            action="append",
            default=[],
            dest="expected",
            metavar="PATH=SHA256",
            type=_expected(measure),
        )
    parser.add_argument("--asked", help="When it was asked for; only the operator reads it.")
    parser.add_argument("--seconds", type=float, default=240.0)
    read = parser.parse_args(arguments)
    return reload(read.expected, read.seconds)


if __name__ == "__main__":
    sys.exit(main())
