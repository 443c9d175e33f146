"""The entry point of `baoctl job upgrade`: reads variables, executes one action, and exits.

Called by baoctl.verbs.process. There is no object to report to: the operator reads the exit status,
and users read the termination message. Clients of the cluster may wait for the action, so the
process has to start fast: it imports no client of the API server, and no obstore.

Exit status: 0 if the action succeeded or was not necessary; else contracts.exit_codes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import Final, NoReturn

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import ServerAddresses, servers
from baoctl.jobs.termination_log import write_termination_message
from baoctl.jobs.upgrade import raft_membership, remove_peers, step_down
from baoctl.jobs.upgrade.context import Action, StepFailure, Work
from baoctl.variables import SettingError, log_level
from contracts.exit_codes import EXIT_CODES
from contracts.jobs import upgrade_actions
from contracts.jobs.env import JobEnvError, UpgradeEnv
from contracts.jobs.upgrade_actions import ACTIONS, Order
from runtime.clock import Clock, SystemClock

HANDLERS: Final[Mapping[str, Action]] = {
    upgrade_actions.STEP_DOWN: step_down.step_down,
    upgrade_actions.JOIN: raft_membership.join_green,
    upgrade_actions.WAIT: raft_membership.wait_for_green,
    upgrade_actions.PROMOTE: raft_membership.promote_green,
    upgrade_actions.DEMOTE: raft_membership.demote_blue,
    upgrade_actions.REMOVE_BLUE: remove_peers.remove_blue,
    upgrade_actions.REMOVE_GREEN: remove_peers.remove_green,
    upgrade_actions.REPAIR: raft_membership.repair,
}


def main(mode: str) -> NoReturn:
    """Execute the action of a pod, and end the process. `mode` is the argument of `baoctl job`."""
    try:
        level = log_level(os.environ)
    except SettingError as error:
        # Before the action: a failure to log its result would make it appear to have failed.
        level, message, code = "info", f"Config: {error}", EXIT_CODES["Config"]
    else:
        work = do(os.environ, SystemClock(), ServerAddresses())
        message, code = asyncio.new_event_loop().run_until_complete(work)
    write_termination_message(message)
    _log(message, code, level)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


async def do(
    environ: Mapping[str, str], clock: Clock, addresses: ServerAddresses
) -> tuple[str, int]:
    """Execute the action that the variables name; return a message and the exit status."""
    work = asyncio.ensure_future(_execute(environ, clock, addresses))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    try:
        return await work, 0
    except (JobFailure, StepFailure) as error:
        return f"{error.failure}: {error}", error.exit_code
    except JobEnvError as error:
        return f"Config: {error}", EXIT_CODES["Config"]
    except asyncio.CancelledError:
        return "Config: the job was stopped before it finished", EXIT_CODES["Config"]
    except Exception as error:  # noqa: BLE001  every error is reported
        return f"Config: {type(error).__name__}: {_location(error)}", EXIT_CODES["Config"]


async def _execute(environ: Mapping[str, str], clock: Clock, addresses: ServerAddresses) -> str:
    env = UpgradeEnv.from_environment(environ)
    if env.action not in HANDLERS:
        rule = f"must be one of {', '.join(HANDLERS)}"
        raise JobEnvError(f"UPGRADE_ACTION={env.action[:80]!r}: {rule}")
    problem = Order(env.action, env.run_id, env.target, env.blue, env.green).problem()
    if problem:
        raise JobFailure("Config", problem)
    if env.sync_threshold < 1:
        raise JobFailure("Config", f"UPGRADE_SYNC_THRESHOLD={env.sync_threshold}: must be above 0")
    seconds = env.timeout or ACTIONS[env.action].seconds
    async with servers(env.server, addresses) as bao:
        return await HANDLERS[env.action](
            Work(env, bao, clock, addresses, clock.monotonic() + seconds)
        )


def _location(error: BaseException) -> str:
    """Return where an error was raised. Its text is not reported: it may contain a secret."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return "unknown location"
    return f"{frame.tb_frame.f_code.co_qualname}, line {frame.tb_lineno}"


def _log(message: str, code: int, level: str) -> None:
    """Log the result; the modules for this are imported after the action."""
    import structlog

    from runtime.process import logs

    logs.configure(SystemClock(), level=level)
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    fields = {"action": os.environ.get("UPGRADE_ACTION", ""), "exit_code": code, "reason": message}
    if code:
        log.error("the job has failed", **fields)
    else:
        log.info("the job has ended", **fields)
