"""Progress of an upgrade, derived from the pods that have the newest template. Pure.

Called by managers.cluster.reconcile between the plan and the status: only the plan knows the newest
template.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.records.desired import Desired, RolloutProgress
from contracts.records.effects import Effect, MakeStepDownJob
from contracts.records.observed import Observed
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.condition import upgrading
from managers.upgrade.rolling.facts import FAILED, IDLE, ROLLING, SOON
from runtime.outcome import Done


def track_progress(
    cluster: OpenBaoCluster, observed: Observed, decision: UpgradeDecision, desired: Desired
) -> UpgradeDecision:
    """Add the progress and the completion that the pods show to the decision."""
    upgrade, rollout = decision.upgrade, desired.rollout
    if upgrade is None or rollout is None or decision.state not in (ROLLING, FAILED):
        return decision
    if decision.accepted is None or decision.release != decision.accepted:
        # The newest template still has the previous release.
        return decision
    if rollout.complete and _is_complete(observed, upgrade, cluster.spec.replicas):
        completed = replace(decision, state=IDLE, upgrade=None, outcome=Done(SOON))
        return replace(completed, finding=upgrading(cluster, completed))
    if decision.state == FAILED:
        return decision
    changes = _changes(upgrade, rollout, desired.effects, observed.now)
    if _has_stepped_down(observed, decision):
        # The finished Job is not read again.
        changes |= {"step_down_job": None}
    updated = upgrade.model_copy(update=changes)
    if updated == upgrade:
        return decision
    with_progress = replace(decision, upgrade=updated)
    return replace(with_progress, finding=upgrading(cluster, with_progress))


def _is_complete(observed: Observed, upgrade: UpgradeStatus, size: int) -> bool:
    """Report whether all servers run the target, and the leader, if readable, reports them healthy.

    Servers report the version; another build of the same version differs only in the template.
    """
    if any(pod.registration.version != upgrade.target_version for pod in observed.pods):
        return False
    if size > 1 and len(observed.leaders) != 1:
        return False
    quorum = observed.quorum
    if quorum is None:
        return True
    voters = [server for server in quorum.servers if server.voter]
    healthy = all(server.healthy and server.follows for server in voters)
    return not quorum.error and len(voters) == size and healthy


def _has_stepped_down(observed: Observed, decision: UpgradeDecision) -> bool:
    """Report whether the leader that a Job stepped down no longer leads."""
    job, step_down_job, upgrade = observed.upgrade.job, decision.step_down_job, decision.upgrade
    if job is None or step_down_job is None or job.state == "Active" or len(observed.leaders) != 1:
        return False
    if upgrade is None or upgrade.step_down_job != job.name:
        # That Job has ended, and the next one may just have been requested.
        return False
    return all(step_down_job.job(leader.uid) != job.name for leader in observed.leaders)


def _changes(
    upgrade: UpgradeStatus, rollout: RolloutProgress, effects: tuple[Effect, ...], now: datetime
) -> dict[str, Any]:
    timestamp = now.replace(microsecond=0)
    changes: dict[str, Any] = {}
    pods = tuple(sorted(rollout.updated, reverse=True))
    if pods != upgrade.completed_pods:
        changes |= {"completed_pods": pods, "step_started_at": timestamp}
        changes["current_partition"] = min(pods, default=upgrade.current_partition)
    pod = rollout.pod or None
    if pod != upgrade.pod:
        changes |= {"pod": pod, "step_started_at": timestamp}
    job = next((effect.job for effect in effects if isinstance(effect, MakeStepDownJob)), None)
    if job is not None and job != upgrade.step_down_job:
        changes |= {
            "step_down_job": job,
            "step_downs": (upgrade.step_downs or 0) + 1,
            "last_step_down_time": timestamp,
            "step_started_at": timestamp,
        }
    return changes
