"""What the pods say of an upgrade, once it is known which of them are new. Pure.

Called between the plan and the status: only the plan knows the newest template.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.records.desired import Desired, Effect, RolloutProgress
from contracts.records.observed import Observed
from contracts.records.upgrade import MAKE_HAND_OVER
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.condition import upgrading
from managers.upgrade.rolling.facts import FAILED, IDLE, ROLLING, SOON
from runtime.outcome import Done


def track_progress(
    cluster: OpenBaoCluster, observed: Observed, course: UpgradeDecision, desired: Desired
) -> UpgradeDecision:
    """Add to the course what the pods show: how far it is, and that it is over."""
    upgrade, rolled = course.upgrade, desired.rolled
    if upgrade is None or rolled is None or course.place not in (ROLLING, FAILED):
        return course
    if course.accepted is None or course.release != course.accepted:
        # The newest template is still that of the release before.
        return course
    if rolled.complete and _is_well(observed, upgrade, cluster.spec.replicas):
        over = replace(course, place=IDLE, upgrade=None, outcome=Done(SOON))
        return replace(over, finding=upgrading(cluster, over))
    if course.place == FAILED:
        return course
    changes = _moves(upgrade, rolled, desired.effects, observed.now)
    if _has_handed_over(observed, course):
        # Nobody has to look at that Job again.
        changes |= {"step_down_job": None}
    moved = upgrade.model_copy(update=changes)
    if moved == upgrade:
        return course
    further = replace(course, upgrade=moved)
    return replace(further, finding=upgrading(cluster, further))


def _is_well(observed: Observed, upgrade: UpgradeStatus, size: int) -> bool:
    """Tell whether all servers run the target, and the leader finds them well if it can be asked.

    The version is what servers say of themselves; that of another build with the same number is
    told by the template alone.
    """
    if any(pod.registration.version != upgrade.target_version for pod in observed.pods):
        return False
    if size > 1 and len(observed.leaders) != 1:
        return False
    quorum = observed.quorum
    if quorum is None:
        return True
    voters = [server for server in quorum.servers if server.voter]
    well = all(server.healthy and server.follows for server in voters)
    return not quorum.trouble and len(voters) == size and well


def _has_handed_over(observed: Observed, course: UpgradeDecision) -> bool:
    """Tell whether the leader that a Job asked leads no more."""
    job, hand_over, upgrade = observed.upgrade.job, course.hand_over, course.upgrade
    if job is None or hand_over is None or job.state == "Active" or len(observed.leaders) != 1:
        return False
    if upgrade is None or upgrade.step_down_job != job.name:
        # That Job is behind us, and the next one may just have been asked for.
        return False
    return all(hand_over.job(leader.uid) != job.name for leader in observed.leaders)


def _moves(
    upgrade: UpgradeStatus, rolled: RolloutProgress, effects: tuple[Effect, ...], now: datetime
) -> dict[str, Any]:
    moment = now.replace(microsecond=0)
    changes: dict[str, Any] = {}
    completed = tuple(sorted(rolled.renewed, reverse=True))
    if completed != upgrade.completed_pods:
        changes |= {"completed_pods": completed, "step_started_at": moment}
        changes["current_partition"] = min(completed, default=upgrade.current_partition)
    pod = rolled.pod or None
    if pod != upgrade.pod:
        changes |= {"pod": pod, "step_started_at": moment}
    asked = next((one for one in effects if one.name == MAKE_HAND_OVER), None)
    job = (asked.body or {}).get("job") if asked is not None else None
    if job is not None and job != upgrade.step_down_job:
        changes |= {
            "step_down_job": job,
            "step_downs": (upgrade.step_downs or 0) + 1,
            "last_step_down_time": moment,
            "step_started_at": moment,
        }
    return changes
