"""The workload step: how many pods, from which template, and what becomes of each pod now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.desired import Effect, Plan
from contracts.observed import Observed, PodFacts, Reach, StatefulSetFacts
from contracts.resolved import Resolved
from managers.workload.pod import server_mounts
from managers.workload.reload import (
    RELOAD_POD,
    RELOADING,
    Files,
    Split,
    Target,
    container,
    split,
)
from managers.workload.replace import REST, STEP_DOWN, Move, next_move
from managers.workload.statefulset import Shape, disruption_budget, stateful_set, template_digest
from runtime.outcome import Blocked, Done, Outcome, Wait, combine

REPLACE_POD = "replace-pod"
ROLLING_OUT = "RollingOut"
ROLL_STUCK = "RolloutStuck"
ROLL = frozenset({ROLLING_OUT, ROLL_STUCK})
# A pod is back within seconds; a roll that lasts longer than this is in trouble. Judged here and
# nowhere else: conditions follow the reason.
ROLL_PATIENCE = timedelta(minutes=5)
# What a leader finds of its followers changes without any event.
QUORUM_RECHECK = 3.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """What other steps made and a server reads."""

    restart: str
    """The part of config.hcl that a server reads only when it starts."""
    files: Files
    """What it also reads when it is told to."""
    operator_image: str = ""
    """Image of the operator, which tells a server to; "" when that is not known."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of one pass, by what is to become of them."""

    older: tuple[PodFacts, ...]
    """From another template than the newest one."""
    lagging: Split
    """From the newest template, and not with the newest files."""

    @property
    def outdated(self) -> tuple[PodFacts, ...]:
        """What only a new pod can mend."""
        return self.older + self.lagging.hopeless


def plan(resolved: Resolved, observed: Observed, inputs: Inputs) -> Plan:
    """Want the StatefulSet, its budget, and at most one pod replaced or leader stepping down.

    A cluster without data starts as one pod, and that pod alone sees the document that makes a
    new cluster. With data, every further pod is made from a template that does not name it.
    """
    live = observed.stateful_set
    size, outcome = _replicas(resolved, observed)
    shape = Shape(
        replicas=size,
        digest=template_digest(resolved, inputs.restart),
        reload=inputs.files.digest,
        first_boot=not resolved.initialized,
        claim_size=live.claim_size if live else resolved.storage_size,
        claim_class=live.claim_class if live else resolved.storage_class,
    )
    budget = disruption_budget(resolved)
    intents = (stateful_set(resolved, shape), *(() if budget is None else (budget,)))
    if not resolved.initialized:
        waiting = Wait("FirstBoot", "the first server initialises the cluster")
        return Plan(intents, (), combine(outcome, waiting))
    pods = _sorted(observed, shape, inputs)
    move = next_move(observed, pods.outdated, size) if _is_newest(live, shape) else REST
    effects = (
        *_of_move(move, observed.reach),
        *_of_reload(resolved, pods.lagging, inputs, observed.now),
    )
    return Plan(intents, effects, combine(outcome, _progress(observed, pods, move, size)))


def wants_quorum(observed: Observed, operator_image: str, certificate: str) -> bool:
    """Tell whether the leader has to be asked for its followers: only when a pod is about to go.

    Asked of the live template, because the newest one is not known before everything is observed.
    """
    live = observed.stateful_set
    if live is None or live.first_boot or live.replicas < 2:
        return False
    older = tuple(pod for pod in observed.pods if pod.template != live.template)
    present = [pod for pod in observed.pods if pod not in older]
    target = Target(live.reload_hash, certificate)
    hopeless = split(observed, present, target, operator_image).hopeless
    return next_move(observed, older + hopeless, live.replicas).pod is not None


def _is_newest(live: StatefulSetFacts | None, shape: Shape) -> bool:
    """Tell whether a pod that is made now is made from the newest template."""
    return live is not None and (live.template, live.reload_hash) == (shape.digest, shape.reload)


