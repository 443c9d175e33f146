"""Runs a reconciler only in namespaces that the operator may access.

No other code of managers.cluster knows the tenancy modes.
"""

from __future__ import annotations

from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.status.cluster_status import waiting_status
from managers.tenancy.gate import ACCESS_PENDING, Gate
from runtime.cache.cache import Cache
from runtime.clock import Clock
from runtime.controller.controller import Reconciler
from runtime.outcome import Outcome, Wait
from runtime.types import Object, Request, is_terminating

GRACE_PERIOD = 10.0
"""Seconds for which pending access is not reported."""


class GatedReconciler:
    """Checks the gate before each reconcile; a closed gate determines the outcome."""

    def __init__(self, inner: Reconciler, clusters: Cache, gate: Gate) -> None:
        self._inner = inner
        self._clusters = clusters
        self._gate = gate

    async def __call__(self, request: Request, /) -> Outcome:
        """Reconcile, or return the wait of the gate."""
        live = self._clusters.get(request)
        wait = None if live is None else self._gate(live)
        if wait is not None:
            return wait
        return await self._inner(request)


class GateReporter:
    """A GatedReconciler that reports a persistent wait in the status, if it may write it."""

    def __init__(
        self, inner: Reconciler, clusters: Cache, gate: Gate, statuses: StatusWriter, clock: Clock
    ) -> None:
        self._inner = inner
        self._clusters = clusters
        self._gate = gate
        self._statuses = statuses
        self._clock = clock
        self._since: dict[Request, float] = {}

    async def __call__(self, request: Request, /) -> Outcome:
        """Reconcile, or return the wait of the gate."""
        live = self._clusters.get(request)
        wait = None if live is None else self._gate(live)
        if live is None or wait is None:
            self._since.pop(request, None)
            return await self._inner(request)
        since = self._since.setdefault(request, self._clock.monotonic())
        elapsed = self._clock.monotonic() - since
        if wait.reason != ACCESS_PENDING:
            # Without the rights of a tenant the operator cannot write a status either.
            return wait
        if elapsed < GRACE_PERIOD:
            return Wait(wait.reason, wait.message, GRACE_PERIOD - elapsed)
        await self._report(live, wait)
        return wait

    async def _report(self, live: Object, wait: Wait) -> None:
        try:
            cluster: OpenBaoCluster = read_cluster(live)
        except InvalidClusterError:
            return
        if not is_terminating(live) and not cluster.spec.paused:
            await self._statuses.write(live, waiting_status(cluster, wait, self._clock.now()))
