"""Which pod is replaced next, if any: standbys first, the leader last, never two at a time. Pure.

A pod is replaced by deleting it by UID; the StatefulSet creates it again from the newest template.
A ready pod is evicted, so that the disruption budget prevents a drain at the same time
(managers.workload.actions.pods.replace_pod). A leader must step down first, and is replaced after
another server leads. If the operator has no login, or lacks the right, the terminating server gives
up leadership on SIGTERM.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from contracts.conditions.reasons_workload import BUDGET_CLOSED
from contracts.records.effects import Effect, MarkLog, ServerEndpoint, StepDown
from contracts.records.observed import EVICT, EffectAttempt, Observed, PodFacts, ServerClientConfig
from contracts.records.upgrade import StepDownJob
from managers.workload.rollout.quorum import (
    is_locked_out,
    objection,
    objection_to_hand_over,
    reason_of,
)

STEP_DOWN = "step-down"
# A server that stepped down waits ten seconds before it may lead again: a server that still leads
# after this was elected again, or did not receive the request.
STEP_DOWN_AGAIN = timedelta(seconds=20)
# OpenBao 2.4.0, vault/ha.go: a server that stepped down sleeps this long. After a SIGTERM in this
# time it answers no request, and stops only when the sleep is over.
STEP_DOWN_SLEEP = timedelta(seconds=10)
# From the creation of a Job until the server handles its request.
JOB_STARTS = timedelta(seconds=2)
# OpenBao 2.4.0 ignores a signal that arrives before it installs its handler, and is then killed at
# the end of its grace period, two minutes later. A healthy server is ready before this.
STARTS = timedelta(seconds=5)
# No event reports that a budget allows an eviction: the API server updates it a moment after a pod
# is ready. If a budget stays exhausted, such as one of a user, evictions are retried less often.
EVICT_AGAIN = timedelta(seconds=1)
EVICT_SELDOM = timedelta(seconds=15)
BUDGET_PATIENCE = timedelta(minutes=5)
# A leader needs up to some twenty seconds to reach a restarted server.
YOUNG = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class RolloutAction:
    """The next action of a rollout: one pod, or a reason why none may be replaced now.

    `replace` deletes the pod, `step-down` asks its server to step down, `mark` has the leader
    write an entry that a new pod has to replicate, `hold` and `rest` do nothing; only `hold` and
    `mark` have a message. `restart` deletes all of `pods`, only after a restore
    (managers.workload.rollout.restart_all).
    """

    kind: Literal["replace", "step-down", "mark", "hold", "rest", "restart"]
    pod: PodFacts | None = None
    why: str = ""
    reason: str = ""
    """Reason of the catalog for this wait; "" for a `hold` that needs no user action."""
    pods: tuple[PodFacts, ...] = ()


REST = RolloutAction("rest")


def next_action(
    observed: Observed,
    outdated: Collection[PodFacts],
    size: int,
    step_down_job: StepDownJob | None = None,
) -> RolloutAction:
    """Pick the outdated pod to replace now.

    `step_down_job`: Jobs ask leaders to step down, as in an upgrade.

    A replacement is safe when every other pod of the StatefulSet exists and is ready, and the
    leader reports them healthy. An outdated pod that is not ready is replaced first: it serves no
    requests, and a newer template may repair it. A pod whose server does not run, or is sealed
    because only a new pod gets the key, may be replaced at any time.
    """
    live = observed.stateful_set
    if live is None or not live.generation_observed or not outdated:
        return REST
    if any(pod.terminating for pod in observed.pods) or len(observed.pods) < size:
        return REST
    unready = [pod for pod in observed.pods if not pod.ready]
    unready_outdated = [pod for pod in unready if pod in outdated]
    if unready:
        locked_out = next((pod for pod in unready_outdated if is_locked_out(pod, live)), None)
        if locked_out is not None and not _starts(observed, locked_out):
            return RolloutAction("replace", locked_out)
        down = [pod for pod in unready_outdated if pod.is_down]
        target = (
            down[0]
            if down
            else unready_outdated[0]
            if len(unready) == 1 and unready_outdated
            else None
        )
        if target is not None and not down and _starts(observed, target):
            message = f"{target.name} has just started, and does not handle SIGTERM yet"
            return RolloutAction("hold", target, message)
        return REST if target is None else _unless_objected(observed, target, size)
    # With two leaders, or none of several servers, no pod is replaced until that is resolved.
    if size > 1 and len(observed.leaders) != 1:
        return REST
    leaders = {pod.uid for pod in observed.leaders}
    target = min(outdated, key=lambda pod: (pod.uid in leaders, -pod.ordinal))
    if target.uid in leaders and size > 1 and (step_down_job or observed.quorum is not None):
        return _hand_over(
            observed, target, size, _step_down_attempt(observed, target, step_down_job)
        )
    return _unless_objected(observed, target, size)


def ask_leader(leader: PodFacts, client_config: ServerClientConfig | None) -> tuple[Effect, ...]:
    """Ask a leader to step down; nothing while its client config is not known."""
    if client_config is None:
        return ()
    return (StepDown(leader.name, leader.uid, endpoint_of(leader, client_config)),)


def _step_down_attempt(
    observed: Observed, leader: PodFacts, step_down_job: StepDownJob | None
) -> EffectAttempt | None:
    """Return the last step-down request to a leader, by the operator or by a Job."""
    if step_down_job is None:
        return observed.last_attempt(StepDown.name, leader.uid)
    job = observed.upgrade.job
    if job is None or job.name != step_down_job.job(leader.uid):
        return None
    return EffectAttempt(StepDown.name, leader.uid, job.created_at or observed.now)


def _hand_over(
    observed: Observed, leader: PodFacts, size: int, attempt: EffectAttempt | None
) -> RolloutAction:
    if attempt is not None and attempt.refusal:
        # It gives up leadership on SIGTERM, as without a login.
        return _unless_objected(observed, leader, size)
    if attempt is not None and observed.now - attempt.at < STEP_DOWN_AGAIN:
        return RolloutAction(
            "hold", leader, f"{leader.name} was asked to step down, and still leads"
        )
    # The leader may step down before it has reached the newest pod: the next leader reaches that
    # sooner, and the old leader cannot stop for ten seconds.
    young = [pod for pod in observed.pods if _is_young(observed, pod)]
    reason = objection_to_hand_over(
        observed.quorum,
        leader,
        size,
        young={pod.name for pod in young},
        unproven={pod.name for pod in observed.pods if not _is_marked(observed, pod)},
    )
    if not reason:
        return RolloutAction("step-down", leader)
    held = RolloutAction("hold", leader, reason, reason_of(observed.quorum))
    return held if held.reason else _mark_first(observed, leader) or held


def _unless_objected(
    observed: Observed,
    pod: PodFacts,
    size: int,
) -> RolloutAction:
    reason = objection(observed.quorum, pod, size)
    if reason:
        return RolloutAction("hold", pod, reason, reason_of(observed.quorum))
    if _sleeps(observed, pod):
        return RolloutAction(
            "hold", pod, f"{pod.name} stepped down, and cannot stop for ten seconds"
        )
    return _mark_first(observed, pod) or _go(observed, pod)


def _go(observed: Observed, pod: PodFacts) -> RolloutAction:
    """Replace a pod; if a budget has just refused it, wait and report that."""
    refused = observed.last_attempt(EVICT, pod.uid) if pod.ready else None
    if refused is None:
        return RolloutAction("replace", pod)
    since = observed.rolling_since
    patient = since is not None and observed.now - since >= BUDGET_PATIENCE
    pause = EVICT_SELDOM if patient else EVICT_AGAIN
    waits = observed.now - refused.at < pause
    return RolloutAction("hold" if waits else "replace", pod, refused.keeps(pod), BUDGET_CLOSED)


def _sleeps(observed: Observed, pod: PodFacts) -> bool:
    """Return whether a server has just stepped down."""
    if not pod.ready:
        return False
    attempt, by_job = (
        observed.last_attempt(StepDown.name, pod.uid),
        observed.upgrade.step_down_requested_at,
    )
    if attempt is not None and not attempt.refusal and observed.now - attempt.at < STEP_DOWN_SLEEP:
        return True
    return by_job is not None and observed.now - by_job < STEP_DOWN_SLEEP + JOB_STARTS


def _mark_first(observed: Observed, target: PodFacts) -> RolloutAction | None:
    pod = _unmarked(observed, target)
    if pod is None:
        return None
    by_log = _is_judged_by_log(observed, pod)
    what = "is of another version than the leader" if by_log else "is new"
    attempt = observed.last_attempt(MarkLog.name, pod.uid)
    if attempt is None or not attempt.refusal or observed.now - attempt.at >= YOUNG:
        return RolloutAction("mark", pod, f"{pod.name} {what}, and must follow the leader first")
    then = "The operator retries" if by_log else "The rollout continues"
    when = f"every {YOUNG.seconds} s" if by_log else f"when {pod.name} is {YOUNG.seconds} s old"
    message = (
        f"{pod.name} {what}, and OpenBao does not let the operator verify that it follows the "
        f"leader: {attempt.refusal}. {then} {when}"
    )
    return RolloutAction("hold", target, message)


def _is_marked(observed: Observed, pod: PodFacts) -> bool:
    """Return whether the log of the pod is evidence that it follows the leader.

    For a new pod, the leader must have written an entry since its creation. If the log is the only
    evidence, the entry must be recent for a pod of any age. Refusals do not count.
    """
    by_log = _is_judged_by_log(observed, pod)
    if not by_log and not _is_young(observed, pod):
        return True
    attempt = observed.last_attempt(MarkLog.name, pod.uid)
    if attempt is None or attempt.refusal:
        return False
    return not by_log or observed.now - attempt.at < YOUNG


def _is_judged_by_log(observed: Observed, pod: PodFacts) -> bool:
    servers = observed.quorum.servers if observed.quorum is not None else ()
    return any(server.judged_by_log and server.node_id == pod.name for server in servers)


def _starts(observed: Observed, pod: PodFacts) -> bool:
    return pod.creation_timestamp is not None and observed.now - pod.creation_timestamp < STARTS


def _is_young(observed: Observed, pod: PodFacts) -> bool:
    return pod.creation_timestamp is not None and observed.now - pod.creation_timestamp < YOUNG


def _unmarked(observed: Observed, target: PodFacts) -> PodFacts | None:
    """Return a pod whose log may match the leader only because nothing was written lately.

    Without writes its log ends where the leader's does, even if the leader cannot reach it. An
    entry that is written after its start shows whether it follows.
    """
    if observed.quorum is None or not target.ready or len(observed.leaders) != 1:
        return None
    return next(
        (
            pod
            for pod in observed.pods
            if pod.uid not in (target.uid, observed.leaders[0].uid)
            and not _is_marked(observed, pod)
        ),
        None,
    )


def mark_log(pod: PodFacts, observed: Observed) -> tuple[Effect, ...]:
    """Have the leader write an entry, to verify that a new pod follows."""
    if observed.client_config is None or len(observed.leaders) != 1:
        return ()
    return (MarkLog(pod.name, pod.uid, endpoint_of(observed.leaders[0], observed.client_config)),)


def endpoint_of(server: PodFacts, client_config: ServerClientConfig) -> ServerEndpoint:
    """Return where a request to a server is sent."""
    return ServerEndpoint(server.ip, client_config.authority, client_config.server_name)
