"""Reconcilers that start only where they may: the rest of the cluster's code knows no modes."""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.reconcile import read_cluster
from managers.cluster.status.cluster_status import held_back
from managers.tenancy.gate import ACCESS_PENDING, Gate
from runtime.cache.cache import Cache
from runtime.clock import Clock
from runtime.controller.controller import Reconciler
from runtime.outcome import Outcome, Wait
from runtime.types import Object, Request, is_terminating

PATIENCE = 10.0
"""Seconds for which it is nobody's business that rights are being granted."""


class TenantGate:
    """Asks the gate before each pass; what it says is the outcome of a pass that did not start."""

    def __init__(self, inner: Reconciler, clusters: Cache, gate: Gate) -> None:
        self._inner = inner
        self._clusters = clusters
        self._gate = gate

    async def __call__(self, request: Request, /) -> Outcome:
        """Run a pass, or tell what it waits for."""
        live = self._clusters.get(request)
        held = None if live is None else self._gate(live)
        if held is not None:
            return held
        return await self._inner(request)


class GateReporter:
    """A gate that says in the status what lasts, as far as the rights of the operator go."""

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
        """Run a pass, or tell what it waits for."""
        live = self._clusters.get(request)
        held = None if live is None else self._gate(live)
        if live is None or held is None:
            self._since.pop(request, None)
            return await self._inner(request)
        since = self._since.setdefault(request, self._clock.monotonic())
        lasts = self._clock.monotonic() - since
        if held.reason != ACCESS_PENDING:
            # Without the rights of a tenant there is none to write a status either.
            return held
        if lasts < PATIENCE:
            return Wait(held.reason, held.message, PATIENCE - lasts)
        await self._tell(live, held)
        return held

    async def _tell(self, live: Object, held: Wait) -> None:
        try:
            cluster: OpenBaoCluster = read_cluster(live)
        except InvalidClusterError:
            return
        if not is_terminating(live) and not cluster.spec.paused:
            await self._statuses.write(live, held_back(cluster, held, self._clock.now()))
