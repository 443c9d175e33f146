"""`baoctl bench`: measures the servers of one cluster, and removes everything that it creates.

Uses runtime.client.client and managers.bao.client through the other modules of this package. Called
by baoctl.verbs.bench. Each block removes what it has created, also after a signal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.bench import report
from baoctl.commands.bench.connections import WorkerConnections, connect_workers
from baoctl.commands.bench.engine import Engine
from baoctl.commands.bench.order import LOGINS, WRITES, BenchOrder
from baoctl.commands.bench.readiness import obstacles
from baoctl.commands.bench.report import BenchReport, screen
from baoctl.commands.bench.stages import Measurement, run_stages
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.cluster.observed import number, part
from baoctl.commands.cluster.terminal import present
from baoctl.commands.login import processes
from baoctl.commands.login.connection import check_kubectl, ending_signals
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from runtime.types import Object

Confirm = Callable[[str], None]


def bench(order: BenchOrder, access: Access, confirm: Confirm, output: str) -> int:
    """Measure, print the figures, and return the exit status. Raises RequestError.

    It calls `confirm` with the consequence before it starts.
    """
    if order.address is None:
        check_kubectl()

    async def run(api: Session) -> tuple[int, BenchReport | None]:
        live = await read_cluster(api, order.login.cluster)
        _refuse(order, live)
        confirm(_consequence(api, order))
        with ending_signals() as ended:
            try:
                return await _run(api, order, access, live)
            except asyncio.CancelledError:
                if not ended:
                    raise
                return processes.SIGNALLED + ended[0], None

    status, result = run_in_session("bench", run, access)
    if result is not None:
        present(result, screen(result), output)
    return status


def _refuse(order: BenchOrder, live: Object) -> None:
    reasons = list(obstacles(live))
    if reasons and not order.force:
        raise RequestError(
            f"{order.login.cluster} is not measured: {', '.join(reasons)}; wait, or use --force",
            ExitCode.REFUSED,
        )


def _consequence(api: Session, order: BenchOrder) -> str:
    return (
        f"{api.namespace}/{order.login.cluster} receives {', '.join(order.operations)} from "
        f"{order.workers} workers without a rate limit for {order.load_seconds:g} s. During "
        "this time requests of other clients take longer."
    )


async def _run(
    api: Session, order: BenchOrder, access: Access, live: Object
) -> tuple[int, BenchReport]:
    async with connect_workers(api, order, access, live) as connections:
        measurement = await run_stages(api, order, connections.workers)
    result = _report(api, order, live, connections, measurement)
    if measurement.left:
        return ExitCode.ERROR, result
    failed = any(operation.errors for operation in measurement.operations)
    return ExitCode.NOT_READY if failed else ExitCode.GOOD, result


def _report(
    api: Session,
    order: BenchOrder,
    live: Object,
    connections: WorkerConnections,
    measurement: Measurement,
) -> BenchReport:
    return BenchReport(
        namespace=api.namespace,
        cluster=order.login.cluster,
        version=connections.version,
        servers=number(part(live, "status").get("readyReplicas")),
        leader=connections.target.server.pod,
        path=_path(order, connections),
        connections_to_leader=len(connections.workers) - connections.standbys,
        connections_to_standbys=connections.standbys,
        workers=order.workers,
        seconds=order.seconds,
        size_bytes=order.size if measurement.engine else 0,
        engine=_engine(measurement.engine),
        operations=tuple(measurement.operations),
        notes=tuple(_notes(order, connections, measurement)),
    )


def _path(order: BenchOrder, connections: WorkerConnections) -> str:
    if order.address is None:
        pod = connections.target.server.pod
        return f"port-forward by the API server to {pod}"
    host, port = order.address
    return f"https://{host}:{port}"


def _engine(engine: Engine | None) -> str:
    if engine is None:
        return ""
    origin = "mounted for this run and removed" if engine.is_own else engine.mount
    return f"a key-value engine of version {engine.version} ({origin})"


def _notes(
    order: BenchOrder, connections: WorkerConnections, measurement: Measurement
) -> Iterator[str]:
    if WRITES in order.operations:
        yield report.QUORUM_NOTE
    if any(operation.operation == LOGINS for operation in measurement.operations):
        yield report.LOGIN_NOTE
    if order.address is None:
        yield report.FORWARD_NOTE
    if connections.standbys:
        yield report.STANDBY_NOTE
    yield from measurement.notes
