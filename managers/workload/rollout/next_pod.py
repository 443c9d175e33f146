"""Which pod is replaced next, if any: standbys first, the leader last, never two at a time. Pure.

A pod is replaced by ending it with its UID; the StatefulSet makes it anew from the newest template.
A ready one is evicted, so that the disruption budget keeps a roll and a drain apart
(managers.workload.actions.pods.replace_pod). A leader is asked to step down first, and goes once
another one leads. When the operator has no login, or may not ask that, the terminating server hands
its leadership over by itself (openbao.md (d): SIGTERM).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from contracts.conditions.reasons_workload import BUDGET_CLOSED
from contracts.records.desired import Effect
from contracts.records.observed import EVICT, EffectAttempt, Observed, PodFacts, ServerClientConfig
from contracts.records.upgrade import StepDownJob
from managers.workload.rollout.quorum import (
    is_down,
    is_locked_out,
    objection,
    objection_to_hand_over,
    reason_of,
)

STEP_DOWN = "step-down"
# A server that stepped down sleeps for ten seconds before it may lead again: who still leads after
# this has been elected anew, or never heard us.
STEP_DOWN_AGAIN = timedelta(seconds=20)
# OpenBao 2.4.0, vault/ha.go: a server that stepped down sleeps this long. If it is told to end
# meanwhile, it ends after that all the same, and answers no request until then.
STEP_DOWN_SLEEP = timedelta(seconds=10)
# From the making of a Job to the moment in which the server does what the Job asks.
JOB_STARTS = timedelta(seconds=2)
MARK_LOG = "mark-log"
# OpenBao 2.4.0 does not hear a signal that comes before it listens for one, and then ends with its
# grace, two minutes later. A server that starts well is ready before this is over.
STARTS = timedelta(seconds=5)
# Nobody tells when a budget lets a pod go: the API server counts a moment after a pod is ready. One
# that stays closed, such as somebody else's, is asked less often.
EVICT_AGAIN = timedelta(seconds=1)
EVICT_SELDOM = timedelta(seconds=15)
BUDGET_PATIENCE = timedelta(minutes=5)
# A leader needs up to some twenty seconds to reach a server that was restarted.
YOUNG = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class RolloutAction:
    """What a roll does next: one pod, or a reason why none may be touched now.

    `replace` deletes the pod, `step-down` asks its server to hand over the lead, `mark` has the
    leader write something that a new pod has to follow, `hold` and `rest` do nothing; only `hold`
    and `mark` are worth a word. `restart` deletes all of `pods`, which only a restore asks for
    (managers.workload.rollout.restart_all).
    """

    kind: Literal["replace", "step-down", "mark", "hold", "rest", "restart"]
    pod: PodFacts | None = None
    why: str = ""
    reason: str = ""
    """Of the catalogue, for what is waited for by name; "" for a `hold` that ends by itself."""
    pods: tuple[PodFacts, ...] = ()


REST = RolloutAction("rest")


def next_move(
    observed: Observed,
    outdated: Collection[PodFacts],
    size: int,
    hand_over: StepDownJob | None = None,
) -> RolloutAction:
    """Pick the pod to replace now, of those that are outdated.

    `hand_over`: leaders are asked to step down by Jobs, as an upgrade does.

    Safe means that every other pod of the set is there and ready, and that their leader finds
    them well. A pod that is outdated and not ready is taken first: it serves nobody, and a newer
    template may be what repairs it. One whose server does not even run may go at any time, and so
    may one that is sealed for want of a key that only a new pod gets.
    """
    live = observed.stateful_set
    if live is None or not live.settled or not outdated:
        return REST
    if any(pod.terminating for pod in observed.pods) or len(observed.pods) < size:
        return REST
    unready = [pod for pod in observed.pods if not pod.ready]
    unready_outdated = [pod for pod in unready if pod in outdated]
    if unready:
        locked_out = next((pod for pod in unready_outdated if is_locked_out(pod, live)), None)
        if locked_out is not None and not _starts(observed, locked_out):
            return RolloutAction("replace", locked_out)
        down = [pod for pod in unready_outdated if is_down(pod)]
        target = (
            down[0]
            if down
            else unready_outdated[0]
            if len(unready) == 1 and unready_outdated
            else None
        )
        if target is not None and not down and _starts(observed, target):
            message = f"{target.name} has just started, and would not hear that it is to end"
            return RolloutAction("hold", target, message)
        return REST if target is None else _unless_objected(observed, target, size)
    # Two that say they lead, or none while several run: nobody is touched until that is settled.
    if size > 1 and len(observed.leaders) != 1:
        return REST
    leaders = {pod.uid for pod in observed.leaders}
    target = min(outdated, key=lambda pod: (pod.uid in leaders, -pod.ordinal))
    if target.uid in leaders and size > 1 and (hand_over or observed.quorum is not None):
        return _hand_over(observed, target, size, _step_down_attempt(observed, target, hand_over))
    return _unless_objected(observed, target, size)


def ask_leader(leader: PodFacts, client_config: ServerClientConfig | None) -> tuple[Effect, ...]:
    """Ask a leader to step down; nothing while it is not known how to reach it."""
    if client_config is None:
        return ()
    return (Effect(STEP_DOWN, leader.name, leader.uid, where(leader, client_config)),)


def _step_down_attempt(
    observed: Observed, leader: PodFacts, hand_over: StepDownJob | None
) -> EffectAttempt | None:
    """Tell when a leader was asked, by whatever asks in this roll."""
    if hand_over is None:
        return observed.attempted(STEP_DOWN, leader.uid)
    job = observed.upgrade.job
    if job is None or job.name != hand_over.job(leader.uid):
        return None
    return EffectAttempt(STEP_DOWN, leader.uid, job.created_at or observed.now)


def _hand_over(
    observed: Observed, leader: PodFacts, size: int, attempt: EffectAttempt | None
) -> RolloutAction:
    if attempt is not None and attempt.refused:
        # It hands over when it is told to end, as it would without a login.
        return _unless_objected(observed, leader, size)
    if attempt is not None and observed.now - attempt.at < STEP_DOWN_AGAIN:
        return RolloutAction(
            "hold", leader, f"{leader.name} was asked to step down, and leads still"
        )
    # While the one that was made last is still reached by the leader, this one may step down: the
    # next leader reaches it sooner, and its predecessor takes ten seconds to be able to end.
    young = [pod for pod in observed.pods if _is_young(observed, pod)]
    reason = objection_to_hand_over(
        observed.quorum,
        leader,
        size,
        young={pod.name for pod in young},
        unproven={pod.name for pod in young if not _is_marked(observed, pod)},
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
            "hold", pod, f"{pod.name} stepped down, and cannot end for ten seconds"
        )
    return _mark_first(observed, pod) or _go(observed, pod)


def _go(observed: Observed, pod: PodFacts) -> RolloutAction:
    """Replace a pod; what a budget refused a moment ago waits, and says so until the pod went."""
    refused = observed.attempted(EVICT, pod.uid) if pod.ready else None
    if refused is None:
        return RolloutAction("replace", pod)
    since = observed.rolling_since
    patient = since is not None and observed.now - since >= BUDGET_PATIENCE
    pause = EVICT_SELDOM if patient else EVICT_AGAIN
    waits = observed.now - refused.at < pause
    return RolloutAction("hold" if waits else "replace", pod, refused.keeps(pod), BUDGET_CLOSED)


def _sleeps(observed: Observed, pod: PodFacts) -> bool:
    """Tell whether a server stepped down a moment ago."""
    if not pod.ready:
        return False
    attempt, by_job = observed.attempted(STEP_DOWN, pod.uid), observed.upgrade.handed_over_at
    if attempt is not None and not attempt.refused and observed.now - attempt.at < STEP_DOWN_SLEEP:
        return True
    return by_job is not None and observed.now - by_job < STEP_DOWN_SLEEP + JOB_STARTS


def _mark_first(observed: Observed, target: PodFacts) -> RolloutAction | None:
    young = _unmarked(observed, target)
    if young is None:
        return None
    attempt = observed.attempted(MARK_LOG, young.uid)
    if attempt is not None:
        message = (
            f"{young.name} is new, and OpenBao does not let the operator prove that it follows the "
            f"leader: {attempt.refused}. It goes on when {young.name} is {YOUNG.seconds} s old"
        )
        return RolloutAction("hold", target, message)
    return RolloutAction("mark", young, f"{young.name} is new, and has to follow the leader first")


def _is_marked(observed: Observed, pod: PodFacts) -> bool:
    """Tell whether the leader wrote something since a pod is there; what was refused is nothing."""
    attempt = observed.attempted(MARK_LOG, pod.uid)
    return attempt is not None and not attempt.refused


def _starts(observed: Observed, pod: PodFacts) -> bool:
    return pod.made is not None and observed.now - pod.made < STARTS


def _is_young(observed: Observed, pod: PodFacts) -> bool:
    return pod.made is not None and observed.now - pod.made < YOUNG


def _unmarked(observed: Observed, target: PodFacts) -> PodFacts | None:
    """Find a new pod that may follow the leader only because nothing was written since.

    Its log ends where the leader's does as long as nobody writes, whether or not the leader
    reaches it. Once something was written after its start, its log tells.
    """
    if observed.quorum is None or not target.ready or len(observed.leaders) != 1:
        return None
    return next(
        (
            pod
            for pod in observed.pods
            if pod.uid != target.uid
            and pod.uid != observed.leaders[0].uid
            and _is_young(observed, pod)
            and not _is_marked(observed, pod)
        ),
        None,
    )


def mark_log(pod: PodFacts, observed: Observed) -> tuple[Effect, ...]:
    """Have the leader write something, on behalf of a new pod."""
    if observed.reach is None or len(observed.leaders) != 1:
        return ()
    return (Effect(MARK_LOG, pod.name, pod.uid, where(observed.leaders[0], observed.reach)),)


def where(server: PodFacts, client_config: ServerClientConfig) -> Mapping[str, Any]:
    """Name a server for an effect that asks it: address, authority and server_name."""
    return {
        "address": server.ip,
        "authority": client_config.authority,
        "server_name": client_config.server_name,
    }
