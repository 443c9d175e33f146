"""The status step: computes the status of the cluster from the result of a reconcile. Pure.

Writes everything under `status` except the parts of other writers (OTHERS in
managers.cluster.apply.status_writer), such as `status.adminOps`, which this step only reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus, Phase, WorkloadStatus
from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_unseal import UnsealStatus
from contracts.api.cluster.status_upgrade import ReleaseStatus, UpgradeStatus
from contracts.api.rules.unsupported_fields import unserved_fields
from contracts.conditions.condition import TYPES, Condition, Status, condition, merge
from contracts.conditions.message import clean_message
from contracts.conditions.reasons_workload import QUESTION_REFUSED
from contracts.naming import labels, names
from contracts.pause import is_paused
from contracts.pools.fenced_pods import with_effective_fences
from contracts.pools.voter_pool import serving_pool
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Operation
from contracts.records.event import EventRecord
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.upgrade_decision import UpgradeDecision
from managers.bootstrap.first_boot import failed_first_boot
from managers.cluster.status.conditions import findings
from managers.cluster.status.inputs import ConditionFacts
from managers.cluster.status.operation import operation_status
from managers.networking.exposure_spec import exposure_spec
from managers.upgrade.effective_spec import with_effective_hibernation
from managers.workload.plan import ROLL
from managers.workload.read_conditions import read_status
from runtime.memo import memoize
from runtime.outcome import Blocked, Outcome, Wait
from runtime.types import Object

# Conditions of a cluster after an incomplete reconcile. The three of kstatus (Ready, Reconciling,
# Stalled) are always set together: an older one would contradict the new ones.
FAILING: tuple[tuple[str, Status], ...] = (
    ("Ready", "Unknown"),
    ("Reconciling", "True"),
    ("Stalled", "False"),
)

DELETING: tuple[tuple[str, Status], ...] = (
    ("Ready", "False"),
    ("Reconciling", "True"),
    ("Stalled", "False"),
    ("Available", "False"),
)

UNREADABLE: tuple[tuple[str, Status], ...] = (
    ("Ready", "False"),
    ("Reconciling", "False"),
    ("Stalled", "True"),
    ("Degraded", "True"),
)

TLS_SECRETS_MAX = 16

# Pure functions whose results are the same in nearly every reconcile.
_unserved_fields = memoize(unserved_fields)
_exposure = memoize(exposure_spec)
_condition = lru_cache(maxsize=256)(condition)


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """The result of one workload reconcile, which may be partial."""

    cluster: OpenBaoCluster
    observed: Observed
    outcome: Outcome
    resolved: Resolved | None = None
    applied: AppliedObjects | None = None
    decision: UpgradeDecision | None = None
    """None: there is no upgrade decision, as the cluster is paused."""
    events: tuple[EventRecord, ...] = ()
    """Events about corrected fields of the status."""


def compute(result: ReconcileResult) -> ClusterStatus:
    """Compute the status after a reconcile; equal input gives an equal status.

    Nothing in it changes merely because time passes.
    """
    cluster, observed = result.cluster, result.observed
    previous = cluster.status
    initialized = result.resolved.initialized if result.resolved else previous.initialized
    facts = ConditionFacts(
        name=cluster.metadata.name,
        spec=with_effective_fences(with_effective_hibernation(cluster)).spec,
        observed=observed,
        outcome=result.outcome,
        initialized=initialized,
        raft=previous.admin_ops.raft if previous.admin_ops else None,
        autopilot=previous.admin_ops.autopilot if previous.admin_ops else None,
        error=previous.admin_ops.last_error if previous.admin_ops else None,
        was_running=previous.phase == "Running",
        unserved=_unserved_fields(cluster.spec),
        conflicts=_conflicts(result.applied, result.outcome),
        server_secret=tls_names.server_secret(cluster),
        recovery_keys=previous.admin_ops.recovery_keys if previous.admin_ops else None,
        operator_login=previous.admin_ops.operator_login if previous.admin_ops else None,
        owner_uid=cluster.metadata.uid,
        exposure=_exposure(cluster),
        cluster=cluster,
        decision=result.decision,
    )
    ready = sum(pod.ready for pod in observed.pods)
    leaders = observed.leaders
    bluegreen = result.decision if result.decision and result.decision.is_blue_green else previous
    return ClusterStatus(
        observed_generation=cluster.metadata.generation,
        phase=_phase(facts, ready),
        active_leader=leaders[0].name if len(leaders) == 1 and initialized else "",
        ready=f"{ready}/{cluster.spec.replicas}",
        ready_replicas=ready,
        replicas=len(observed.pods),
        selector=labels.selector_text(serving_pool(cluster).selector),
        sealed=_seal_state(observed, initialized=initialized),
        current_version=_version(observed) or previous.current_version,
        initialized=initialized,
        self_initialized=initialized and _self_initialized(cluster),
        failed_first_boot=failed_first_boot(cluster, observed),
        operation=operation_status(_operation(result), previous.operation, observed.now),
        unseal=_unseal(result),
        read_replicas=read_status(cluster.spec, observed, facts.raft),
        tls_secrets=_tls_secrets(cluster, observed),
        workload=_workload(result),
        resumed_at=_resumed_at(result),
        release=_release(result),
        upgrade=_upgrade(result),
        blue_green=bluegreen.blue_green,
        break_glass=bluegreen.break_glass,
        upgrade_requests=result.decision.requests if result.decision else previous.upgrade_requests,
        conditions=_conditions(facts, cluster.metadata.generation, previous.conditions),
    )


def _self_initialized(cluster: OpenBaoCluster) -> bool:
    """Report whether the cluster initialized itself; later changes of the spec have no effect."""
    before = cluster.status
    if before.initialized and "self_initialized" in before.model_fields_set:
        return before.self_initialized
    return cluster.spec.self_initializes


def _tls_secrets(cluster: OpenBaoCluster, observed: Observed) -> tuple[str, ...] | None:
    """Keep the Secrets that the spec named while pods mount them.

    Only Secrets that a spec named count: a user who can write pods must not choose what is read.
    """
    own = names.tls_server_secret(cluster.metadata.name)
    mounted = {pod.tls_secret for pod in observed.servers}
    mounted_before = {name for name in cluster.status.tls_secrets or () if name in mounted}
    allowed = {*mounted_before, tls_names.server_secret(cluster)} - {None, own}
    return tuple(sorted(name for name in allowed if name))[:TLS_SECRETS_MAX] or None


def failing(cluster: OpenBaoCluster, error: str, now: datetime) -> ClusterStatus:
    """Report that reconciles fail, and leave everything else as it was last observed."""
    return waiting_status(cluster, Wait("TransientError", error), now)


def waiting_status(cluster: OpenBaoCluster, wait: Wait, now: datetime) -> ClusterStatus:
    """Report why no reconcile runs, and leave everything else as it was last observed."""
    generation = cluster.metadata.generation
    conditions = [
        condition(kind, status, wait.reason, wait.message, generation) for kind, status in FAILING
    ]
    return _with(cluster.status, conditions, now)


def deleting(cluster: OpenBaoCluster, message: str, now: datetime) -> ClusterStatus:
    """Report that the cluster is being deleted, and what the deletion waits for."""
    generation = cluster.metadata.generation
    conditions = [
        condition(kind, status, "Deleting", message, generation) for kind, status in DELETING
    ]
    return _with(cluster.status, conditions, now)


def unreadable(live: Object, error: str, now: datetime) -> ClusterStatus:
    """Report that this version cannot read the spec, and leave everything else.

    The CRD rejects such a spec today; an older one may have accepted it.
    """
    generation = live["metadata"].get("generation", 0)
    conditions = [
        condition(kind, status, "InvalidSpec", error, generation) for kind, status in UNREADABLE
    ]
    status = _with(ClusterStatus.lenient(live.get("status") or {}), conditions, now)
    return status.model_copy(update={"observed_generation": generation})


def _with(status: ClusterStatus, conditions: Sequence[Condition], now: datetime) -> ClusterStatus:
    # Other writers may have added conditions: the next full status drops them.
    own_types = {kind.name for kind in TYPES} - {new.type for new in conditions}
    retained = [old for old in status.conditions if old.type in own_types]
    merged = merge(status.conditions, [*retained, *conditions], now)
    return status.model_copy(update={"conditions": merged})


def _conditions(
    facts: ConditionFacts, generation: int, previous: tuple[Condition, ...]
) -> tuple[Condition, ...]:
    updates = [
        _condition(update.type, update.status, update.reason, update.message, generation)
        for update in findings(facts)
    ]
    return merge(previous, updates, facts.observed.now)


def _operation(result: ReconcileResult) -> Operation | None:
    """Return the operation of the plan; a paused or refused reconcile has none."""
    return result.applied.desired.operation if result.applied is not None else None


def _phase(facts: ConditionFacts, ready: int) -> Phase:
    if isinstance(facts.outcome, Blocked) and facts.outcome.reason == "SelfInitFailed":
        return "Failed"
    if facts.was_running or (facts.initialized and ready >= facts.spec.replicas):
        return "Running"
    return "Initializing"


def _seal_state(observed: Observed, *, initialized: bool) -> Literal["true", "false", "unknown"]:
    if not initialized:
        return "unknown"
    sealed = [pod.registration.sealed for pod in observed.servers if not pod.terminating]
    if any(sealed):
        return "true"
    return "unknown" if not sealed or None in sealed else "false"


def _version(observed: Observed) -> str:
    """Return the one version that all ready servers report; "" while there is none or several."""
    versions = {pod.registration.version for pod in observed.pods if pod.ready}
    return (versions.pop() or "") if len(versions) == 1 else ""


def _unseal(result: ReconcileResult) -> UnsealStatus | None:
    """Return the keys that the pod template names, if this reconcile planned it."""
    rotation = result.resolved.unseal.rotation if result.resolved else None
    if rotation is None:
        return result.cluster.status.unseal if result.resolved is None else None
    live = result.observed.stateful_set
    if live is None and result.applied is not None and not result.applied.desired.workload:
        # No object names them yet: the last status is kept.
        return result.cluster.status.unseal
    return UnsealStatus(keys=str(rotation.ring), step=rotation.step)


def _workload(result: ReconcileResult) -> WorkloadStatus | None:
    previous, now = result.cluster.status.workload, result.observed.now
    workload = WorkloadStatus(
        last_error=_workload_error(result.outcome, previous, now),
        rolling_since=_rolling_since(result, previous, now),
    )
    return None if workload == WorkloadStatus() else workload


def _workload_error(
    outcome: Outcome, previous: WorkloadStatus | None, now: datetime
) -> LastError | None:
    if not isinstance(outcome, Blocked):
        return None
    message = clean_message(outcome.message)
    last = previous.last_error if previous else None
    same = last is not None and (last.reason, last.message) == (outcome.reason, message)
    since = last.at if same and last is not None and last.at else now.replace(microsecond=0)
    return LastError(reason=outcome.reason, message=message, at=since)


def _rolling_since(
    result: ReconcileResult, previous: WorkloadStatus | None, now: datetime
) -> datetime | None:
    outcome, operation = result.outcome, _operation(result)
    since = previous.rolling_since if previous else None
    rolls = operation is not None and operation.kind == "Rolling"
    reasons = {*ROLL, QUESTION_REFUSED} if rolls else ROLL
    if isinstance(outcome, Wait) and outcome.reason in reasons:
        return since or now.replace(microsecond=0)
    # Another outcome is reported for now; the pods may still be rolling.
    return since if isinstance(outcome, Blocked) else None


def _resumed_at(result: ReconcileResult) -> datetime | None:
    """Return when the last pause ended: the time of the first reconcile after it."""
    status = result.cluster.status
    if result.cluster.spec.paused or not is_paused(status):
        return status.resumed_at
    return result.observed.now.replace(microsecond=0)


def _release(result: ReconcileResult) -> ReleaseStatus | None:
    """Return the accepted release; a refused spec accepts none."""
    decision, accepted = result.decision, result.cluster.status.release
    if decision is None or decision.accepted is None:
        return accepted
    if result.resolved is None and not result.cluster.status.initialized:
        return accepted
    if accepted is not None and decision.state == "Idle":
        return accepted
    return decision.accepted.status()


def _upgrade(result: ReconcileResult) -> UpgradeStatus | None:
    stored = result.cluster.status.upgrade
    if result.decision is not None:
        return result.decision.upgrade
    # A pause does not count against the deadline of a step.
    return stored and stored.model_copy(update={"step_started_at": None})


def _conflicts(applied: AppliedObjects | None, outcome: Outcome) -> tuple[str, ...]:
    from_outcome = (
        (outcome.message,)
        if isinstance(outcome, Blocked) and outcome.reason == "ForeignObject"
        else ()
    )
    return from_outcome if applied is None else from_outcome or applied.conflicts
