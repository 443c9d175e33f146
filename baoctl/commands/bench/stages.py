"""The stages of a measurement: keys, writes, reads, removal of the keys, logins.

Uses managers.bao.client through baoctl.commands.bench.keys and workload. Called by
baoctl.commands.bench.run.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.bench import report
from baoctl.commands.bench.connections import environment_token
from baoctl.commands.bench.engine import Engine
from baoctl.commands.bench.figures import OperationFigures, keys_per_worker, operation_figures
from baoctl.commands.bench.keys import Keys, engine_of, other_runs
from baoctl.commands.bench.options import LOGINS, READS, WRITES, BenchOptions
from baoctl.commands.bench.workload import Attempt, Login, Worker, measure
from baoctl.commands.login import processes
from baoctl.commands.login.connection import log_in, raise_if_cancelled
from baoctl.commands.login.reads import account_token

TEXT: Final = "0123456789abcdef"
_RUN_BYTES: Final = 8


@dataclass(slots=True)
class Measurement:
    """The results of the stages, and what they could not remove."""

    operations: list[OperationFigures] = field(default_factory=list)
    engine: Engine | None = None
    leftover: str = ""
    """Message about the keys if they could not be removed; "" if they were."""
    notes: list[str] = field(default_factory=list)


async def run_stages(api: Session, options: BenchOptions, workers: Sequence[Worker]) -> Measurement:
    """Run all stages, and always remove what they created. Raises RequestError."""
    result = Measurement()
    if options.needs_engine:
        await _measure_keys(api, options, workers, result)
    if LOGINS in options.operations:
        await _measure_logins(api, options, workers, result)
    return result


async def _measure_keys(
    api: Session, options: BenchOptions, workers: Sequence[Worker], result: Measurement
) -> None:
    engine = await engine_of(workers[0], options.mount, secrets.token_hex(_RUN_BYTES))
    count = keys_per_worker(options.workers, options.size)
    keys = Keys(engine, count, api.clock)
    value = (TEXT * (options.size // len(TEXT) + 1))[: options.size]
    result.engine = engine
    result.notes += [report.other_run_note(other) for other in await other_runs(workers[0])]
    await keys.mount(workers[0])
    try:
        raise_if_cancelled()
        await keys.fill(workers, value)
        if WRITES in options.operations:
            writes = [worker.write(engine, value, count) for worker in workers]
            await _measure(api, options, WRITES, writes, result)
        if READS in options.operations:
            reads = [worker.read(engine, count) for worker in workers]
            await _measure(api, options, READS, reads, result)
    finally:
        processes.warn("Removing the keys.")
        result.leftover = await keys.remove(workers)
        if result.leftover:
            processes.warn(result.leftover)


async def _measure_logins(
    api: Session, options: BenchOptions, workers: Sequence[Worker], result: Measurement
) -> None:
    """Measure logins. If the token is from BAO_TOKEN, log in once before, to check the role."""
    first = workers[0]
    try:
        # A new token of the ServiceAccount, because the one of the session may expire soon.
        jwt = await account_token(api, options.login)
        if environment_token():
            async with log_in(first.bao, first.address, options.login, jwt):
                pass
    except RequestError as error:
        if not result.operations:
            raise
        result.notes.append(f"logins were not measured: {error}")
        return
    login = Login(options.login, jwt)
    await _measure(api, options, LOGINS, [worker.log_in(login) for worker in workers], result)


async def _measure(
    api: Session,
    options: BenchOptions,
    operation: str,
    attempts: Sequence[Attempt],
    result: Measurement,
) -> None:
    processes.warn(f"Measuring {operation} for {options.seconds:g} s.")
    start = api.clock.monotonic()
    samples = await measure(api.clock, options.seconds, attempts)
    elapsed = api.clock.monotonic() - start
    result.operations.append(operation_figures(operation, samples, elapsed))
