"""`baoctl run`: the operator process, from settings to exit status."""

from __future__ import annotations

import asyncio
import sys

import structlog

from baoctl.settings import Settings
from baoctl.wiring import run
from runtime.clock import SystemClock
from runtime.errors import LeaseLost
from runtime.logs import configure
from runtime.manager import RunnableCrashed


def run_operator(settings: Settings) -> None:
    """Run until told to stop; exits with 1 on a crash and on the loss of the lease."""
    clock = SystemClock()
    configure(clock, level=settings.log_level, sensitive=("unseal_?key", "recovery_?key"))
    log = structlog.get_logger()
    try:
        asyncio.run(run(settings, clock))
    except LeaseLost as lost:
        log.error("stopped: another process leads, or could", error=str(lost))
        sys.exit(1)
    except RunnableCrashed as crashed:
        log.error("stopped: a part of the operator crashed", error=str(crashed), exc_info=crashed)
        sys.exit(1)
