"""What the rows of managers.upgrade.bluegreen.table ask about the two sets of servers. Pure.

Each returns None when its row does not apply, otherwise a message for people.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from contracts.api.meta import counted_duration
from contracts.records.bluegreen import BlueGreenFacts
from managers.upgrade.bluegreen.guards import job_done, tried_enough

DEPLOY_DEADLINE: Final = timedelta(minutes=30)
"""How long green may take to be ready: images are fetched, volumes made, servers unsealed."""
STEP_DEADLINE: Final = timedelta(minutes=10)
"""How long a later phase may wait for servers, votes or a leader."""

Facts = BlueGreenFacts


# --- green --------------------------------------------------------------------------------------


def _overdue(now: Facts, limit: timedelta) -> bool:
    """What comes after a Job has all of its time from when it is written that the Job ended."""
    if job_done(now) and now.status.completed_job != now.job_name:
        return False
    return now.waited >= limit


def _late(now: Facts, limit: timedelta) -> bool:
    return now.by_itself.enabled and _overdue(now, limit)


def taken_back(now: Facts) -> str | None:
    """The spec asks again for what blue runs: nobody wants green any more."""
    return f"{now.accepted} is asked for again" if now.asked == now.accepted else None


def green_broken(now: Facts) -> str | None:
    return now.green.trouble or None if now.by_itself.enabled else None


def green_alone(now: Facts) -> str | None:
    """Green leads before it has a vote: it is a cluster of its own, and never gets one of ours."""
    leads = now.membership is not None and now.membership.leader == "green"
    return "a server of green leads before it was promoted" if leads else None


def no_blue(now: Facts) -> str | None:
    if now.green.uid or now.blue.ready:
        return None
    return "no server of blue is ready, so green has nobody to join"


def green_unready(now: Facts) -> str | None:
    if now.green.ready >= now.green_replicas:
        return None
    return f"{now.green.ready} of {now.green_replicas} servers of green are ready"


def green_undeployed(now: Facts) -> str | None:
    return green_unready(now) if _late(now, DEPLOY_DEADLINE) else None


def green_unready_late(now: Facts) -> str | None:
    return green_unready(now) if _late(now, STEP_DEADLINE) and not job_done(now) else None


def syncs(now: Facts) -> str | None:
    wish = now.wish.verification
    if sync_left(now) <= 0 or wish is None:
        return None
    return f"green follows blue for minSyncDuration ({wish.min_sync_duration})"


def sync_left(now: Facts) -> float:
    """Seconds for which green still has to follow before it is looked at."""
    wish = now.wish.verification
    if job_done(now) or wish is None or not wish.min_sync_duration:
        return 0.0
    least = counted_duration(wish.min_sync_duration) or timedelta()
    return max(0.0, (least - now.waited).total_seconds())


def unpromoted(now: Facts) -> str | None:
    """A person decides when green is promoted, and has not yet."""
    if not now.status.manual_promotion_required or now.pending("promote"):
        return None
    return "green is in sync and waits for a new spec.upgrade.requests.promote"


def votes_missing(now: Facts) -> str | None:
    if now.membership is None:
        return "nobody leads who could name the voters"
    if now.membership.green_voters >= now.green_replicas:
        return None
    return f"{now.membership.green_voters} of {now.green_replicas} servers of green vote"


def votes_missing_late(now: Facts) -> str | None:
    known = now.membership is not None
    return votes_missing(now) if known and _late(now, STEP_DEADLINE) else None


# --- the cutover --------------------------------------------------------------------------------


def traffic_behind(now: Facts) -> str | None:
    """Blue keeps its votes until clients are sent to green."""
    if job_done(now) or now.traffic == now.green_revision:
        return None
    return "clients are sent to green first"


def unfit_to_lead(now: Facts) -> str | None:
    """Blue gives no vote away before green alone is a whole, healthy cluster."""
    return None if job_done(now) else votes_missing(now)


def unfit_to_lead_late(now: Facts) -> str | None:
    return None if job_done(now) else votes_missing_late(now)


def green_does_not_lead(now: Facts) -> str | None:
    leads = now.membership is not None and now.membership.leader == "green"
    return None if leads else "no server of green leads yet"


def blue_votes(now: Facts) -> str | None:
    if now.membership is None or not now.membership.blue_voters:
        return None
    return f"{now.membership.blue_voters} servers of blue still vote"


def not_handed_over(now: Facts) -> str | None:
    return green_does_not_lead(now) or blue_votes(now)


def not_handed_over_late(now: Facts) -> str | None:
    """Only what is known counts: for a moment without a leader nothing is known."""
    known = now.membership is not None and now.membership.leader is not None
    return not_handed_over(now) if known and _late(now, STEP_DEADLINE) else None


def verified_left(now: Facts) -> float:
    """Seconds for which blue is still kept: all of them until it is written that green leads."""
    kept = float(now.by_itself.stabilization_seconds)
    if now.status.completed_job != now.job_name:
        return kept
    return max(0.0, kept - now.waited.total_seconds())


def verifies(now: Facts) -> str | None:
    if verified_left(now) <= 0:
        return None
    return f"green leads; blue is kept for {now.by_itself.stabilization_seconds} s"


# --- blue goes ----------------------------------------------------------------------------------


def not_alone(now: Facts) -> str | None:
    """Nothing of blue is taken away unless green does without it, now."""
    return None if job_done(now) else green_unready(now) or not_handed_over(now)


def blue_set(now: Facts) -> str | None:
    return "the servers of blue are deleted" if now.blue.uid else None


def blue_pods(now: Facts) -> str | None:
    return f"{now.blue.pods} servers of blue are ending" if now.blue.pods else None


def blue_claims(now: Facts) -> str | None:
    """They held the only data once: what becomes of them is for the user to say (rule I01)."""
    if now.keeps_volumes or not now.blue.claims:
        return None
    return "the volumes of blue are deleted"


def membership_unknown(now: Facts) -> str | None:
    return "nobody leads who could name the members" if now.membership is None else None


def blue_peers(now: Facts) -> str | None:
    left = now.membership.blue_peers if now.membership else 0
    return f"{left} servers of blue are still members" if left else None


def blue_peers_stuck(now: Facts) -> str | None:
    return blue_peers(now) if tried_enough(now) else None


def reads_wanted(now: Facts) -> str | None:
    return "read replicas follow" if now.cluster.spec.read_replicas is not None else None


def reads_unsettled(now: Facts) -> str | None:
    return None if now.reads_settled else "read replicas are brought to the new release"


# --- the way back -------------------------------------------------------------------------------


def blue_unfit(now: Facts) -> str | None:
    """A majority of blue has to be there before it gets all votes back."""
    needed = now.blue_replicas // 2 + 1
    if job_done(now) or now.blue.ready >= needed:
        return None
    return f"{now.blue.ready} servers of blue are ready and {needed} are needed to lead"


def blue_does_not_lead(now: Facts) -> str | None:
    if now.membership is None or now.membership.leader != "blue":
        return "no server of blue leads yet"
    if now.membership.blue_voters < now.blue_replicas:
        return f"{now.membership.blue_voters} of {now.blue_replicas} servers of blue vote"
    if now.membership.green_voters:
        return f"{now.membership.green_voters} servers of green still vote"
    return None


def blue_unfit_late(now: Facts) -> str | None:
    return blue_unfit(now) if _overdue(now, STEP_DEADLINE) else None


def blue_does_not_lead_late(now: Facts) -> str | None:
    return blue_does_not_lead(now) if _overdue(now, STEP_DEADLINE) else None


def blue_loses(now: Facts) -> str | None:
    """Green is only taken away while blue leads and green has no vote."""
    if now.membership is None or now.membership.leader != "blue":
        return "no server of blue leads, so green is left alone"
    if now.membership.green_voters:
        return f"{now.membership.green_voters} servers of green still vote"
    return None


def green_peers(now: Facts) -> str | None:
    left = now.membership.green_peers if now.membership else 0
    return f"{left} servers of green are still members" if left else None


def green_peers_stuck(now: Facts) -> str | None:
    return green_peers(now) if tried_enough(now) else None


def green_set(now: Facts) -> str | None:
    return "the servers of green are deleted" if now.green.uid else None


def green_pods(now: Facts) -> str | None:
    return f"{now.green.pods} servers of green are ending" if now.green.pods else None


def green_claims(now: Facts) -> str | None:
    return "the volumes of green are deleted" if now.green.claims else None
