"""`python -m baoctl.reload`: makes the server of this pod reload its files.

Runs as an ephemeral container that shares the process namespace of the server's container
(docs/rollouts.md). It waits until the mounted files have the expected content, which the kubelet
updates within one or two minutes. Then it sends SIGHUP to the server and exits.

Imports only the standard library, to start quickly. Exit status: 0 if the signal was sent, 1 if the
files did not change in time, 2 for invalid arguments, 3 if there is no server to signal.
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
POLL_SECONDS = 0.5
_NEVER = threading.Event()
DONE, LATE, NO_SERVER = 0, 1, 3
_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """One file, and the expected hash of its content (SHA-256, lower-case hex)."""

    path: Path
    digest: str
    digest_of: Callable[[bytes], str]

    def arrived(self) -> bool:
        """Whether the file has the expected content."""
        try:
            return self.digest_of(self.path.read_bytes()) == self.digest
        except OSError:
            return False


def content_digest(content: bytes) -> str:
    """Return the SHA-256 of the bytes."""
    return hashlib.sha256(content).hexdigest()


def certificate_digest(content: bytes) -> str:
    """Return the fingerprint of the first certificate of a PEM file; "" if there is none."""
    _, begin, rest = content.partition(_BEGIN)
    body, end, _ = rest.partition(_END)
    if not begin or not end:
        return ""
    try:
        return content_digest(base64.b64decode(b"".join(body.split()), validate=True))
    except binascii.Error:
        return ""


def server_process(processes: Path = PROCESSES) -> int | None:
    """Return the PID of the server: the oldest process of its name; None if there is none."""
    pids = []
    for folder in processes.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name = (folder / "comm").read_text(encoding="utf-8").strip()
        except OSError:
            # The process has ended.
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
    attempts = max(1, round(seconds / POLL_SECONDS))
    while missing := [file for file in expected if not file.arrived()]:
        attempts -= 1
        if not attempts:
            names = ", ".join(str(file.path) for file in missing)
            _print(f"files without the expected content after {seconds:g} s: {names}")
            return LATE
        pause(POLL_SECONDS)
    process = server_process(processes)
    if process is None:
        _print(f"there is no process {SERVER}")
        return NO_SERVER
    try:
        os.kill(process, signal.SIGHUP)
    except OSError as error:
        _print(f"process {process} cannot be signaled: {error.strerror}")
        return NO_SERVER
    _print(f"the files have the expected content: sent SIGHUP to {SERVER}, process {process}")
    return DONE


def _print(text: str) -> None:
    # The kubelet stores the last lines as the termination message of the container.
    sys.stdout.write(text + "\n")


def _file_parser(digest_of: Callable[[bytes], str]) -> Callable[[str], ExpectedFile]:
    def parse(text: str) -> ExpectedFile:
        path, equals, digest = text.rpartition("=")
        if not equals or not path or len(digest) != hashlib.sha256().digest_size * 2:
            raise argparse.ArgumentTypeError(f"{text!r} is not PATH=SHA256")
        return ExpectedFile(Path(path), digest, digest_of)

    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments and reload."""
    parser = argparse.ArgumentParser(prog="baoctl.reload", description=__doc__)
    for flag, digest_of in (("--file", content_digest), ("--certificate", certificate_digest)):
        parser.add_argument(
            flag,
            action="append",
            default=[],
            dest="expected",
            metavar="PATH=SHA256",
            type=_file_parser(digest_of),
        )
    parser.add_argument("--asked", help="Time of the request; only the operator reads it.")
    parser.add_argument("--seconds", type=float, default=240.0)
    options = parser.parse_args(arguments)
    return reload(options.expected, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
