"""baoctl.commands.login.processes: real processes, and none that outlives its block."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from baoctl.commands.login import processes
from baoctl.commands.login.processes import kubectl_arguments, port_forward, run, user_shell
from baoctl.exit_codes import VerbError
from baoctl.options import Access
from runtime.clock import Deadline, SystemClock, yield_to_loop
from runtime.testing.clock import ManualClock

CLOCK = SystemClock()
FORWARDING = "Forwarding from 127.0.0.1:40321 -> 8200"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def began(folder: Path) -> None:
    """Wait until the process has written its file."""
    async with Deadline(CLOCK, 30.0):
        while not (folder / "began").exists():
            await CLOCK.sleep(0.01)


WAITS = (
    "import pathlib, signal, sys\n"
    "def end(number, frame):\n"
    "    pathlib.Path({folder!r}, 'ended').write_text(str(number)); sys.exit(0)\n"
    "signal.signal({end_signal}, end)\n"
    "print({line!r}, flush=True)\n"
    "pathlib.Path({folder!r}, 'began').touch()\n"
    "signal.pause()\n"
)


def waits(folder: Path, end_signal: str = "signal.SIGTERM", line: str = FORWARDING) -> list[str]:
    return python(WAITS.format(folder=str(folder), end_signal=end_signal, line=line))


def test_kubectl_gets_the_kubeconfig_and_context_of_the_user() -> None:
    words = kubectl_arguments(Access("/k", "ctx"), "ns", "first-0", 8200)
    assert words == [
        "kubectl", "--kubeconfig", "/k", "--context", "ctx", "--namespace", "ns", "port-forward",
        "--address", "127.0.0.1", "pod/first-0", ":8200",
    ]  # fmt: skip
    assert "--context" not in kubectl_arguments(Access(), "ns", "first-0", 8200)


def test_the_shell_of_the_user_is_started() -> None:
    assert (user_shell({"SHELL": "/bin/zsh"}), user_shell({"SHELL": ""})) == ("/bin/zsh", "/bin/sh")


async def test_a_port_forward_ends_with_its_block(tmp_path: Path) -> None:
    async with port_forward(waits(tmp_path), "first-0", tmp_path, CLOCK) as port:
        assert port == 40321
        assert not (tmp_path / "ended").exists()
    assert (tmp_path / "ended").read_text() == str(int(signal.SIGTERM))


async def test_a_port_forward_that_ends_early_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = python(f"print({FORWARDING!r}, flush=True); import time; time.sleep(0.3)")
    async with port_forward(ends, "first-0", tmp_path, CLOCK):
        err = ""
        while "ended" not in err:
            await CLOCK.sleep(0.01)
            err += capsys.readouterr().err
    assert "The port-forward to first-0 ended" in err


async def test_a_failing_or_missing_kubectl_is_an_error(tmp_path: Path) -> None:
    fails = python("import sys; sys.exit('error: no such pod')")
    with pytest.raises(VerbError, match="port-forward to first-0: error: no such pod"):
        async with port_forward(fails, "first-0", tmp_path, CLOCK):
            pass
    with pytest.raises(VerbError, match="kubectl cannot be started"):
        async with port_forward(["/nonexistent"], "first-0", tmp_path, CLOCK):
            pass


async def test_a_silent_kubectl_is_an_error_after_the_timeout(tmp_path: Path) -> None:
    clock = ManualClock()

    async def forward() -> None:
        async with port_forward(waits(tmp_path, line="x"), "first-0", tmp_path, clock):
            pass

    task = asyncio.create_task(forward())
    await began(tmp_path)
    await clock.advance(processes.START_SECONDS + 1)
    with pytest.raises(VerbError, match="not ready in 30 s"):
        await task
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(("code", "status"), [("sys.exit(7)", 7), ("os.abort()", 134)])
async def test_the_exit_status_is_that_of_a_shell(code: str, status: int) -> None:
    command = python(f"import os, sys; {code}")
    assert await run(command, {}, CLOCK, end_signal=signal.SIGTERM) == status


async def test_a_command_gets_only_the_given_environment(tmp_path: Path) -> None:
    file = tmp_path / "environ"
    code = f"import os; open({str(file)!r}, 'w').write(','.join(os.environ))"
    await run(python(code), {"BAO_ADDR": "x"}, CLOCK, end_signal=signal.SIGTERM)
    assert "BAO_ADDR" in file.read_text().split(",")
    assert "PATH" not in file.read_text().split(",")


async def test_a_command_is_ended_with_its_task(tmp_path: Path) -> None:
    command = waits(tmp_path, "signal.SIGHUP")
    task = asyncio.create_task(run(command, {}, CLOCK, end_signal=signal.SIGHUP))
    await began(tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "ended").read_text() == str(int(signal.SIGHUP))


async def test_a_command_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    code = (
        "import pathlib, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(tmp_path)!r}, 'began').touch()\n"
        "while True: signal.pause()\n"
    )
    clock = ManualClock()
    task = asyncio.create_task(run(python(code), {}, clock, end_signal=signal.SIGTERM))
    await began(tmp_path)
    task.cancel()
    # Until the wait for its end has begun.
    for _ in range(10):
        await yield_to_loop()
    await clock.advance(processes.END_SECONDS + 1)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VerbError, match="check the command"):
        await run([str(tmp_path)], {}, CLOCK, end_signal=signal.SIGTERM)
