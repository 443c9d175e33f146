"""Process identity: a PID alone is not sufficient to send a signal."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.rig.processes import (
    Command,
    Identity,
    ProcessTable,
    Stat,
    find_by_argument,
    is_alive,
    parse_cpu_seconds,
    parse_record,
    parse_stat,
    send,
    stat_of,
    uptime_seconds,
    wait_gone,
)

SETTINGS = {"GREETING": "hello"}
_AFTER_STATE = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98765 20 21"

STATS = {
    "a plain name": ("42 (sleep) S ", Stat(42, "S", 98765, 17)),
    "a name with blanks and brackets": ("42 (a) b (c)) R ", Stat(42, "R", 98765, 17)),
    "a zombie": ("7 (x) Z ", Stat(7, "Z", 98765, 17)),
}


@pytest.mark.parametrize("case", STATS)
def test_parse_stat(case: str) -> None:
    head, expected = STATS[case]
    assert parse_stat(head + _AFTER_STATE) == expected


def test_the_cpu_time_is_that_of_the_process_without_its_children() -> None:
    stat = "1 (python3 (a b)) S 0 1 1 0 -1 4194560 9999 8888 7 6 250 50 9000 8000 20 0 3 0 12345 1"
    assert parse_cpu_seconds(stat, ticks=100) == 3.0


@pytest.mark.parametrize("text", ["", "boot", "boot\n", "boot\n42 (sh) S"])
def test_an_incomplete_record_is_ignored(text: str) -> None:
    assert parse_record(text) is None


def test_a_complete_record() -> None:
    assert parse_record(f"boot\n42 (sh) S {_AFTER_STATE}\n") == Identity(42, 98765, "boot")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    for name in ("run", "log"):
        (tmp_path / name).mkdir()
    table = ProcessTable(tmp_path / "run", tmp_path / "log")
    yield table
    table.stop(table.names(), 0.0)


def _start(table: ProcessTable, name: str, *argv: str) -> Identity:
    assert table.start(name, Command(argv, SETTINGS))
    identity = table.running(name)
    assert identity is not None
    return identity


def test_a_process_is_started_signaled_and_stopped(table: ProcessTable) -> None:
    identity = _start(table, "one", "sleep", "600")
    assert not table.start("one", Command(["sleep", "600"], {})), "already running"
    assert table.running("one") == identity
    assert 0 <= uptime_seconds(identity) < 60
    assert table.signal("one", signal.SIGSTOP)
    stat = stat_of(identity.pid)
    assert stat is not None
    table.stop(["one"], 5.0)
    assert not is_alive(identity), "a paused process is ended too"
    assert table.names() == []
    assert table.running("one") is None


def test_a_process_that_ignores_sigterm_is_killed(table: ProcessTable) -> None:
    identity = _start(table, "deaf", "sh", "-c", 'trap "" TERM; exec sleep 600')
    while Path(f"/proc/{identity.pid}/comm").read_text() != "sleep\n":
        os.sched_yield()
    assert send(identity, signal.SIGTERM)
    assert not wait_gone([identity], 0.02)
    table.stop(["deaf"], 0.02)
    assert not is_alive(identity)


# The first thread ends, the second keeps the socket open until it gets a signal.
_HALF_DEAD = """
import ctypes, os, socket, sys, threading
held = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: os._exit(len(os.read(int(sys.argv[1]), 1)))).start()
ctypes.CDLL(None).syscall(ctypes.c_long(int(sys.argv[2])), 0)
"""
_EXIT_OF_A_THREAD = {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def test_a_process_is_alive_as_long_as_any_of_its_threads(
    table: ProcessTable, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = ["sh", "-c", f'exec 3<"{pipe}"; exec "$0" "$@"']
    word = [sys.executable, "-c", _HALF_DEAD, "3", str(_EXIT_OF_A_THREAD)]
    assert table.start("half", Command([*code, *word], SETTINGS))
    with pipe.open("wb") as writer:
        identity = table.running("half")
        assert identity is not None
        while (stat := stat_of(identity.pid)) is not None and stat.state != "Z":
            os.sched_yield()
        assert stat is not None
        assert stat.threads == 2
        assert not wait_gone([identity], 0.02)
        writer.write(b"!")
    assert wait_gone([identity], 5.0)


def test_output_and_environment_are_those_of_the_command(
    table: ProcessTable, tmp_path: Path
) -> None:
    assert table.start("talk", Command(["sh", "-c", "echo $GREETING; echo $$ >&2"], SETTINGS))
    identity = parse_record((tmp_path / "run" / "talk").read_text())
    assert identity is not None
    assert wait_gone([identity], 5.0)
    assert table.log("talk").read_text() == f"hello\n{identity.pid}\n"


def test_a_stale_record_is_replaced(table: ProcessTable) -> None:
    first = _start(table, "one", "sleep", "600")
    assert send(first, signal.SIGKILL)
    assert wait_gone([first], 5.0)
    assert table.running("one") is None
    second = _start(table, "one", "sleep", "600")
    assert second != first


STRANGERS: dict[str, Callable[[Identity], Identity]] = {
    "a process that got the same pid later": lambda mine: replace(mine, start_ticks=1),
    "a process of another boot": lambda mine: replace(mine, boot_id="another"),
    "an unused pid": lambda mine: replace(mine, pid=2**22 + 1),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_process_with_a_reused_pid_gets_no_signal(table: ProcessTable, case: str) -> None:
    mine = _start(table, "one", "sleep", "600")
    stranger = STRANGERS[case](mine)
    assert not is_alive(stranger)
    assert not send(stranger, signal.SIGKILL)
    assert is_alive(mine)


def test_a_process_is_found_by_program_and_exact_argument(table: ProcessTable) -> None:
    word = f"600.{os.getpid()}"
    identity = _start(table, "one", "sleep", word)
    while Path(f"/proc/{identity.pid}/comm").read_text() != "sleep\n":
        os.sched_yield()
    assert [process.pid for process in find_by_argument("sleep", word)] == [identity.pid]
    assert find_by_argument("sleep", word[:-1]) == []
    assert find_by_argument("another", word) == []
