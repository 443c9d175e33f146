"""Converts the observed state of a reconcile to the inputs of the blue/green table.

Pure. Called by managers.upgrade, managers.cluster and `baoctl upgrade plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.pools.voter_pool import ServerPool, voter_pools
from contracts.records.bluegreen import (
    BlueGreenFacts,
    Color,
    Membership,
    PoolObservation,
    PvcObservation,
    job_attempt_key,
    job_name,
    next_revision,
)
from contracts.records.bluegreen_phases import IDLE, RESTORING
from contracts.records.observed import EffectAttempt, Observed, PodFacts, PoolFacts
from contracts.records.upgrade import BlueGreenObservation, Release, blue_green_under_way
from contracts.records.upgrade_effects import MakeHook, MakeJob
from managers.upgrade.effective_spec import green_release
from managers.upgrade.preflight.checks import check
from runtime.memo import memoize

OFFER_AGAIN: Final = timedelta(seconds=15)
"""Time after which the operator again creates a Job that the API server rejected."""
PULL_GRACE_PERIOD: Final = timedelta(seconds=60)
"""How long an image may be unavailable before green is aborted: registries fail temporarily."""
CRASHES: Final = 3
"""Restarts after which a crash loop counts as a failure."""

_NOT_PULLED = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")
_CRASHES = "CrashLoopBackOff"
_NOTHING = PoolFacts()


def decides(cluster: OpenBaoCluster) -> bool:
    """Report whether the blue/green table decides: an upgrade in progress keeps its strategy."""
    break_glass = cluster.status.break_glass
    if blue_green_under_way(cluster.status.blue_green) or (
        break_glass is not None and break_glass.active
    ):
        return True
    spec = cluster.spec.upgrade
    selected = spec is not None and spec.strategy == "BlueGreen"
    return selected and cluster.status.upgrade is None


@memoize
def pools_to_observe(cluster: OpenBaoCluster) -> tuple[ServerPool, ...]:
    """Return the pools to observe, including the one that would be created next.

    There may be leftovers of an earlier pool with its name.
    """
    pools = voter_pools(cluster)
    if len(pools) > 1 or blue_green_under_way(cluster.status.blue_green) or not decides(cluster):
        return pools
    if Release.requested(cluster) == Release.accepted(cluster):
        return pools
    return (*pools, ServerPool(cluster.metadata.name, next_revision(cluster)))


def facts_of(cluster: OpenBaoCluster, observed: Observed, accepted: Release) -> BlueGreenFacts:
    """Return the inputs of the table."""
    status = cluster.status.blue_green or BlueGreenStatus()
    observation = observed.upgrade.blue_green or BlueGreenObservation()
    revisions = (status.blue_revision or "", status.green_revision or next_revision(cluster))
    blue, green = (ServerPool(cluster.metadata.name, revision) for revision in revisions)
    # The phase determines which of the two serves.
    observed_pools = dict(
        zip(pools_to_observe(cluster), (observed.voters, observed.green), strict=False)
    )
    target = green_release(cluster) or Release.requested(cluster)
    attempts = _refused_attempts(cluster, observed, status)
    facts = BlueGreenFacts(
        cluster=cluster,
        now=observed.now,
        accepted=accepted,
        blue=_observe_pool(observed_pools.get(blue, _NOTHING), "", cluster, observed.now),
        green=_observe_pool(
            observed_pools.get(green, _NOTHING), target.version, cluster, observed.now
        ),
        membership=_membership(observed, blue, green),
        job=observation.job,
        former_job=observation.former_job,
        job_refusal=_refusal_of(MakeJob.name, attempts),
        hook_refusal=_refusal_of(MakeHook.name, attempts),
        retry_allowed=all(observed.now - attempt.at >= OFFER_AGAIN for attempt in attempts),
        hook=observation.hook,
        snapshot=observation.snapshot,
        traffic=observation.traffic,
        nonce=observation.nonce,
    )
    if status.phase == IDLE:
        verdict = check(cluster, observed, target, resuming=False)
        return replace(facts, refusal=verdict.refusal, obstacle=verdict.obstacle)
    if status.phase == RESTORING:
        return replace(
            facts, read_replicas_upgraded=_are_read_replicas_upgraded(cluster, observed, accepted)
        )
    return facts


def _observe_pool(
    pool: PoolFacts, version: str, cluster: OpenBaoCluster, now: datetime
) -> PoolObservation:
    live = pool.stateful_set
    failures = filter(None, (_failure(pod, now) for pod in pool.pods))
    return PoolObservation(
        uid=live.uid if live else "",
        replicas=live.replicas if live else 0,
        pods=len(pool.pods),
        ready=sum(_serves(pod, version) for pod in pool.pods),
        failure=next(failures, ""),
        claims=tuple(
            PvcObservation(pvc.name, pvc.uid)
            for pvc in pool.claims
            if not pvc.terminating and pvc.owner_uid == cluster.metadata.uid
        ),
        foreign=tuple(pvc.name for pvc in pool.claims if pvc.owner_uid != cluster.metadata.uid),
    )


def _serves(pod: PodFacts, version: str) -> bool:
    """Report whether a server serves. `version` "": any version."""
    registration = pod.registration
    version_matches = not version or registration.version == version
    return pod.ready and not pod.terminating and registration.sealed is False and version_matches


def _failure(pod: PodFacts, now: datetime) -> str:
    """Return why a server cannot run without a change; "" while it may still start."""
    if pod.terminating:
        return ""
    if pod.waiting.startswith(_CRASHES) and pod.restarts >= CRASHES:
        code = f", last with exit code {pod.last_exit.code}" if pod.last_exit else ""
        return f"{pod.name} crashes repeatedly{code} ({_CRASHES})"
    has_run = pod.restarts or pod.last_exit is not None
    if has_run or not pod.waiting.startswith(_NOT_PULLED) or pod.creation_timestamp is None:
        return ""
    if now - pod.creation_timestamp < PULL_GRACE_PERIOD:
        return ""
    # Kubernetes alternates between two reasons for one failure.
    return f"the image of {pod.name} cannot be pulled"


def _membership(observed: Observed, blue: ServerPool, green: ServerPool) -> Membership | None:
    quorum = observed.quorum
    if quorum is None or quorum.error:
        return None
    of_blue = [peer for peer in quorum.servers if blue.ordinal_of(peer.node_id) is not None]
    of_green = [peer for peer in quorum.servers if green.ordinal_of(peer.node_id) is not None]
    # The label of a pod is not used: that of a former leader may be stale.
    leader = next((peer.node_id for peer in quorum.servers if peer.leader), "")
    return Membership(
        leader=_color(leader, blue, green),
        blue_voters=sum(peer.voter for peer in of_blue),
        blue_peers=len(of_blue),
        green_voters=sum(peer.voter for peer in of_green),
        green_peers=len(of_green),
    )


def _color(leader: str, blue: ServerPool, green: ServerPool) -> Color | None:
    if blue.ordinal_of(leader) is not None:
        return "blue"
    return "green" if green.ordinal_of(leader) is not None else None


def _refusal_of(effect: str, attempts: Sequence[EffectAttempt]) -> str:
    return next((item.refusal for item in attempts if item.effect.startswith(effect)), "")


def _refused_attempts(
    cluster: OpenBaoCluster, observed: Observed, status: BlueGreenStatus
) -> tuple[EffectAttempt, ...]:
    """Return the last attempts to create the Jobs of this phase that were refused."""
    hook = status.validation_hook.job_name if status.validation_hook else ""
    effects = (
        job_attempt_key(MakeJob.name, job_name(cluster)),
        job_attempt_key(MakeHook.name, hook),
    )
    attempts = (observed.last_attempt(effect, cluster.metadata.uid) for effect in effects)
    return tuple(attempt for attempt in attempts if attempt is not None and attempt.refusal)


def _are_read_replicas_upgraded(
    cluster: OpenBaoCluster, observed: Observed, accepted: Release
) -> bool:
    """Report whether every read replica reports the accepted release."""
    spec = cluster.spec.read_replicas
    pods = [pod for pod in observed.read.pods if _serves(pod, accepted.version)]
    return len(pods) == len(observed.read.pods) == (spec.replicas if spec else 0)
