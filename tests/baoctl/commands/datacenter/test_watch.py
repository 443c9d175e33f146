"""baoctl datacenter status --watch: when it reads, what it prints, and when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from baoctl.commands.api_client import RequestError
from baoctl.commands.datacenter.reading import view_of
from baoctl.commands.datacenter.view import View
from baoctl.commands.datacenter.watch import (
    CLEAR,
    ReadSchedule,
    Screen,
    follow,
    printable,
    read_schedule,
)
from contracts.datacenter.kinds import DATACENTERS
from contracts.datacenter.workload_records import ServiceProgress
from runtime.errors import Transient, TransportError
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.clock import ManualClock
from runtime.types import ObjectKey
from tests.baoctl.datacenter_bench import (
    FAILING,
    NOW,
    READY,
    client_at,
    command_line,
    failed_service,
    keep,
    live_datacenter,
    live_workload,
    server_of,
)
from tests.managers.datacenter.bodies import desired_service, service

UNTIL_READY = ReadSchedule(repeat=True, until_ready=True)
WATCH = ReadSchedule(repeat=True)
ILL = live_datacenter(FAILING)
WELL = live_datacenter(READY)
REFUSED = Fault(FaultKind.REFUSED)


@dataclass(slots=True)
class Seen:
    """A display that records its calls."""

    ready: list[bool] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def view(self, view: View) -> None:
        self.ready.append(view.is_ready)

    def failure(self, error: Transient) -> None:
        self.failures.append(type(error).__name__)


@dataclass(slots=True)
class Watch:
    """A watched datacenter with a manual clock."""

    clock: ManualClock
    server: FakeApiServer
    faults: ScriptedFaults
    log: Seen = field(default_factory=Seen)

    def follow(self, options: ReadSchedule) -> asyncio.Task[View]:
        client = client_at(self.server, self.faults)
        return asyncio.create_task(follow(client, self.clock, "fra1", options, self.log))


@pytest.fixture
def watch() -> Watch:
    clock = ManualClock(NOW)
    return Watch(clock, server_of([ILL], clock), ScriptedFaults())


async def test_without_watch_the_datacenter_is_read_once(watch: Watch) -> None:
    task = watch.follow(ReadSchedule())
    await watch.clock.advance(1)
    assert (task.result().is_ready, watch.log.ready) == (False, [False])


async def test_the_datacenter_is_read_every_two_seconds_without_a_write(watch: Watch) -> None:
    task = watch.follow(WATCH)
    await watch.clock.advance(9.5)
    # Each read takes some time.
    assert (task.done(), len(watch.log.ready)) == (False, 5)
    assert {call.method for call in watch.server.requests} == {"GET"}
    task.cancel()


async def test_until_ready_ends_when_the_datacenter_is_ready(watch: Watch) -> None:
    task = watch.follow(UNTIL_READY)
    await watch.clock.advance(3)
    assert not task.done()
    keep(watch.server, WELL)
    await watch.clock.advance(2)
    assert (task.result().exit_code, watch.log.ready) == (0, [False, False, True])


async def test_a_watch_continues_when_the_datacenter_is_ready(watch: Watch) -> None:
    keep(watch.server, WELL)
    task = watch.follow(WATCH)
    await watch.clock.advance(60)
    assert not task.done()
    task.cancel()


async def test_the_timeout_returns_the_last_state(watch: Watch) -> None:
    task = watch.follow(replace(UNTIL_READY, seconds=300.0))
    await watch.clock.advance(299)
    assert not task.done()
    await watch.clock.advance(1)
    assert task.result().exit_code == 3


async def test_a_timeout_without_any_response_is_an_error(watch: Watch) -> None:
    watch.faults.extend(Fault(FaultKind.DELAY, 6))
    task = watch.follow(replace(WATCH, seconds=5.0))
    await watch.clock.advance(5)
    with pytest.raises(RequestError, match=r"^Datacenter fra1: no response in 5 s; use a longer"):
        task.result()


async def test_an_outage_of_the_api_server_does_not_end_the_watch(watch: Watch) -> None:
    task = watch.follow(UNTIL_READY)
    await watch.clock.advance(1)
    watch.faults.extend(REFUSED, Fault(FaultKind.INTERNAL))
    keep(watch.server, WELL)
    await watch.clock.advance(8)
    assert (task.done(), watch.log.ready) == (True, [False, True])
    assert watch.log.failures == ["TransportError", "ServerError"]


async def test_an_api_server_that_is_unreachable_at_the_start_ends_the_watch(watch: Watch) -> None:
    watch.faults.extend(REFUSED)
    task = watch.follow(UNTIL_READY)
    await watch.clock.advance(1)
    assert isinstance(task.exception(), TransportError)


async def test_the_deletion_of_the_datacenter_ends_the_watch(watch: Watch) -> None:
    task = watch.follow(UNTIL_READY)
    await watch.clock.advance(1)
    watch.server.remove(DATACENTERS, ObjectKey("", "fra1"))
    await watch.clock.advance(2)
    assert str(task.exception()) == "there is no Datacenter fra1; there are no Datacenters"


# --- output --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Printed:
    """A screen with a manual clock, and its output since the last call."""

    clock: ManualClock
    texts: list[str]
    screen: Screen

    def new(self, view: View) -> str:
        self.texts.clear()
        self.screen.view(view)
        return "".join(self.texts)


def output(**options: Any) -> Printed:
    clock, texts = ManualClock(NOW), list[str]()
    return Printed(clock, texts, Screen(clock, texts.append, **options))


RETRIED = live_workload(desired_service(service("shipper")), failed_service(8))
FIRST = view_of(ILL, [RETRIED])
SECOND = view_of(WELL, [])


async def test_a_log_gets_each_change_after_a_separator() -> None:
    log = output()
    assert log.new(FIRST).startswith("fra1  Active")
    await log.clock.advance(2)
    assert log.new(FIRST) == ""
    assert log.new(SECOND).startswith("--- 2030-01-01T12:00:02Z\nfra1  Active")
    assert "\033" not in log.new(FIRST)


async def test_a_terminal_is_cleared_and_shows_the_current_time() -> None:
    terminal = output(terminal=True)
    assert terminal.new(FIRST).startswith("fra1  Active")
    assert terminal.new(FIRST) == ""
    await terminal.clock.advance(2)
    again = terminal.new(FIRST)
    assert again.startswith(f"{CLEAR}fra1  Active")
    assert "(in 6 s)" in again


async def test_json_output_is_a_sequence_of_documents() -> None:
    json = output(output="json", terminal=True)
    assert json.new(FIRST).startswith("{\n")
    await json.clock.advance(2)
    assert json.new(FIRST) == ""
    assert json.new(SECOND).startswith("{\n")


def test_a_failure_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = output()
    log.new(FIRST)
    for _ in range(2):
        log.screen.failure(TransportError("no route\033 to host"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "read failed, retrying: no route\\x1b to host\n"
    assert log.new(FIRST).startswith("--- ")
    assert log.new(FIRST) == ""


def test_verbose_is_passed_to_the_tree() -> None:
    row = live_workload(
        desired_service(service("shipper")),
        ServiceProgress("Running", provider_ref="Deployment x/y"),
    )
    view = view_of(WELL, [row])
    assert "object: Deployment x/y" in output(verbose=True).new(view)
    assert "object:" not in output().new(view)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "├─ a\n│  └─ ü"),
        ("latin-1", "|- a\n|  `- ü"),
        ("ascii", "|- a\n|  `- \\xfc"),
        (None, "|- a\n|  `- \\xfc"),
    ],
)
def test_an_encoding_without_box_characters_gets_ascii(encoding: str | None, expected: str) -> None:
    assert printable("├─ a\n│  └─ ü", encoding) == expected


# --- flags --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("watch", "until_ready", "timeout", "options"),
    [
        (False, False, None, ReadSchedule()),
        (True, False, None, WATCH),
        (False, True, None, UNTIL_READY),
        (True, True, "5m", ReadSchedule(repeat=True, until_ready=True, seconds=300)),
        (True, False, "1h30m", ReadSchedule(repeat=True, seconds=5400)),
    ],
)
def test_flags(watch: bool, until_ready: bool, timeout: str | None, options: ReadSchedule) -> None:
    assert read_schedule(watch=watch, until_ready=until_ready, timeout=timeout) == options


# sentence: (arguments, message)
WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "a timeout without a watch": (("--timeout", "5m"), "needs --watch or --until-ready"),
    "no duration": (
        ("-w", "--timeout", "5 minutes"),
        "'5 minutes': must be a duration of h, m and s",
    ),
    "no time": (("-w", "--timeout", "0"), "must be longer than 0"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
async def test_an_invalid_flag_sends_no_request(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    server = server_of([ILL])
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("status", "fra1", *arguments)
    assert (result.exit_code, len(server.requests)) == (2, 0)
    assert f"Invalid value for --timeout: {message}" in result.stderr


# sentence: (Datacenter, exit status)
@pytest.mark.parametrize(("live", "status"), [(WELL, 0), (ILL, 3)], ids=["ready", "not ready"])
async def test_the_exit_status_of_a_watch(live: Any, status: int, tmp_path: Path) -> None:
    async with command_line(server_of([live]), tmp_path) as baoctl:
        result = await baoctl("status", "fra1", "--until-ready", "--timeout", "3s")
    assert (result.exit_code, result.stdout.count("namespace dc-fra1")) == (status, 1)


async def test_an_interrupt_ends_a_watch(tmp_path: Path) -> None:
    async with command_line(server_of([ILL]), tmp_path) as baoctl:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "baoctl", "datacenter", "status", "fra1", "-w"),
            env={**without_pod(), "KUBECONFIG": str(baoctl.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Processes that a script runs in the background ignore the signal.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        assert process.stdout is not None
        first = await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaints = await process.communicate()
    assert first.startswith(b"fra1  Active")
    assert (process.returncode, complaints) == (130, b"")


def without_pod() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "KUBERNETES_SERVICE_HOST"}
