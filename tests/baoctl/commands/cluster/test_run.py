"""`baoctl backup` and `restore` while they wait: the steps of a status and their display."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.cluster.run import wait_for_end
from baoctl.commands.cluster.run_steps import BACKUP_STEPS, FINAL_PHASES, RESTORE_STEPS, progress_of
from baoctl.commands.cluster.run_view import LineView, StepView
from contracts.api.backup import TERMINAL
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.api.restore import ENDED
from e2e.rig.paths import REPOSITORY
from runtime.errors import TransportError
from runtime.testing.clock import ManualClock
from runtime.testing.wait import eventually
from runtime.types import Resource
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import keep, world
from tests.baoctl.commands.cluster.recorded_cluster import healthy, with_spec
from tests.gen.api import Call, FakeApi

WIDTH = 60
JOB = {"phase": "Running", "key": "k", "jobUID": "u1", "message": "Job backup-x takes the snapshot"}
CREATED = {"phase": "Running", "execution": {"stage": "Created"}}

# sentence: (kind, status, step, completed steps)
STEPS: dict[str, tuple[Resource, Mapping[str, Any], str, int]] = {
    "not reconciled yet": (BACKUPS, {}, "Preconditions", 0),
    "waiting for a lock": (BACKUPS, {"phase": "Pending"}, "Preconditions", 0),
    "a key is reserved": (BACKUPS, {"phase": "Pending", "key": "k"}, "Reservation", 1),
    "the Job runs": (BACKUPS, JOB, "Job", 2),
    "the Job has reported": (BACKUPS, {**JOB, "report": {"jobUID": "u1"}}, "Cleanup", 3),
    "another Job has reported": (BACKUPS, {**JOB, "report": {"jobUID": "u0"}}, "Job", 2),
    "the snapshot is stored": (BACKUPS, {**JOB, "phase": "Completed"}, "Completed", 4),
    "the Job has failed": (BACKUPS, {**JOB, "phase": "Failed"}, "Job", 2),
    "an empty status of a restore": (RESTORES, {}, "Validation", 0),
    "validation": (RESTORES, {"phase": "Validating"}, "Validation", 0),
    "the lock is taken": (
        RESTORES, {"phase": "Running", "execution": {"stage": "Committed"}}, "Reservation", 1,
    ),
    "the restore Job runs": (RESTORES, CREATED, "Job", 2),
    "the restore Job sends the snapshot": (
        RESTORES, {**CREATED, "submissionClaim": {"size": 1}}, "Submission", 3,
    ),
    "the servers restart": (
        RESTORES,
        {"phase": "Running", "execution": {"stage": "Recovering"}, "submissionClaim": {"size": 1}},
        "Recovery",
        4,
    ),
    "nobody knows": (
        RESTORES,
        {"phase": "Unknown", "execution": {"stage": "Unknown"}, "submissionClaim": {"size": 1}},
        "Submission",
        3,
    ),
    "a newer operator has more stages": (
        RESTORES, {"phase": "Running", "execution": {"stage": "Polishing"}}, "Validation", 0,
    ),
    "the restore is complete": (RESTORES, {"phase": "Completed"}, "Completed", 5),
    "an invalid status": (BACKUPS, {"phase": 1, "key": [], "report": "x"}, "Preconditions", 0),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "status", "step", "done"), STEPS.values(), ids=STEPS.keys())
def test_the_step_of_a_status(
    kind: Resource, status: Mapping[str, Any], step: str, done: int
) -> None:
    progress = progress_of(kind, {"status": status})
    assert (progress.step, progress.done) == (step, done)
    assert progress.steps == (BACKUP_STEPS if kind is BACKUPS else RESTORE_STEPS)


def test_the_final_phases_are_those_of_the_api() -> None:
    assert FINAL_PHASES == TERMINAL == {*ENDED, "Unknown"}


# sentence: (status, seconds, screen)
SCREENS: dict[str, tuple[Mapping[str, Any] | None, float, tuple[str, ...]]] = {
    "not read yet": (
        None,
        0,
        ("⠋ Request ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 0/? 0:00:00", ""),
    ),
    "it waits": (
        {"phase": "Pending", "message": "Restore r1 is first"},
        65,
        (
            "⠹ Preconditions                                  0/4 0:01:05",
            "  Pending: Restore r1 is first",
        ),
    ),
    "the Job runs": (
        JOB,
        7.5,
        (
            "⠸ Job ━━━━━━━━━━━━━━━━━━━━                     2/4 0:00:07",
            "  Running: Job backup-x takes the snapshot",
        ),
    ),
    "hostile text is escaped": (
        {"phase": "Running", "message": "[bold]x\x1b[2J" + "y" * 60},
        0,
        (
            "⠋ Preconditions                                  0/4 0:00:00",
            "  Running:",
            "  [bold]x\\x1b[2J" + "y" * 44,
            "  " + "y" * 16,
        ),
    ),
    "completed": (
        {"phase": "Completed", "message": "stored as k"},
        3600,
        (
            "  Completed ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 4/4 1:00:00",
            "  Completed: stored as k",
        ),
    ),
}


@pytest.mark.parametrize(("status", "seconds", "screen"), SCREENS.values(), ids=SCREENS.keys())
async def test_a_terminal_shows_a_progress_bar(
    status: Mapping[str, Any] | None, seconds: float, screen: tuple[str, ...]
) -> None:
    clock, file = ManualClock(), io.StringIO()
    environ = {"TERM": "xterm"}
    out = Console(file=file, force_terminal=True, color_system=None, width=WIDTH, _environ=environ)
    view = StepView(out, clock)
    with out.capture():
        # From its first frame on, the spinner turns.
        out.print(view.screen())
    await clock.advance(seconds)
    if status is not None:
        view.show(progress_of(BACKUPS, {"status": status}))
    out.print(view.screen())
    assert tuple(line.rstrip() for line in file.getvalue().splitlines()) == screen


def test_without_a_terminal_each_change_is_a_line() -> None:
    lines = io.StringIO()
    view = LineView(lines)
    for status in ({}, JOB, JOB, {**JOB, "phase": "Completed", "message": "stored as k"}):
        view.show(progress_of(BACKUPS, {"status": status}))
    assert lines.getvalue().splitlines() == [
        "Pending",
        "Running: Job backup-x takes the snapshot",
        "Completed: stored as k",
    ]


RUN = {"metadata": {"name": "r1", "namespace": "ns", "uid": "u"}, "status": {"phase": "Completed"}}


class Unavailable(FakeApi):
    """Fails a number of reads."""

    def __init__(self, reads: int) -> None:
        super().__init__()
        self.reads = reads
        self.with_objects((RESTORES, RUN))

    async def answering(self, call: Call) -> None:
        self.reads -= 1
        if self.reads >= 0:
            raise TransportError("connection refused")


async def test_the_wait_continues_after_a_restart_of_the_api_server() -> None:
    clock = ManualClock()
    waiting = asyncio.create_task(
        wait_for_end(Session(Unavailable(9), clock, "ns"), RESTORES, "r1", 60, io.StringIO())
    )
    await clock.advance(10)
    assert (await waiting)["status"] == RUN["status"]


async def test_a_timeout_reports_the_last_failed_request() -> None:
    clock = ManualClock()
    waiting = asyncio.create_task(
        wait_for_end(Session(Unavailable(1000), clock, "ns"), RESTORES, "r1", 60, io.StringIO())
    )
    await clock.advance(60)
    with pytest.raises(RequestError, match="get openbaorestores r1; the last request failed: conn"):
        await waiting


class Terminal:
    """A pseudo-terminal and its output."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self._seen = b""

    @property
    def text(self) -> str:
        with suppress(BlockingIOError, OSError):
            while part := os.read(self._ours, 4096):
                self._seen += part
        return self._seen.decode()

    def close(self) -> None:
        os.close(self.theirs)
        os.close(self._ours)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


