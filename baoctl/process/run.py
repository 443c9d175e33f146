"""`baoctl run` and `baoctl provision`: run a process of the operator, and set the exit status."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine

import structlog

from baoctl.process.operator import run
from baoctl.process.provisioner import provision
from baoctl.settings import ProvisionerSettings, Settings
from runtime.clock import Clock, SystemClock
from runtime.errors import ApiError, LeaseLost, Transient
from runtime.limits.tls_buffers import shrink_tls_buffers
from runtime.process.logs import configure
from runtime.process.manager import RunnableCrashed


def run_operator(settings: Settings) -> None:
    """Run the operator until it gets a signal.

    Exits with 1 on a crash, on the loss of the Lease, and if the API server does not answer at
    startup. Raises SettingError without credentials.
    """
    _run(lambda clock: run(settings, clock), settings.log_level)


def run_provisioner(settings: ProvisionerSettings) -> None:
    """Run the provisioner like `run_operator`."""
    _run(lambda clock: provision(settings, clock), settings.process.log_level)


def _run(work: Callable[[Clock], Coroutine[None, None, None]], level: str) -> None:
    clock = SystemClock()
    configure(clock, level=level, sensitive=("unseal_?key", "recovery_?key"))
    log = structlog.get_logger()
    shrink_tls_buffers()
    try:
        asyncio.run(work(clock))
    except LeaseLost as lost:
        log.error("stopped: the leader lease was lost", error=str(lost))
        sys.exit(1)
    except RunnableCrashed as crashed:
        log.error("stopped: a component crashed", error=str(crashed), exc_info=crashed)
        sys.exit(1)
    except (ApiError, Transient) as error:
        # Only at startup: later each component handles these errors.
        log.error("stopped: the API server did not answer at startup", error=str(error))
        sys.exit(1)
