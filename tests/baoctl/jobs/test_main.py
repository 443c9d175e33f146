"""The main function of a Job: every result is a report and an exit status of its class."""

import asyncio
import importlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from baoctl.jobs.failures import MESSAGE_MAX, JobFailure
from baoctl.jobs.main import MODES, Job, Mode, do, outcome
from baoctl.verbs.process import JOBS
from contracts.api.job_result import BackupReport, JobReport
from contracts.exit_codes import EXIT_CODES, FailureClass
from contracts.jobs.env import BackupEnv, RunEnv, ServerEnv, StoreEnv
from runtime.client.client import ApplyResult, Client
from runtime.errors import Forbidden, StatusInfo
from runtime.testing.clock import ManualClock
from runtime.types import Object, Resource

ENV = BackupEnv(
    run=RunEnv("openbaobackups", "ns", "nightly", "uid-1"),
    store=StoreEnv("s3", "snapshots", "https://s3.example.com"),
    server=ServerEnv("ns", "c", ("c-0",)),
    key="ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap",
    backup_name="nightly",
    cluster_uid="c-uid",
).to_environment()
NO_CLIENT = cast(Client, None)


def mode(work: Callable[[Any, Job], Awaitable[JobReport]]) -> Mode:
    return Mode(BackupEnv, work, BackupReport)


def raising(error: BaseException) -> Mode:
    async def work(env: BackupEnv, job: Job) -> JobReport:
        raise error

    return mode(work)


async def job_report(mode: Mode, environ: dict[str, str] = ENV) -> JobReport:
    return await outcome(mode, environ, NO_CLIENT, ManualClock())


async def test_the_result_of_a_mode_is_the_report() -> None:
    async def work(env: BackupEnv, job: Job) -> JobReport:
        return BackupReport(outcome="Succeeded", deleted=2)

    assert await job_report(mode(work)) == BackupReport(outcome="Succeeded", deleted=2)


async def test_a_backup_outside_the_folder_of_its_cluster_is_refused() -> None:
    report = await job_report(MODES["backup"], {**ENV, "BACKUP_KEY": "ns/other/x.snap"})
    assert (report.failure, "BACKUP_KEY='ns/other/x.snap'" in report.message) == ("Config", True)


@pytest.mark.parametrize("failure", EXIT_CODES)
async def test_a_failure_reports_its_class(failure: FailureClass) -> None:
    report = await job_report(raising(JobFailure(failure, "why")))
    assert (report.outcome, report.failure, report.message) == ("Failed", failure, "why")
    assert EXIT_CODES[failure] == JobFailure(failure, "").exit_code


async def test_a_terminated_job_reports_it() -> None:
    started = asyncio.Event()

    async def work(env: BackupEnv, job: Job) -> JobReport:
        started.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    running = asyncio.create_task(job_report(mode(work)))
    await started.wait()
    running.cancel()
    report = await running
    assert (report.outcome, report.failure) == ("Failed", "Snapshot")
    assert "was stopped" in report.message


async def test_a_bug_is_reported_without_its_message() -> None:
    report = await job_report(raising(LookupError("with some secret in it")))
    assert report.failure == "Config"
    assert "LookupError" in report.message
    assert "secret" not in report.message


async def test_a_missing_variable_is_reported() -> None:
    environ = {name: text for name, text in ENV.items() if name != "BACKUP_KEY"}
    report = await job_report(raising(AssertionError()), environ)
    assert (report.failure, report.message) == ("Config", "BACKUP_KEY is not set")


async def test_nothing_runs_outside_of_a_pod() -> None:
    assert await do(raising(AssertionError()), ENV, ManualClock()) == EXIT_CODES["Config"]


class Closing:
    """A client that records its applies and its close."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.acts: list[str] = []

    async def apply(self, resource: Resource, body: Object, **how: Any) -> ApplyResult:
        self.acts.append("apply")
        if self.error is not None:
            raise self.error
        return ApplyResult(body, created=False)

    async def close(self) -> None:
        self.acts.append("close")


@pytest.mark.parametrize("error", [None, Forbidden(StatusInfo(403, "Forbidden", "no"))])
async def test_the_client_is_closed(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """An open client would add two lines to the end of the log of every Job."""
    client = Closing(error)
    monkeypatch.setattr("baoctl.jobs.main._client", lambda *_: client)

    async def work(env: BackupEnv, job: Job) -> JobReport:
        return BackupReport(outcome="Succeeded")

    await do(mode(work), ENV, ManualClock())
    assert client.acts == ["apply", "close"]


def test_a_message_is_bounded_and_contains_no_signature() -> None:
    text = str(JobFailure("Storage", "https://s3.example.com/k?X-Amz-Signature=abc\nline " * 99))
    assert "X-Amz-Signature" not in text
    assert "\n" not in text
    assert len(text) == MESSAGE_MAX


def test_every_mode_is_a_command_line_argument() -> None:
    assert {*MODES, "upgrade"} == {*JOBS}
    for mode, module in JOBS.items():
        assert callable(importlib.import_module(module).main), mode


def test_the_process_exits_with_the_status_of_the_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "job", "backup"],
        env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == EXIT_CODES["Config"]
    assert "RUN_RESOURCE is not set" in done.stdout + done.stderr
