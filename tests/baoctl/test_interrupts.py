"""Ctrl-C while `baoctl` asks, watches or waits. The processes have a terminal of their own."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from e2e.rig.paths import REPOSITORY
from runtime.clock import SystemClock
from runtime.testing.api_server.server import FakeApiServer
from runtime.types import ObjectKey
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of, world
from tests.baoctl.commands.cluster.recorded_cluster import healthy, with_spec

SECONDS = 30.0
"""Bound of the real time that a process may take."""
SHOW_CURSOR, LEAVE_SCREEN = "\x1b[?25h", "\x1b[?1049l"


def interrupted(kubeconfig: Path, words: tuple[str, ...], shown: str) -> tuple[int, str]:
    """Interrupt a verb once its terminal shows a text; return the exit status and the output."""
    master, terminal = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "baoctl", *words],
        cwd=REPOSITORY,
        env={**environ, "KUBECONFIG": str(kubeconfig), "TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    output = ""
    try:
        while chunk := _read(master):
            before, output = output, output + chunk
            if shown in output and shown not in before:
                _await_sleep(process.pid)
                process.send_signal(signal.SIGINT)
        return process.wait(timeout=SECONDS), output
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _await_sleep(pid: int) -> None:
    """Wait until a process waits for an event: a signal before input() reads is not noticed."""
    clock = SystemClock()
    began = clock.monotonic()
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        assert clock.monotonic() - began < SECONDS
        os.sched_yield()


def _read(master: int) -> str:
    try:
        return os.read(master, 4096).decode(errors="replace")
    except OSError:
        # The last process that has the terminal open has ended.
        return ""


def with_backups() -> FakeApiServer:
    view = with_spec(healthy(), backup={"schedule": "0 3 * * *"})
    return server_of([view.cluster, *view.pods])


# sentence: (the API server, words, text after which Ctrl-C follows)
CASES: dict[str, tuple[Callable[[], FakeApiServer], tuple[str, ...], str]] = {
    "the name of a cluster": (world, ("hibernate", "first"), "to continue"),
    "a watch": (world, ("status", "first", "--watch"), "first"),
    "a wait": (with_backups, ("backup", "first"), "Pending"),
}


@pytest.mark.parametrize(("world_of", "words", "shown"), CASES.values(), ids=CASES.keys())
async def test_an_interrupt_ends_a_verb(
    world_of: Callable[[], FakeApiServer], words: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    server = world_of()
    async with command_line(server, tmp_path) as baoctl:
        code, output = await asyncio.to_thread(interrupted, baoctl.kubeconfig, words, shown)
    assert (code, "Traceback" in output, "Error" in output) == (130, False, False), output
    live = server.get(CLUSTERS, ObjectKey("default", "first"))
    assert live is not None
    assert not live["spec"].get("hibernate")


@pytest.mark.parametrize("name", ["a watch", "a wait"])
async def test_an_interrupt_restores_the_terminal(name: str, tmp_path: Path) -> None:
    world_of, words, shown = CASES[name]
    async with command_line(world_of(), tmp_path) as baoctl:
        _, output = await asyncio.to_thread(interrupted, baoctl.kubeconfig, words, shown)
    assert SHOW_CURSOR in output.partition(shown)[2]
    assert ("\x1b[?1049h" in output) is (LEAVE_SCREEN in output.partition(shown)[2])


def test_an_interrupt_during_the_imports_prints_no_traceback(tmp_path: Path) -> None:
    """Python imports this module instead of click, which comes with the table of verbs."""
    module = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / "click.py").write_text(module, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "--version"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_an_ignored_interrupt_is_ignored_during_the_imports(tmp_path: Path) -> None:
    """As in a script that starts a verb in the background."""
    module = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit(7)\n"
    (tmp_path / "click.py").write_text(module, encoding="utf-8")
    words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "baoctl"]
    done = subprocess.run(
        words,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 7


def test_every_program_starts_with_that_function() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["scripts"].values()) == {"baoctl.__main__:main"}
    assert '"baoctl.__main__.main"' in (REPOSITORY / "release/cli_archive.py").read_text()
