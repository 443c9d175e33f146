"""The workload reconciler: the whole data flow, from the spec to the status.

    spec -> observe -> decide_upgrade -> resolve -> plan -> track_progress -> apply -> effects
    -> status

`decide_upgrade` decides which release the servers run, and `track_progress` reports its rollout.

Composed by `baoctl.process.wiring`; called by `runtime.controller.controller` with one key at a
time.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime

from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTERS
from contracts.api.violation import InvalidClusterError
from contracts.naming import names
from contracts.pause import pause_acknowledged
from contracts.records.event import EventRecord
from contracts.records.observed import Observed
from managers.cluster.apply.actions import ClusterEffects
from managers.cluster.apply.apply import Applier
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.delete import Deletion
from managers.cluster.observe.observer import ClusterObserver
from managers.cluster.observe.status_evidence import correction_events, with_corrected_status
from managers.cluster.owner import owner_of
from managers.cluster.plan.adoption import adoption_of, with_served_names
from managers.cluster.plan.green_pool import with_green_pool
from managers.cluster.plan.steps import merge_plans
from managers.cluster.resolve.resolve_now import resolve_now
from managers.cluster.status.cluster_status import (
    ReconcileResult,
    compute,
    deleting,
    failing,
    unreadable,
)
from managers.context.context import FIELD_MANAGER
from managers.context.pause_guard import is_paused
from managers.upgrade.decide import decide_upgrade
from managers.upgrade.effective_spec import hibernation_delay, with_accepted_release
from managers.upgrade.rolling.progress import track_progress
from runtime.apply.ownership import Owner
from runtime.cache.cache import Cache
from runtime.controller.finalizer import Finalizer
from runtime.errors import ApiError, Transient
from runtime.limits.object_size import DEFAULT, oversize_of
from runtime.outcome import Blocked, Done, Outcome, Wait, combine
from runtime.types import Object, ObjectKey, Request, key_of

# Seconds for which reconciles must fail before the status reports it. A restart of the API server
# fails several attempts, and must not change the status of every cluster.
REPORT_AFTER = 10.0


@dataclass(frozen=True, slots=True)
class _FailurePeriod:
    """Consecutive failed reconciles of a cluster."""

    since: float
    answered: bool
    """Whether the API server responded to a failed request since then."""


class ClusterReconciler:
    """Brings the objects of one cluster to the desired state, and reports the progress."""

    def __init__(
        self,
        clusters: Cache,
        observer: ClusterObserver,
        applier: Applier,
        deletion: Deletion,
        statuses: StatusWriter,
        effects: ClusterEffects,
    ) -> None:
        self._clusters = clusters
        self._observer = observer
        self._applier = applier
        self._deletion = deletion
        self._statuses = statuses
        self._effects = effects
        self._context = context = effects.context
        self._failures: dict[ObjectKey, _FailurePeriod] = {}
        self._finalizer = Finalizer(
            context.client, CLUSTERS, names.FINALIZER, FIELD_MANAGER, DEFAULT
        )

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile once. Raises transient errors, which the controller retries with backoff."""
        live = self._clusters.get(request)
        if live is None:
            self._statuses.forget(request)
            self._observer.forget(request)
            self._failures.pop(request, None)
            return Done()
        if _is_pause_acknowledged(live):
            # While paused the status is frozen, even if pods change.
            return Done()
        if names.FINALIZER not in (live["metadata"].get("finalizers") or ()):
            self._observer.cache_refresher.mark_new(owner_of(live))
        # The finalizer first: no child exists without it, so no deletion leaves one behind.
        return await self._finalizer.reconcile(live, apply=self._apply, cleanup=self._cleanup)

    async def _apply(self, live: Object) -> Outcome:
        try:
            cluster = read_cluster(live)
        except InvalidClusterError as invalid:
            await self._report_unreadable(live, str(invalid))
            return Blocked("InvalidSpec", str(invalid))
        try:
            result = await self._reconcile(cluster, owner_of(live))
        except (ApiError, Transient) as error:
            await self._report_failure(live, cluster, error)
            raise
        self._failures.pop(key_of(live), None)
        events = (*result.events, *(result.decision.events if result.decision else ()))
        details_due = await self._statuses.write(live, compute(result), events)
        recheck = Done(self._observer.cache_refresher.next_refresh(result))
        return combine(result.outcome, recheck, Done(details_due))

    async def _report_unreadable(self, live: Object, error: str) -> None:
        oversize = oversize_of(live)
        if oversize is not None and oversize.member == "status":
            # A status that the cache truncated is not written: its content would be lost.
            self._context.events.event(live, "Warning", "InvalidSpec", error)
            return
        await self._statuses.write(live, unreadable(live, error, self._context.clock.now()))

    async def _report_failure(
        self, live: Object, cluster: OpenBaoCluster, error: Exception
    ) -> None:
        """Report a persistent error in the status; a temporary one is only logged.

        An API server that starts refuses requests until it has loaded the roles: so the first
        response starts the period again. Later changes do not, because errors with and without a
        response may alternate.
        """
        key, now = key_of(live), self._context.clock.monotonic()
        answered = isinstance(error, ApiError)
        period = self._failures.get(key)
        if period is None or (answered and not period.answered):
            period = self._failures[key] = _FailurePeriod(now, answered)
        if now - period.since < REPORT_AFTER:
            return
        with contextlib.suppress(ApiError, Transient):
            status = failing(cluster, str(error), self._context.clock.now())
            await self._statuses.write(live, status)

    async def _cleanup(self, live: Object) -> Outcome:
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            cluster = None
        requested_at = datetime.fromisoformat(live["metadata"]["deletionTimestamp"])
        try:
            await self._observer.cache_refresher.refresh_for_deletion(owner_of(live), cluster)
            outcome = await self._deletion.run(cluster, owner_of(live), requested_at)
        except (ApiError, Transient) as error:
            if cluster is not None:
                await self._report_failure(live, cluster, error)
            raise
        if isinstance(outcome, Wait) and cluster is not None:
            status = deleting(cluster, outcome.message, self._context.clock.now())
            await self._statuses.write(live, status)
        return outcome

    async def _reconcile(self, cluster: OpenBaoCluster, owner: Owner) -> ReconcileResult:
        observed = await self._observer.observe(cluster, owner)
        cluster, events = self._with_evidence(cluster, observed)
        if cluster.spec.paused:
            return ReconcileResult(cluster, observed, Done(), events=events)
        adoption = adoption_of(cluster, observed)
        decision = decide_upgrade(
            # An upgrade starts only after this operator has adopted the servers.
            cluster if adoption.stage == "none" else with_accepted_release(cluster),
            observed,
            self._observer.installation.pod_deadline,
        )
        await self._effects.begin(owner, decision.effects)
        resolved = resolve_now(
            with_accepted_release(cluster), owner, observed, self._observer.installation
        )
        if isinstance(resolved, Blocked):
            # A spec that needs the next release is not reported while that release rolls out.
            refusal = resolved if isinstance(decision.outcome, Done) else decision.outcome
            return ReconcileResult(cluster, observed, refusal, decision=decision, events=events)
        resolved = with_green_pool(
            resolved, cluster, observed, self._observer.installation, decision
        )
        resolved = with_served_names(resolved, adoption, observed)
        desired = merge_plans(resolved, observed, decision, adoption)
        decision = track_progress(cluster, observed, decision, desired)
        applied = await self._applier.apply(owner, desired)
        if applied.in_place or not desired.complete:
            await self._effects.run(resolved, desired.effects)
        delay = hibernation_delay(cluster) or Done()
        outcome = combine(*applied.outcomes, *desired.outcomes, decision.outcome, delay)
        return ReconcileResult(cluster, observed, outcome, resolved, applied, decision, events)

    def _with_evidence(
        self, cluster: OpenBaoCluster, observed: Observed
    ) -> tuple[OpenBaoCluster, tuple[EventRecord, ...]]:
        """Correct the fields of the status that do not match the servers."""
        pool = observed.voters
        corrected = with_corrected_status(
            cluster, pool, self._observer.installation.image_repository
        )
        unchanged = corrected is cluster and cluster.status.release is not None
        return corrected, () if unchanged else correction_events(cluster, corrected, pool)


def _is_pause_acknowledged(live: Object) -> bool:
    """Report whether a cluster is paused and its status shows it: then a reconcile does nothing."""
    if not is_paused(live):
        return False
    try:
        return pause_acknowledged(read_cluster(live))
    except InvalidClusterError:
        return False
