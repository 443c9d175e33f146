"""Background processes of a rig, identified by more than their pid.

A pid alone does not identify a process, because it may be reused. A record therefore has the pid,
the start time from /proc/<pid>/stat and the boot id of the machine, and a signal is sent through a
pidfd that was opened before the record was compared.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.errors import RigError

_TICKS = os.sysconf("SC_CLK_TCK")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

# The new process writes its record before it executes the server, so every server has a record.
# With noclobber (-C) only the first of two concurrent starts succeeds.
_STARTER = """
set -C
read -r boot </proc/sys/kernel/random/boot_id
read -r stat </proc/$$/stat
printf '%s\\n%s\\n' "$boot" "$stat" >"$1" || exit 1
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """A process: pid, start in clock ticks since boot, boot id."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Stat:
    """The part of /proc/<pid>/stat that identifies: pid, state letter, start in ticks, threads."""

    pid: int
    state: str
    start_ticks: int
    threads: int

    @property
    def ended(self) -> bool:
        """Whether all threads have exited.

        The first thread of a killed server is a zombie while other threads still hold its sockets:
        a restart at that time fails with "address in use".
        """
        return self.state in "ZX" and self.threads <= 1


def parse_stat(text: str) -> Stat:
    """Parse a line of /proc/<pid>/stat (man 5 proc); field 2, the name, is arbitrary."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(int(head.split("(", 1)[0]), fields[0], int(fields[19]), int(fields[17]))


def parse_record(text: str) -> Identity | None:
    """Parse a record; None while it is incomplete."""
    lines = text.split("\n")
    if len(lines) < 3 or not lines[1]:
        return None
    stat = parse_stat(lines[1])
    return Identity(stat.pid, stat.start_ticks, lines[0])


def parse_cpu_seconds(text: str, ticks: int = _TICKS) -> float:
    """Parse the CPU time, user and system, of a line of /proc/<pid>/stat (man 5 proc).

    `ticks` are the clock ticks per second of its machine.
    """
    # utime and stime; the name, which may contain blanks, ends at the last parenthesis.
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / ticks


def stat_of(pid: int) -> Stat | None:
    """Return the stat of a running process; None if it, or its last thread, has exited."""
    try:
        stat = parse_stat(Path(f"/proc/{pid}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if stat.ended else stat


def is_alive(identity: Identity) -> bool:
    """Whether this process is still running."""
    if _BOOT_ID.read_text().strip() != identity.boot_id:
        return False
    stat = stat_of(identity.pid)
    return stat is not None and stat.start_ticks == identity.start_ticks


def send(identity: Identity, number: signal.Signals) -> bool:
    """Send a signal to this process; False if it has exited."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def uptime_seconds(identity: Identity) -> float:
    """Return how long ago the process started."""
    since_boot = float(Path("/proc/uptime").read_text().split()[0])
    return since_boot - identity.start_ticks / _TICKS


@dataclass(frozen=True, slots=True)
class Command:
    """The command of a component: argv, and variables to add to the environment of the caller."""

    argv: Sequence[str]
    environment: Mapping[str, str]


class ProcessTable:
    """The recorded processes of one rig: one record and one log file per name."""

    def __init__(self, records: Path, logs: Path) -> None:
        self._records = records
        self._logs = logs

    def names(self) -> list[str]:
        """Return the names of all recorded processes."""
        if not self._records.exists():
            return []
        return sorted(path.name for path in self._records.iterdir())

    def log(self, name: str) -> Path:
        """Return the log file of ``name`` (stdout and stderr)."""
        return self._logs / f"{name}.log"

    def running(self, name: str) -> Identity | None:
        """Return the recorded process of ``name`` while it runs."""
        record = self._records / name
        try:
            identity = parse_record(record.read_text())
        except FileNotFoundError:
            return None
        return identity if identity is not None and is_alive(identity) else None

    def start(self, name: str, command: Command, deadline: float = 5.0) -> bool:
        """Start ``name`` unless it is running; True if it was started.

        Raises RigError when the record does not appear within ``deadline`` seconds.
        """
        if self.running(name):
            return False
        record = self._records / name
        record.unlink(missing_ok=True)
        with self.log(name).open("ab") as log:
            subprocess.run(
                ["setsid", "--fork", "sh", "-c", _STARTER, "sh", str(record), *command.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **command.environment},
                check=True,
            )
        until = time.monotonic() + deadline
        while not record.exists() or parse_record(record.read_text()) is None:
            if time.monotonic() > until:
                raise RigError(f"{name} did not start, see {self.log(name)}")
            time.sleep(0.005)
        return True

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal to ``name``; False if it is not running."""
        identity = self.running(name)
        return identity is not None and send(identity, number)

    def stop(self, names: Sequence[str], grace: float) -> None:
        """Stop ``names``: SIGTERM to all, SIGKILL to those that run after ``grace`` seconds.

        A paused process is continued first, so that it can handle SIGTERM.
        """
        alive = {name: live for name in names if (live := self.running(name))}
        for identity in alive.values():
            send(identity, signal.SIGTERM)
            send(identity, signal.SIGCONT)
        wait_gone(list(alive.values()), grace)
        for name, identity in alive.items():
            send(identity, signal.SIGKILL)
            if not wait_gone([identity], 5.0):
                raise RigError(f"{name} (pid {identity.pid}) survives SIGKILL")
        for name in names:
            (self._records / name).unlink(missing_ok=True)


def wait_gone(identities: Sequence[Identity], seconds: float) -> bool:
    """Wait until all processes have exited; False after the timeout."""
    until = time.monotonic() + seconds
    while any(is_alive(identity) for identity in identities):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def find_by_argument(program: str, argument: str) -> list[Identity]:
    """Return all running processes of ``program`` that have the argument ``argument``.

    Compares the file name of the program, and whole arguments.
    """
    word = argument.encode()
    boot = _BOOT_ID.read_text().strip()
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            first, *words = (entry / "cmdline").read_bytes().split(b"\0")
            if word in words and Path(os.fsdecode(first)).name == program:
                stat = stat_of(int(entry.name))
                pids += [Identity(stat.pid, stat.start_ticks, boot)] if stat else []
    return pids
