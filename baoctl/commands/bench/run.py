"""`baoctl bench`: measures the servers of one cluster, and removes everything that it creates.

Uses runtime.client.client and managers.bao.client through the other modules of this package. Called
by baoctl.verbs.bench. Each block removes what it has created, also after a signal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.bench import report
from baoctl.commands.bench.engine import Engine
from baoctl.commands.bench.options import LOGINS, WRITES, BenchOptions
from baoctl.commands.bench.readiness import obstacles
from baoctl.commands.bench.report import BenchReport, screen
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.cluster.observed import number, part
from baoctl.commands.cluster.terminal import present
from baoctl.commands.login import processes
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from runtime.types import Object

if TYPE_CHECKING:
    from baoctl.commands.bench.connections import WorkerConnections
    from baoctl.commands.bench.stages import Measurement

Confirm = Callable[[str], None]


def bench(options: BenchOptions, access: Access, confirm: Confirm, output: str) -> int:
    """Measure, print the figures, and return the exit status. Raises RequestError.

    It calls `confirm` with the consequence before it starts.
    """
    if options.address is None:
        processes.check_kubectl()

    async def run(api: Session) -> tuple[int, BenchReport | None]:
        live = await read_cluster(api, options.login.cluster)
        _check_readiness(options, live)
        confirm(_consequence(api, options))
        with processes.termination_signals() as received:
            try:
                return await _run(api, options, access, live)
            except asyncio.CancelledError:
                if not received:
                    raise
                return processes.SIGNAL_STATUS + received[0], None

    status, result = run_in_session("bench", run, access)
    if result is not None:
        present(result, screen(result), output)
    return status


def _check_readiness(options: BenchOptions, live: Object) -> None:
    reasons = list(obstacles(live))
    if reasons and not options.force:
        raise RequestError(
            f"{options.login.cluster} is not measured: {', '.join(reasons)}; wait, or use --force",
            ExitCode.REFUSED,
        )


def _consequence(api: Session, options: BenchOptions) -> str:
    return (
        f"{api.namespace}/{options.login.cluster} receives {', '.join(options.operations)} from "
        f"{options.workers} workers without a rate limit for {options.load_seconds:g} s. During "
        "this time requests of other clients take longer."
    )


async def _run(
    api: Session, options: BenchOptions, access: Access, live: Object
) -> tuple[int, BenchReport]:
    # Imported after the first request, because they import the client of OpenBao and its models.
    from baoctl.commands.bench.connections import connect_workers
    from baoctl.commands.bench.stages import run_stages

    async with connect_workers(api, options, access, live) as connections:
        measurement = await run_stages(api, options, connections.workers)
    result = _report(api, options, live, connections, measurement)
    if measurement.leftover:
        return ExitCode.ERROR, result
    failed = any(operation.errors for operation in measurement.operations)
    return ExitCode.NOT_READY if failed else ExitCode.GOOD, result


def _report(
    api: Session,
    options: BenchOptions,
    live: Object,
    connections: WorkerConnections,
    measurement: Measurement,
) -> BenchReport:
    return BenchReport(
        namespace=api.namespace,
        cluster=options.login.cluster,
        version=connections.version,
        servers=number(part(live, "status").get("readyReplicas")),
        leader=connections.target.server.pod,
        path=_path(options, connections),
        connections_to_leader=len(connections.workers) - connections.standbys,
        connections_to_standbys=connections.standbys,
        workers=options.workers,
        seconds=options.seconds,
        size_bytes=options.size if measurement.engine else 0,
        engine=_engine(measurement.engine),
        operations=tuple(measurement.operations),
        notes=tuple(_notes(options, connections, measurement)),
    )


def _path(options: BenchOptions, connections: WorkerConnections) -> str:
    if options.address is None:
        pod = connections.target.server.pod
        return f"port-forward by the API server to {pod}"
    host, port = options.address
    return f"https://{host}:{port}"


def _engine(engine: Engine | None) -> str:
    if engine is None:
        return ""
    origin = "mounted for this run and removed" if engine.is_own else engine.mount
    return f"a key-value engine of version {engine.version} ({origin})"


def _notes(
    options: BenchOptions, connections: WorkerConnections, measurement: Measurement
) -> Iterator[str]:
    if WRITES in options.operations:
        yield report.QUORUM_NOTE
    if any(operation.operation == LOGINS for operation in measurement.operations):
        yield report.LOGIN_NOTE
    if options.address is None:
        yield report.FORWARD_NOTE
    if connections.standbys:
        yield report.STANDBY_NOTE
    yield from measurement.notes