def _sorted(observed: Observed, shape: Shape, inputs: Inputs) -> Pods:
    older = tuple(pod for pod in observed.pods if pod.template != shape.digest)
    # What is to be replaced anyway need not reload first; unless that takes its time, and a
    # certificate may run out meanwhile.
    present = [pod for pod in observed.pods if pod not in older or is_late(observed)]
    lagging = split(observed, present, inputs.files.target, inputs.operator_image)
    hopeless = tuple(pod for pod in lagging.hopeless if pod not in older)
    return Pods(older, Split(lagging.due, lagging.waiting, hopeless))


def _of_move(move: Move, reach: Reach | None) -> tuple[Effect, ...]:
    pod = move.pod
    if pod is not None and move.kind == "replace":
        return (Effect(REPLACE_POD, pod.name, pod.uid),)
    if pod is not None and move.kind == "step-down" and reach is not None:
        where = {
            "address": pod.ip,
            "authority": reach.authority,
            "server_name": reach.server_name,
        }
        return (Effect(STEP_DOWN, pod.name, pod.uid, where),)
    return ()


def _of_reload(
    resolved: Resolved, lagging: Split, inputs: Inputs, now: datetime
) -> tuple[Effect, ...]:
    mounts = server_mounts(resolved) if lagging.due else ()
    return tuple(
        Effect(
            RELOAD_POD,
            pod.name,
            pod.uid,
            container(pod, inputs.files, inputs.operator_image, mounts, now),
        )
        for pod in lagging.due
    )


def _replicas(resolved: Resolved, observed: Observed) -> tuple[int, Outcome]:
    """Decide the number of pods; a smaller number than there is needs voters removed first."""
    live = observed.stateful_set
    if not resolved.initialized:
        return 1, Done()
    if live is None or live.replicas <= resolved.replicas or _never_joined(resolved, observed):
        return resolved.replicas, Done()
    return live.replicas, Blocked(
        "ScaleDownNotServed",
        f"spec.replicas is {resolved.replicas} and {live.replicas} servers run: taking a "
        "voter away is not served by this release, so none was removed; set spec.replicas "
        f"to {live.replicas}",
    )


def _never_joined(resolved: Resolved, observed: Observed) -> bool:
    """Tell whether every pod beyond the wanted number is none of the cluster's members yet.

    That is so when somebody else scaled the StatefulSet a moment ago: taking it back harms nobody.
    """
    if resolved.members is None or resolved.members > resolved.replicas:
        return False
    return not any(pod.ready and pod.ordinal >= resolved.replicas for pod in observed.pods)


def is_late(observed: Observed) -> bool:
    """Tell whether pods have been replaced for longer than that ought to take."""
    since = observed.rolling_since
    return since is not None and observed.now - since >= ROLL_PATIENCE


def _progress(observed: Observed, pods: Pods, move: Move, size: int) -> Outcome:
    """Say what the pods are waited for. Their events wake us; only a leader's opinion does not."""
    ready = sum(pod.ready for pod in observed.pods)
    if pods.outdated:
        told = f"{len(pods.outdated)} of {size} pods run an older template"
        return _rolling(observed, told, move)
    if ready < size:
        told = f"{ready} of {size} servers are ready"
        # The last pod of a roll is the newest already, and on its way.
        return _rolling(observed, told, move) if observed.rolling_since else Wait("NotReady", told)
    lagging = len(pods.lagging.due) + len(pods.lagging.waiting)
    if lagging:
        return Wait(RELOADING, f"{lagging} of {size} servers read their files again")
    return Done()


def _rolling(observed: Observed, told: str, move: Move) -> Outcome:
    told = "; ".join(filter(None, (told, move.why)))
    after = QUORUM_RECHECK if move.kind in ("hold", "step-down") else None
    if not is_late(observed):
        return Wait(ROLLING_OUT, told, after)
    broken = next((pod for pod in observed.pods if not pod.ready and pod.waiting), None)
    if broken is not None:
        told += f"; {broken.name} waits: {broken.waiting}"
    return Wait(ROLL_STUCK, told, after)
