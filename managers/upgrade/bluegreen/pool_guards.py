"""Guards of managers.upgrade.bluegreen.table on the blue and the green pool. Pure.

Each returns None when its transition does not apply, otherwise a message for users.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from contracts.api.values.duration import counted_duration
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import DEMOTING
from contracts.state_machine import Guard, GuardMessage
from managers.upgrade.bluegreen.guards import job_done, needs_retry
from managers.upgrade.version_matrix import Succession, succession

DEPLOY_DEADLINE: Final = timedelta(minutes=30)
"""How long green may take to be ready: pull images, provision volumes, unseal servers."""
STEP_DEADLINE: Final = timedelta(minutes=10)
"""How long a later phase may wait for servers, votes or a leader."""

Facts = BlueGreenFacts


# --- green --------------------------------------------------------------------------------------


def _overdue(facts: Facts, limit: timedelta) -> bool:
    """The deadline of the step after a Job starts when the end of the Job is recorded."""
    if job_done(facts) and facts.status.completed_job != facts.job_name:
        return False
    return facts.phase_duration >= limit


def _late(facts: Facts, limit: timedelta) -> bool:
    return facts.auto_rollback.enabled and _overdue(facts, limit)


def spec_reverted(facts: Facts) -> GuardMessage | None:
    """The spec requests the release of blue again: green is obsolete."""
    same = facts.requested == facts.accepted
    return GuardMessage(f"the spec requests {facts.accepted} again") if same else None


def green_cannot_run(facts: Facts) -> GuardMessage | None:
    return GuardMessage(facts.green.failure) or None if facts.auto_rollback.enabled else None


def green_leads_early(facts: Facts) -> GuardMessage | None:
    """Green leads before it has a vote, so it is a separate cluster: never promote it."""
    green_leads = facts.membership is not None and facts.membership.leader == "green"
    return GuardMessage("a server of green leads before it was promoted") if green_leads else None


def blue_not_ready(facts: Facts) -> GuardMessage | None:
    if facts.green.uid or facts.blue.ready:
        return None
    return GuardMessage("no server of blue is ready, so green has no cluster to join")


def green_not_ready(facts: Facts) -> GuardMessage | None:
    if facts.green.ready >= facts.green_replicas:
        return None
    return GuardMessage(f"{facts.green.ready} of {facts.green_replicas} servers of green are ready")


def green_not_deployed_in_time(facts: Facts) -> GuardMessage | None:
    return green_not_ready(facts) if _late(facts, DEPLOY_DEADLINE) else None


def green_not_ready_in_time(facts: Facts) -> GuardMessage | None:
    return green_not_ready(facts) if _late(facts, STEP_DEADLINE) and not job_done(facts) else None


def sync_period_runs(facts: Facts) -> GuardMessage | None:
    verification = facts.settings.verification
    if sync_left(facts) <= 0 or verification is None:
        return None
    return GuardMessage(
        f"green follows blue for minSyncDuration ({verification.min_sync_duration})"
    )


def sync_left(facts: Facts) -> float:
    """Return the seconds for which green must still follow before it is validated."""
    verification = facts.settings.verification
    if job_done(facts) or verification is None or not verification.min_sync_duration:
        return 0.0
    minimum = counted_duration(verification.min_sync_duration) or timedelta()
    return max(0.0, (minimum - facts.phase_duration).total_seconds())


def promotion_not_approved(facts: Facts) -> GuardMessage | None:
    """Promotion is manual, and no user requested it yet."""
    if not facts.status.manual_promotion_required or facts.pending("promote"):
        return None
    return GuardMessage("green is in sync and waits for a new spec.upgrade.requests.promote")


def votes_missing(facts: Facts) -> GuardMessage | None:
    if facts.membership is None:
        return GuardMessage("no leader reports the voters")
    if facts.membership.green_voters >= facts.green_replicas:
        return None
    return GuardMessage(
        f"{facts.membership.green_voters} of {facts.green_replicas} servers of green are voters"
    )


def votes_missing_too_long(facts: Facts) -> GuardMessage | None:
    has_membership = facts.membership is not None
    return votes_missing(facts) if has_membership and _late(facts, STEP_DEADLINE) else None


# --- the cutover --------------------------------------------------------------------------------


def clients_use_blue(facts: Facts) -> GuardMessage | None:
    """Blue keeps its votes until clients are sent to green."""
    if job_done(facts) or facts.traffic == facts.green_revision:
        return None
    return GuardMessage("clients are switched to green first")


def green_cannot_lead(facts: Facts) -> GuardMessage | None:
    """Blue keeps its votes until green alone is a complete, healthy cluster."""
    return None if job_done(facts) else votes_missing(facts)


def green_cannot_lead_in_time(facts: Facts) -> GuardMessage | None:
    return None if job_done(facts) else votes_missing_too_long(facts)


def green_does_not_lead(facts: Facts) -> GuardMessage | None:
    green_leads = facts.membership is not None and facts.membership.leader == "green"
    return None if green_leads else GuardMessage("no server of green leads yet")


def blue_votes(facts: Facts) -> GuardMessage | None:
    if facts.membership is None or not facts.membership.blue_voters:
        return None
    return GuardMessage(f"{facts.membership.blue_voters} servers of blue are still voters")


def hand_over_incomplete(facts: Facts) -> GuardMessage | None:
    return green_does_not_lead(facts) or blue_votes(facts)


def hand_over_late(facts: Facts) -> GuardMessage | None:
    """Require a known leader: during an election there is none for a moment."""
    has_leader = facts.membership is not None and facts.membership.leader is not None
    return hand_over_incomplete(facts) if has_leader and _late(facts, STEP_DEADLINE) else None


def stabilization_left(facts: Facts) -> float:
    """Return the seconds for which blue is still kept; they count once the status records that
    green leads."""
    period = float(facts.auto_rollback.stabilization_seconds)
    if facts.status.completed_job != facts.job_name:
        return period
    return max(0.0, period - facts.phase_duration.total_seconds())


def stabilization_runs(facts: Facts) -> GuardMessage | None:
    if stabilization_left(facts) <= 0:
        return None
    return GuardMessage(
        f"green leads; blue is kept for {facts.auto_rollback.stabilization_seconds} s"
    )


def cleanup_not_approved(facts: Facts) -> GuardMessage | None:
    """Cleanup is manual, and no user requested it yet."""
    if not facts.status.manual_cleanup_required or facts.pending("cleanup"):
        return None
    verdict = _succession(facts)
    back = (
        f"no rollback is possible ({verdict.why})"
        if verdict.grade == "impossible"
        else "spec.upgrade.requests.rollback rolls back"
    )
    return GuardMessage(
        f"green leads, and blue is kept until a new spec.upgrade.requests.cleanup; {back}"
    )


# --- the removal of blue ------------------------------------------------------------------------


def green_needs_blue(facts: Facts) -> GuardMessage | None:
    """Blue is only removed while green works without it."""
    return None if job_done(facts) else green_not_ready(facts) or hand_over_incomplete(facts)


def blue_servers(facts: Facts) -> GuardMessage | None:
    return GuardMessage("deleting the servers of blue") if facts.blue.uid else None


def blue_pods(facts: Facts) -> GuardMessage | None:
    return (
        GuardMessage(f"{facts.blue.pods} servers of blue are terminating")
        if facts.blue.pods
        else None
    )


def blue_claims(facts: Facts) -> GuardMessage | None:
    """Volumes that held the only copy of the data: the user decides about them (rule I01)."""
    if facts.keeps_volumes or not facts.blue.claims:
        return None
    return GuardMessage("deleting the volumes of blue")


def membership_unknown(facts: Facts) -> GuardMessage | None:
    return GuardMessage("no leader reports the members") if facts.membership is None else None


def blue_peers(facts: Facts) -> GuardMessage | None:
    remaining = facts.membership.blue_peers if facts.membership else 0
    return GuardMessage(f"{remaining} servers of blue are still members") if remaining else None


def blue_peers_stuck(facts: Facts) -> GuardMessage | None:
    return blue_peers(facts) if needs_retry(facts) else None


def read_replicas_desired(facts: Facts) -> GuardMessage | None:
    return (
        GuardMessage("read replicas are next")
        if facts.cluster.spec.read_replicas is not None
        else None
    )


def read_replicas_outdated(facts: Facts) -> GuardMessage | None:
    return (
        None
        if facts.read_replicas_upgraded
        else GuardMessage("read replicas are upgraded to the new release")
    )


# --- the rollback -------------------------------------------------------------------------------


def rollback_obstacle(facts: Facts) -> str:
    """Return why blue cannot take the leadership back; "" if it can.

    Only a leader changes stored data in a way that an older release may not read, so every rollback
    is possible until green has led. A release that is not known to fail is tried only at the
    request of a user.
    """
    if not _green_has_led(facts):
        return ""
    verdict = _succession(facts)
    if verdict.grade == "untested" and facts.pending("rollback"):
        return ""
    return verdict.why


def _succession(facts: Facts) -> Succession:
    """Return whether a server of blue can lead after one of green."""
    return succession(facts.accepted.version, facts.target.version)


def _green_has_led(facts: Facts) -> bool:
    """Without a known leader, green has led if the Job that demotes blue has succeeded."""
    if facts.membership is not None:
        return facts.membership.leader == "green"
    return facts.status.phase == DEMOTING and job_done(facts)


def if_blue_can_lead(when: Guard[Facts]) -> Guard[Facts]:
    """Return a guard that applies while a rollback is possible."""
    return lambda facts: None if rollback_obstacle(facts) else when(facts)


def if_blue_cannot_lead(when: Callable[[Facts], GuardMessage | None]) -> Guard[Facts]:
    """Return a guard that applies when a rollback is due and not possible; a retry continues."""

    def guard(facts: Facts) -> GuardMessage | None:
        cause, obstacle = when(facts), rollback_obstacle(facts)
        if cause is None or not obstacle or facts.pending("retry"):
            return None
        return GuardMessage(f"{cause}; the upgrade cannot be rolled back: {obstacle}")

    return guard


def rollback_impossible(facts: Facts) -> GuardMessage | None:
    """Green leads during a rollback, and blue can never lead again: only a user can end this."""
    verdict = _succession(facts)
    if verdict.grade != "impossible" or not _green_has_led(facts):
        return None
    return GuardMessage(f"the rollback is not possible: {verdict.why}")


def blue_cannot_lead(facts: Facts) -> GuardMessage | None:
    """A majority of blue must be ready before blue gets all votes back."""
    needed = facts.blue_replicas // 2 + 1
    if job_done(facts) or facts.blue.ready >= needed:
        return None
    return GuardMessage(
        f"{facts.blue.ready} servers of blue are ready and {needed} are needed to lead"
    )


def blue_does_not_lead(facts: Facts) -> GuardMessage | None:
    if facts.membership is None or facts.membership.leader != "blue":
        return GuardMessage("no server of blue leads yet")
    if facts.membership.blue_voters < facts.blue_replicas:
        return GuardMessage(
            f"{facts.membership.blue_voters} of {facts.blue_replicas} servers of blue are voters"
        )
    if facts.membership.green_voters:
        return GuardMessage(f"{facts.membership.green_voters} servers of green are still voters")
    return None


def blue_cannot_lead_in_time(facts: Facts) -> GuardMessage | None:
    return blue_cannot_lead(facts) if _overdue(facts, STEP_DEADLINE) else None


def blue_does_not_lead_in_time(facts: Facts) -> GuardMessage | None:
    return blue_does_not_lead(facts) if _overdue(facts, STEP_DEADLINE) else None


def green_not_removable(facts: Facts) -> GuardMessage | None:
    """Green is only removed while blue leads and green has no vote."""
    if facts.membership is None or facts.membership.leader != "blue":
        return GuardMessage("no server of blue leads, so green is not removed")
    if facts.membership.green_voters:
        return GuardMessage(f"{facts.membership.green_voters} servers of green are still voters")
    return None


def green_peers(facts: Facts) -> GuardMessage | None:
    remaining = facts.membership.green_peers if facts.membership else 0
    return GuardMessage(f"{remaining} servers of green are still members") if remaining else None


def green_peers_stuck(facts: Facts) -> GuardMessage | None:
    return green_peers(facts) if needs_retry(facts) else None


def green_servers(facts: Facts) -> GuardMessage | None:
    return GuardMessage("deleting the servers of green") if facts.green.uid else None


def green_pods(facts: Facts) -> GuardMessage | None:
    return (
        GuardMessage(f"{facts.green.pods} servers of green are terminating")
        if facts.green.pods
        else None
    )


def green_claims(facts: Facts) -> GuardMessage | None:
    return GuardMessage("deleting the volumes of green") if facts.green.claims else None
