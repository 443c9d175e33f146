"""The entry point of backups, restores and restore tests: runs one job, reports it, and exits.

Called by baoctl.verbs.process. Upgrade jobs have their own entry point, baoctl.jobs.upgrade.main.
The process ends with os._exit, after all output is flushed: threads of obstore may abort the
interpreter at exit, and a job that succeeded would appear to have failed.

Exit status: 0 on success; else that of the failure class (contracts.exit_codes.EXIT_CODES).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import structlog

from baoctl import __version__
from baoctl.jobs.backup import back_up
from baoctl.jobs.context import JobContext
from baoctl.jobs.failures import JobFailure, shorten
from baoctl.jobs.report import ObjectGone, write_status
from baoctl.jobs.restore import restore
from baoctl.jobs.restore_test import restore_test
from baoctl.jobs.store.egress_policy import EgressPolicy, policy_of
from baoctl.jobs.store.store import open_store
from baoctl.jobs.termination_log import write_termination_message
from baoctl.variables import SettingError, check_api_server, log_level
from contracts.api.job_result import (
    EXECUTOR_MANAGER,
    TEST_MANAGER,
    BackupReport,
    JobReport,
    RestoreReport,
    RestoreTestReport,
)
from contracts.exit_codes import EXIT_CODES, FailureClass
from contracts.jobs.env import BackupEnv, Env, JobEnvError, RestoreEnv, RunEnv, StoreEnv, TestEnv
from runtime.client.client import Client
from runtime.client.credentials import in_cluster
from runtime.clock import Clock, SystemClock
from runtime.errors import ApiError, Transient
from runtime.process import logs

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

STOPPED: Final = (
    "the job was stopped before it finished: its time limit passed, or its pod was evicted or "
    "deleted; check the events of the pod"
)
Work = Callable[[Any, "Job"], Awaitable[JobReport]]
"""Runs a mode with the record of its variables. Raises JobFailure."""


@dataclass(frozen=True, slots=True)
class Job:
    """The context of a mode, its client of the API server, and its object."""

    context: JobContext
    client: Client
    run: RunEnv


@dataclass(frozen=True, slots=True)
class Mode:
    """One argument of `baoctl job`."""

    env: type[Env]
    work: Work
    failed: type[JobReport]
    """The type of the report of a failure."""
    field: str = "report"
    """The field of the status that contains the report."""
    manager: str = EXECUTOR_MANAGER
    """Field manager of the report: each field of one object needs its own."""
    stopped: FailureClass = "Snapshot"
    """Failure class of a job that was stopped."""


async def _backup(env: BackupEnv, job: Job) -> JobReport:
    return await back_up(env, job.context)


async def _restore(env: RestoreEnv, job: Job) -> JobReport:
    return await restore(env, job.context, job.client)


async def _restore_test(env: TestEnv, job: Job) -> JobReport:
    async with open_store(env.store, job.context.environ, job.context.policy) as store:
        return await restore_test(env, store, job.context.clock)


MODES: Final[Mapping[str, Mode]] = {
    "backup": Mode(BackupEnv, _backup, BackupReport),
    "restore": Mode(RestoreEnv, _restore, RestoreReport),
    "restore-test": Mode(TestEnv, _restore_test, RestoreTestReport, "testReport", TEST_MANAGER),
}


def main(mode: str) -> NoReturn:
    """Run a job in a pod, and end the process."""
    clock = SystemClock()
    try:
        logs.configure(clock, level=log_level(os.environ))
    except SettingError as error:
        logs.configure(clock)
        code = _cannot_start(error)
    else:
        # The loop is not closed: closing it would wait for idle threads.
        code = asyncio.new_event_loop().run_until_complete(do(MODES[mode], os.environ, clock))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


async def do(mode: Mode, environ: Mapping[str, str], clock: Clock) -> int:
    """Run a mode and report its result; return the exit status."""
    try:
        run = RunEnv.from_environment(environ)
        client = _client(environ, clock)
    except (JobEnvError, SettingError, OSError, RuntimeError) as error:
        return _cannot_start(error)
    work = asyncio.ensure_future(outcome(mode, environ, client, clock))
    # On SIGTERM from the kubelet, the job removes partial results and reports the stop.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    report = (await work).model_copy(update={"job_uid": run.job_uid, "finished_at": clock.now()})
    message = f"{report.failure}: {report.message}" if report.failure else report.outcome
    log.info(
        "the job has ended", outcome=report.outcome, failure=report.failure, reason=report.message
    )
    write_termination_message(message)
    try:
        fields = {mode.field: report.to_object()}
        await write_status(client, clock, run, fields, mode.manager)
    except ObjectGone as error:
        log.warning("the object of the report was deleted", error=str(error))
    except (ApiError, Transient) as error:
        log.error("the report could not be written", error=str(error))
    finally:
        await client.close()
    return EXIT_CODES[report.failure] if report.failure else 0


def _cannot_start(error: Exception) -> int:
    # There is no object to report to: only the Job shows the failure.
    log.error("the job cannot start", error=str(error))
    write_termination_message(f"Config: {error}")
    return EXIT_CODES["Config"]


async def outcome(
    mode: Mode, environ: Mapping[str, str], client: Client, clock: Clock
) -> JobReport:
    """Run a mode and return its report. Every error and a cancellation become a failed report."""
    try:
        env = mode.env.from_environment(environ)
        context = JobContext(clock, environ, _policy(environ))
        return await mode.work(env, Job(context, client, RunEnv.from_environment(environ)))
    except JobFailure as error:
        return _failed(mode, error.failure, str(error))
    except JobEnvError as error:
        return _failed(mode, "Config", str(error))
    except asyncio.CancelledError:
        return _failed(mode, mode.stopped, STOPPED)
    except Exception as error:
        log.exception("the job failed with an unexpected error")
        return _failed(mode, "Config", f"unexpected {type(error).__name__}; see the log of the job")


def _policy(environ: Mapping[str, str]) -> EgressPolicy:
    forbidden = StoreEnv.from_environment(environ).forbidden
    try:
        return policy_of(environ, forbidden)
    except ValueError as error:
        raise JobFailure("Config", f"BACKUP_FORBIDDEN_ADDRESSES: {error}") from None


def _client(environ: Mapping[str, str], clock: Clock) -> Client:
    check_api_server(environ)
    return Client(
        in_cluster(clock, environ=environ),
        user_agent=f"openbao-operator-job/{__version__}",
        clock=clock,
    )


def _failed(mode: Mode, failure: FailureClass, message: str) -> JobReport:
    return mode.failed(outcome="Failed", failure=failure, message=shorten(message))
