"""The workload reconciler: the whole way of the data, from the spec to the status.

    spec -> observe -> resolve -> plan -> apply -> effects -> status

Composed by `baoctl.wiring`; called by `runtime.controller` with one key at a time.
"""

from __future__ import annotations

import contextlib
from datetime import datetime

from contracts import names
from contracts.api.cluster import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from contracts.api.violation import InvalidClusterError
from managers.access.context import FIELD_MANAGER, Context
from managers.cluster.apply import Applier
from managers.cluster.delete import Deletion
from managers.cluster.effects import run_effects
from managers.cluster.observe import Observer
from managers.cluster.resolve import resolve
from managers.cluster.status import Pass, compute, failing, leaving, unreadable
from managers.cluster.status_writer import StatusWriter
from managers.cluster.steps import fold
from runtime.cache import Cache
from runtime.errors import ApiError, Transient
from runtime.finalizer import Finalizer
from runtime.memo import remembered
from runtime.outcome import Blocked, Done, Outcome, Wait, combine
from runtime.ownership import Owner
from runtime.types import Object, ObjectKey, Request, key_of, uid_of

# Failures in a row before the status speaks of them.
TOLD_AFTER = 3

read_cluster = remembered(OpenBaoCluster.from_object)


class WorkloadReconciler:
    """Brings the objects of one cluster to what its spec asks, and says how far it came."""

    def __init__(
        self,
        clusters: Cache,
        observer: Observer,
        applier: Applier,
        deletion: Deletion,
        statuses: StatusWriter,
        context: Context,
    ) -> None:
        self._clusters = clusters
        self._observer = observer
        self._applier = applier
        self._deletion = deletion
        self._statuses = statuses
        self._context = context
        self._logins = observer.logins
        self._failures: dict[ObjectKey, int] = {}
        self._finalizer = Finalizer(context.client, CLUSTERS, names.FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Run one pass. Raises transient errors, which the controller retries with backoff."""
        live = self._clusters.get(request)
        if live is None:
            self._statuses.forget(request)
            self._observer.forget(request)
            self._failures.pop(request, None)
            return Done()
        if names.FINALIZER not in (live["metadata"].get("finalizers") or ()):
            self._observer.sight.newborn(owner_of(live))
        # The finalizer first: no child exists without it, so no deletion leaves one behind.
        return await self._finalizer.reconcile(live, apply=self._apply, cleanup=self._cleanup)

    async def _apply(self, live: Object) -> Outcome:
        try:
            cluster = read_cluster(live)
        except InvalidClusterError as invalid:
            told = unreadable(live, str(invalid), self._context.clock.now())
            await self._statuses.write(live, told)
            return Blocked("InvalidSpec", str(invalid))
        try:
            this = await self._pass(cluster, owner_of(live))
        except (ApiError, Transient) as error:
            await self._tell_failure(live, cluster, error)
            raise
        self._failures.pop(key_of(live), None)
        details_due = await self._statuses.write(live, compute(this))
        again = Done(self._observer.sight.next_look(this))
        return combine(this.outcome, again, Done(details_due))

    async def _tell_failure(self, live: Object, cluster: OpenBaoCluster, error: Exception) -> None:
        """Show an error that lasts in the status; a single one is the log's business."""
        key = key_of(live)
        self._failures[key] = self._failures.get(key, 0) + 1
        if self._failures[key] < TOLD_AFTER:
            return
        with contextlib.suppress(ApiError, Transient):
            told = failing(cluster, str(error), self._context.clock.now())
            await self._statuses.write(live, told)

    async def _cleanup(self, live: Object) -> Outcome:
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            cluster = None
        asked = datetime.fromisoformat(live["metadata"]["deletionTimestamp"])
        try:
            await self._observer.sight.take_stock(owner_of(live))
            outcome = await self._deletion.run(cluster, owner_of(live), asked)
        except (ApiError, Transient) as error:
            if cluster is not None:
                await self._tell_failure(live, cluster, error)
            raise
        if isinstance(outcome, Wait) and cluster is not None:
            told = leaving(cluster, outcome.message, self._context.clock.now())
            await self._statuses.write(live, told)
        return outcome

    async def _pass(self, cluster: OpenBaoCluster, owner: Owner) -> Pass:
        observed = await self._observer.observe(cluster, owner)
        if cluster.spec.paused:
            return Pass(cluster, observed, Done())
        resolved = resolve(cluster, owner, observed, self._observer.installation)
        if isinstance(resolved, Blocked):
            return Pass(cluster, observed, resolved)
        desired = fold(resolved, observed)
        applied = await self._applier.apply(owner, desired)
        if applied.in_place or not desired.complete:
            await run_effects(self._context, self._logins, resolved, desired.effects)
        outcome = combine(*applied.outcomes, *desired.outcomes)
        return Pass(cluster, observed, outcome, resolved, applied)


def owner_of(live: Object) -> Owner:
    """Read the identity under which children are owned."""
    metadata = live["metadata"]
    return Owner(API_VERSION, CLUSTER_KIND, metadata["namespace"], metadata["name"], uid_of(live))
