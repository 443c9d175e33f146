"""The main function of an upgrade Job: its environment, its message, and its imports."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.upgrade.main import HANDLERS, do
from contracts.exit_codes import EXIT_CODES, STEP_EXIT_CODES
from contracts.jobs.env import ServerEnv, UpgradeEnv
from contracts.jobs.upgrade_actions import JOIN, STEP_DOWN
from runtime.clock import SystemClock
from runtime.testing.clock import ManualClock

ENV = UpgradeEnv(
    server=ServerEnv("ns", "c", ("c-0",), role="r"), action=STEP_DOWN, run_id="r", target="c-0"
).to_environment()


async def _nowhere(host: str) -> str:
    raise OSError(host)


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "no cluster": ({"CLUSTER_NAME": ""}, "Config: CLUSTER_NAME is not set"),
    "an unknown action": (
        {"UPGRADE_ACTION": "reboot"},
        f"Config: UPGRADE_ACTION='reboot': must be one of {', '.join(HANDLERS)}",
    ),
    "no target": ({"UPGRADE_TARGET_POD": ""}, f"Config: {STEP_DOWN} needs the name of a pod"),
    "no pools": (
        {"UPGRADE_ACTION": JOIN},
        f"Config: {JOIN} needs the names of all pods of blue and of green",
    ),
    "no threshold": (
        {"UPGRADE_SYNC_THRESHOLD": "0"},
        "Config: UPGRADE_SYNC_THRESHOLD=0: must be above 0",
    ),
    "no authority": (
        {"TLS_CA_PATH": "/nowhere"},
        "Config: the CA of the servers at /nowhere cannot be read: FileNotFoundError",
    ),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG)
async def test_an_invalid_environment_is_reported_without_a_request(
    change: dict[str, str], words: str
) -> None:
    environ = {name: text for name, text in {**ENV, **change}.items() if text}
    message, code = await do(environ, ManualClock(), ServerAddresses(_nowhere))
    assert (message, code) == (words, EXIT_CODES["Config"])


async def test_unknown_server_names_fail_with_their_class() -> None:
    clock = ManualClock()
    work = asyncio.ensure_future(
        do({**ENV, "UPGRADE_TIMEOUT": "1"}, clock, ServerAddresses(_nowhere))
    )
    while not work.done():
        await clock.advance(1.0)
    message, code = work.result()
    assert code == EXIT_CODES["LeaderDiscovery"]
    assert "c-0: its name does not resolve" in message


async def test_a_terminated_job_reports_it() -> None:
    async def stopped(host: str) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        await SystemClock().sleep(60.0)
        raise AssertionError

    message, code = await do(ENV, ManualClock(), ServerAddresses(stopped))
    assert (message, code) == (
        "Config: the job was stopped before it finished",
        EXIT_CODES["Config"],
    )


async def test_a_bug_is_reported_by_its_location_and_not_by_its_message() -> None:
    async def broken(host: str) -> str:
        raise LookupError("with some secret in it")

    message, code = await do(ENV, ManualClock(), ServerAddresses(broken))
    assert code == EXIT_CODES["Config"]
    assert "LookupError" in message
    assert "broken, line" in message
    assert "secret" not in message


def test_exit_statuses_are_unique() -> None:
    codes = [*EXIT_CODES.values(), *STEP_EXIT_CODES.values()]
    assert len({*codes}) == len(codes)
    assert 0 not in codes


def test_neither_object_stores_nor_the_api_client_are_imported() -> None:
    """The Job runs during an outage: it imports only what it needs."""
    loaded = "import sys, baoctl.jobs.upgrade.main; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True,
    )  # fmt: skip
    heavy = {
        "obstore",
        "runtime.client.client",
        "contracts.api.cluster.spec",
        "structlog",
        "kubernetes_asyncio",
    }
    assert not heavy & {*done.stdout.split()}


def test_the_process_exits_with_the_status_of_the_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "job", "upgrade"],
        env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == EXIT_CODES["Config"]
    assert "CLUSTER_NAMESPACE is not set" in done.stdout + done.stderr
