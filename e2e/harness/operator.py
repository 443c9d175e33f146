"""Operator processes, started from the checkout in the network namespace of the rig.

They end with the test session: the kernel kills them with their parent (PR_SET_PDEATHSIG). Most are
forks of one process that has loaded their code (e2e.harness.fork_server).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from e2e.harness.audit import AuditLog, refusals
from e2e.harness.forked_process import ForkedProcesses, Process
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Object
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.rig.processes import parse_cpu_seconds

IMAGE_REPOSITORY = "localhost/openbao"
NO_ELECTION = "--no-leader-elect"
_GRACE = 15.0
# Texts that must not occur in a log, at any level (rule I21 of the safety list).
_NEVER = ("Task exception was never retrieved", "was never awaited", "Unclosed client session")


@dataclass(slots=True)
class Operator:
    """One process, running or exited."""

    name: str
    identity: Identity
    log: Path
    process: Process
    faults_expected: bool = field(default=False)
    """Errors in the log are expected, because the scenario injects faults."""

    @property
    def alive(self) -> bool:
        """Whether it is running (also if it is frozen)."""
        return self.process.poll() is None

    def lines(self) -> list[Object]:
        """Read the log; lines that are not JSON become {"msg": text, "level": "raw"}."""
        return [_parse(line) for line in self.log.read_bytes().splitlines() if line.strip()]

    def has_logged(self, event: str) -> bool:
        """Whether a line with this message is in the log."""
        return any(line.get("msg") == event for line in self.lines())

    def await_leading(self, seconds: float = 60.0) -> None:
        """Wait until it holds the Lease."""
        until(f"{self.name} leads", lambda: self._has_logged_or_ended("became leader"), seconds)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process."""
        self.process.send_signal(number)

    def freeze(self) -> None:
        """Stop an operator of e2e.harness.freezing_operator between two callbacks of its loop."""
        self.process.send_signal(signal.SIGUSR1)
        until(f"{self.name} is frozen", self._is_stopped, 5.0, every=0.002)

    def stop(self) -> int:
        """Send SIGTERM, SIGKILL after a timeout, and return the exit status."""
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        return self.wait(_GRACE, kill=True)

    def kill(self) -> int:
        """Kill it without grace period, as the loss of a node does."""
        self.process.kill()
        return self.process.wait()

    def wait(self, seconds: float, *, kill: bool = False) -> int:
        """Wait until it exits and return the exit status. Raises TimeoutExpired."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            if not kill:
                raise
            return self.kill()

    def complaints(self) -> list[str]:
        """Return the warnings and errors in the log that are not expected."""
        return list(_complaints(self.lines()))

    def resident_megabytes(self) -> float:
        """Return its resident memory (VmRSS)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def processor_seconds(self) -> float:
        """Return its CPU time, user and system."""
        return parse_cpu_seconds(Path(f"/proc/{self.process.pid}/stat").read_text())

    def waiting_seconds(self) -> float:
        """Return how long its main thread was ready to run and had no core."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9

    def _is_stopped(self) -> bool:
        return self._stat()[0] == "T"

    def _stat(self) -> list[str]:
        """The fields of proc(5) after the name, which may have blanks: state, ppid, ..."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()

    def _has_logged_or_ended(self, event: str) -> bool:
        if not self.alive:
            raise AssertionError(f"{self.name} has exited:\n{self.tail()}")
        return self.has_logged(event)

    def tail(self, lines: int = 20) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _parse(line: bytes) -> Object:
    try:
        record = orjson.loads(line)
    except ValueError:
        record = None
    if isinstance(record, dict):
        return record
    return {"msg": line.decode(errors="replace"), "level": "raw"}


def _complaints(lines: Sequence[Object]) -> Iterator[str]:
    for line in lines:
        text = str(line.get("msg", ""))
        severe = line.get("level") in ("error", "critical", "raw")
        if severe or any(never in text for never in _NEVER):
            yield orjson.dumps(line).decode()[:600]


@dataclass(slots=True)
class Launcher:
    """Starts operators of one rig, and stops them at the end."""

    rig: Rig
    folder: Path
    forks: ForkedProcesses | None = None
    """The fork server for `start`; None: each process has its own interpreter."""
    inside: Callable[..., list[str]] | None = None
    """Wraps a command to run it elsewhere than on the node, such as in the network of a pod."""
    started: "list[Operator]" = field(default_factory=list)

    def start(
        self,
        identity: Identity,
        *arguments: str,
        module: Sequence[str] = ("baoctl", "run"),
        environment: Mapping[str, str] | None = None,
    ) -> Operator:
        """Start `python -m baoctl run` (or another module) with a new log file."""
        argv = [*module, "--kubeconfig", str(identity.kubeconfig), "--port", "0", *arguments]
        if self.forks is None:
            return self.launch(identity, [sys.executable, "-m", *argv], environment)
        log = self._log()
        process = self.forks.start(argv, _variables(environment), log)
        return self._keep(identity, log, process)

    def launch(
        self, identity: Identity, argv: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Operator:
        """Start a command that is, or executes, an operator with the credentials of `identity`."""
        log = self._log()
        with log.open("wb") as output:
            process = subprocess.Popen(
                (self.inside or self.rig.inside)("setpriv", "--pdeathsig", "KILL", "--", *argv),
                cwd=REPOSITORY,
                env=_variables(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return self._keep(identity, log, process)

    def _log(self) -> Path:
        return self.folder / f"operator-{len(self.started)}-{time.monotonic_ns()}.log"

    def _keep(self, identity: Identity, log: Path, process: Process) -> Operator:
        operator = Operator(f"operator-{len(self.started)}", identity, log, process)
        self.started.append(operator)
        return operator

    def stop_all(self) -> None:
        """Stop all running operators; fail if one of them failed or logged errors."""
        complaints = []
        for operator in self.started:
            was_alive = operator.alive
            status = operator.stop()
            if operator.faults_expected:
                continue
            if was_alive and status != 0:
                complaints.append(f"{operator.name} exited with {status}:\n{operator.tail()}")
            complaints += operator.complaints()
        self.started.clear()
        assert not complaints, "\n".join(complaints)


def _variables(environment: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **operator_environment(), **(environment or {})}


def operator_environment() -> dict[str, str]:
    """Return the variables that a Deployment would set."""
    return {
        "RELATED_IMAGE_OPENBAO": IMAGE_REPOSITORY,
        "LISTEN_ADDRESS": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
    }


def run_without_refusals(
    launcher: Launcher,
    audit: AuditLog,
    identity: Identity,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Operator]:
    """Run one operator for a fixture; fails if it exits early, or if a request is refused."""
    mark = audit.mark()
    started = launcher.start(identity, NO_ELECTION, environment=environment)
    yield started
    assert started.alive, started.tail()
    assert not (no := refusals(audit.since(mark, identity.user))), "\n".join(map(str, no))
