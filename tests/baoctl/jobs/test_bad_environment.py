"""Every variable of a Job: an invalid value is reported in one line, and nothing is done.

The exit status is that of the class Config (contracts.exit_codes), which the operator reads.
"""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from baoctl.jobs.main import MODES, do, outcome
from contracts.exit_codes import EXIT_CODES
from contracts.jobs.env import (
    BackupEnv,
    Env,
    JobEnvError,
    RestoreEnv,
    RunEnv,
    ServerEnv,
    StoreEnv,
    TestEnv,
    UpgradeEnv,
)
from contracts.jobs.upgrade_actions import STEP_DOWN
from runtime.client.client import Client
from runtime.testing.clock import ManualClock

RUN = RunEnv("openbaobackups", "ns", "nightly", "uid-1")
STORE = StoreEnv("s3", "snapshots", "https://s3.example.com")
SERVER = ServerEnv("ns", "c", ("c-0",))
RECORDS: tuple[Env, ...] = (
    BackupEnv(run=RUN, store=STORE, server=SERVER, key="k", backup_name="n", cluster_uid="u"),
    RestoreEnv(run=RUN, store=STORE, server=SERVER, key="k"),
    TestEnv(run=RUN, store=STORE, server=SERVER, key="k"),
    UpgradeEnv(server=SERVER, action=STEP_DOWN, run_id="r", target="c-0"),
)
# Invalid values for each kind of variable; every value is a valid text.
NUMBERS = ("x", "-1", "1.5", "9" * 19, "", "٣")
BAD: Mapping[str, tuple[str, ...]] = {
    "_NUMBER": NUMBERS,
    "_SWITCH": ("yes", "TRUE", ""),
    "_PROVIDER": ("ftp", ""),
    "_AUTH": ("password", ""),
    "_RESOURCE": ("pods", ""),
    "_MOMENT": ("soon", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"),
    "_ADDRESS": ("banana", "a:", ":1", "a:0", "a:65536", ""),
}
FREE = ("_TEXT", "_LIST")


def kinds_of(record: Env) -> Iterator[tuple[str, str]]:
    """Each variable, and the name of its kind."""
    import contracts.jobs.env as module

    names = {id(value): name for name, value in vars(module).items() if name.startswith("_")}
    for field in dataclasses.fields(cast(Any, record)):
        value = getattr(record, field.name)
        if isinstance(value, Env):
            yield from kinds_of(value)
        else:
            yield field.metadata["variable"], names[id(field.metadata["kind"])]


ROWS = sorted(
    {
        (type(record).__name__, name, value): (record, name, value)
        for record in RECORDS
        for name, kind in kinds_of(record)
        if kind not in FREE
        for value in BAD[kind]
    }.values(),
    key=lambda row: (type(row[0]).__name__, *row[1:]),
)


@pytest.mark.parametrize(
    ("record", "name", "value"), ROWS, ids=lambda case: case if isinstance(case, str) else ""
)
def test_an_invalid_value_is_reported(record: Env, name: str, value: str) -> None:
    with pytest.raises(JobEnvError) as refused:
        type(record).from_environment({**record.to_environment(), name: value})
    assert str(refused.value).startswith(f"{name}={value!r}: must be ")
    assert "\n" not in str(refused.value)


async def test_an_invalid_address_is_reported() -> None:
    environ = {**RECORDS[0].to_environment(), "BACKUP_FORBIDDEN_ADDRESSES": "10.0.0.1:x"}
    report = await outcome(MODES["backup"], environ, cast(Client, None), ManualClock())
    assert (report.failure, report.message) == (
        "Config", "BACKUP_FORBIDDEN_ADDRESSES: '10.0.0.1:x': must be ADDRESS:PORT",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [("KUBERNETES_SERVICE_HOST", "a b"), ("KUBERNETES_SERVICE_PORT", "https")]
)
async def test_an_invalid_api_server_address_ends_the_job(
    name: str, value: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    usual = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    environ = {**RECORDS[0].to_environment(), **usual, name: value}
    assert await do(MODES["backup"], environ, ManualClock()) == EXIT_CODES["Config"]
    shown = capsysbinary.readouterr()
    assert f"{name} {value!r}: must be".encode() in shown.out + shown.err


@pytest.mark.parametrize("mode", ["backup", "restore", "restore-test", "upgrade"])
def test_an_invalid_log_level_is_reported_in_one_line(mode: str) -> None:
    record = RECORDS[("backup", "restore", "restore-test", "upgrade").index(mode)]
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "job", mode],
        env={"PATH": os.environ["PATH"], **record.to_environment(), "LOG_LEVEL": "loud"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == EXIT_CODES["Config"]
    assert "LOG_LEVEL 'loud': must be one of debug, info, warning, error, critical" in line