# sentence: (environment, whether it draws)
TERMINALS: dict[str, tuple[Mapping[str, str], bool]] = {
    "a terminal": ({"TERM": "xterm"}, True),
    "a terminal with NO_COLOR": ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    "a dumb terminal": ({"TERM": "dumb"}, False),
}


@pytest.mark.parametrize(("environ", "draws"), TERMINALS.values(), ids=TERMINALS.keys())
async def test_the_verb_draws_on_a_capable_terminal(
    tmp_path: Path, terminal: Terminal, environ: Mapping[str, str], draws: bool
) -> None:
    server = world()
    live = with_spec(healthy(), backup={"schedule": "0 3 * * *"}).cluster
    server.put(CLUSTERS, {**live, "metadata": {"name": "first", "namespace": "default"}})
    async with command_line(server, tmp_path) as baoctl:
        kept = {"PATH": os.environ["PATH"], "KUBECONFIG": str(baoctl.kubeconfig), **environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "baoctl", "backup", "first",
            cwd=REPOSITORY, env=kept, stdin=asyncio.subprocess.DEVNULL,
            stdout=terminal.theirs, stderr=terminal.theirs,
        )  # fmt: skip
        try:
            await eventually(lambda: server.objects(BACKUPS), seconds=60)
            (ordered,) = server.objects(BACKUPS)
            keep(server, {**ordered, "status": JOB})
            await eventually(lambda: "Job backup-x takes the snapshot" in terminal.text, seconds=60)
            done = {**JOB, "phase": "Completed", "snapshot": {"key": "k", "size": 5}}
            keep(server, {**ordered, "status": {**done, "message": "stored as k"}})
            assert await process.wait() == 0, terminal.text
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    text = terminal.text
    assert ("\x1b[" in text, "2/4" in text) == (draws, draws)
    lines = text.splitlines()
    assert [line.rpartition("\x1b[2K")[2] for line in lines[-2:]] == [
        "Completed: stored as k",
        "k 5 bytes",
    ]
