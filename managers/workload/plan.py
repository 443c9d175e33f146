"""Plan of the workload: replicas, pod template, and the next action on each pod. Pure.

Called by `managers.cluster.plan.steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from contracts.api.cluster.spec import ClusterSpec
from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.records.desired import Operation, Plan, RolloutProgress
from contracts.records.effects import Effect, MakeStepDownJob, ReloadPod, ReplacePod
from contracts.records.observed import Observed, PodFacts, StatefulSetFacts
from contracts.records.resolved import Resolved
from contracts.records.upgrade import StepDownJob
from managers.workload.objects.annotations import pod_marks
from managers.workload.objects.pod import server_mounts
from managers.workload.objects.statefulset import (
    Shape,
    disruption_budget,
    stateful_set,
    template_digest,
)
from managers.workload.rollout import fencing
from managers.workload.rollout.holds import Hold, hold
from managers.workload.rollout.never_started import replace_unstarted
from managers.workload.rollout.next_pod import (
    REST,
    RolloutAction,
    ask_leader,
    mark_log,
    next_action,
)
from managers.workload.rollout.quorum import QUESTION_RECHECK
from managers.workload.rollout.reload import (
    RELOADING,
    Files,
    ReloadTarget,
    Split,
    container,
    split,
)
from managers.workload.rollout.restart_all import restart_all
from managers.workload.rollout.stuck_pods import absent, stuck
from managers.workload.scale import voters as scaling
from managers.workload.scale.hibernate import hibernate
from managers.workload.scale.read_replicas import needs_members, needs_votes
from managers.workload.scale.replicas import Size, SizeRule, budget_size, first_boot
from managers.workload.storage.recreate_statefulset import renewal
from managers.workload.storage.resize import growth, needs_restart_for_resize
from runtime.outcome import Done, Outcome, Wait, combine

ROLLING_OUT = "RollingOut"
ROLL_STUCK = "RolloutStuck"
ROLL = frozenset({ROLLING_OUT, ROLL_STUCK, BUDGET_CLOSED})
# A pod is ready within seconds; a rollout that takes longer than this is stuck. Only this module
# applies the limit: conditions follow the reason.
ROLL_PATIENCE = timedelta(minutes=5)
_IN_PROGRESS = frozenset({"replace", "step-down", "hold"})
# The leader's view of its followers changes without any event.
QUORUM_RECHECK = 0.5
BUDGET_RECHECK = 1.0
# An eviction that a budget refuses causes no event either.
_RECHECKED = frozenset({"hold", "step-down", "mark", "replace"})
# Kubernetes API reference, PodCondition PodScheduled.
UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Output of other steps that determines the pods."""

    restart: str
    """The part of config.hcl that a server reads only when it starts."""
    files: Files
    """Files that it also reads on a reload."""
    operator_image: str = ""
    """Image of the operator, which signals a reload; "" when it is not known."""
    hold: str = ""
    """Why no ready server may be replaced now; "" when one may."""
    hold_reason: str = ""
    """Why no server may be replaced now, ready or not; "" when one may."""
    step_down_job: StepDownJob | None = None
    """The Jobs that ask leaders to step down; None: the operator asks."""
    hold_reload: bool = False
    """Whether no server may reload its files now."""
    hold_read_replicas: bool = False
    """Whether no read replica may be replaced now."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of one reconcile, by what they need."""

    older: tuple[PodFacts, ...]
    """Created from an older template."""
    lagging: Split
    """Created from the newest template, but without the newest files."""
    updated: int = 0
    """Number of ready pods from the newest template that need no replacement."""
    needs_restart_for_resize: int = 0
    """Number of pods that must be replaced so that their file system can be expanded."""

    @property
    def outdated(self) -> tuple[PodFacts, ...]:
        """Pods that must be replaced."""
        return self.older + self.lagging.to_replace


def plan(resolved: Resolved, observed: Observed, inputs: Inputs) -> Plan:
    """Plan the StatefulSet, its budget, and at most one pod replacement or leader step-down.

    All pods are replaced together only after a restore. A cluster without data starts as one pod,
    and only that pod mounts the self-init configuration. After data exists, pods are created from a
    template that does not mount it.
    """
    live = observed.stateful_set
    size = size_of(resolved, observed)
    shape = _shape(resolved, inputs, live, size.replicas)
    budget = disruption_budget(resolved, budget_size(resolved, observed, size))
    servers = stateful_set(resolved, shape)
    intents = (servers, *(() if budget is None else (budget,)))
    if not resolved.initialized:
        waiting = Wait("FirstBoot", "the first server initializes the cluster")
        unstarted = replace_unstarted(observed, shape.digest, newest=is_newest(live, shape))
        return Plan(intents, unstarted, combine(size.outcome, waiting))
    stopped = fencing.fence(resolved, observed)
    base_effects = (*size.effects, *stopped.effects, *pod_marks(resolved, observed))
    if resolved.hibernate:
        outcome = combine(size.outcome, stuck(observed))
        return Plan(intents, base_effects, outcome, operation=size.operation)
    pods = sort_pods(observed, shape, inputs)
    active_hold = hold(resolved)
    move = (
        restart_all(resolved, observed) if active_hold is None and is_newest(live, shape) else REST
    )
    if move is None:
        move = REST if size.alone else _next_action(observed, pods, inputs, shape.replicas)
    volumes = growth(resolved, observed)
    busy = bool(pods.outdated or inputs.hold_reason)
    recreation = renewal(resolved, observed, servers.body["spec"], rolling=busy)
    if recreation.rejected:
        intents = intents[1:]
    if recreation.effects:
        # Without a StatefulSet no pod is created again.
        move = REST
    effects = (
        *base_effects,
        *volumes.effects,
        *recreation.effects,
        *_of_move(move, observed, inputs.step_down_job),
        *reload_effects(resolved, pods.lagging, inputs, observed.now),
    )
    progress = _replacement_hold(pods, active_hold) or _progress(
        observed, pods, move, shape.replicas - len(resolved.fenced)
    )
    operation = (
        size.operation
        or stopped.operation
        or _roll_operation(pods, progress, shape)
        or volumes.operation
        or recreation.operation
    )
    of_pods = (size.outcome, stopped.outcome, progress, stuck(observed))
    outcome = combine(*of_pods, volumes.state.outcome(), recreation.outcome)
    rollout = _rollout_progress(observed, pods, move, shape)
    return Plan(intents, effects, outcome, operation=operation, rollout=rollout)


def _shape(
    resolved: Resolved, inputs: Inputs, live: StatefulSetFacts | None, replicas: int
) -> Shape:
    return Shape(
        replicas=replicas,
        digest=template_digest(resolved, inputs.restart),
        reload=inputs.files.digest,
        first_boot=not resolved.initialized,
        claim_size=live.claim_size if live else resolved.storage_size,
        claim_class=live.claim_class if live else resolved.storage_class,
        creation_hash=live.creation_hash if live else None,
    )


def _rollout_progress(
    observed: Observed, pods: Pods, move: RolloutAction, shape: Shape
) -> RolloutProgress:
    live = observed.stateful_set
    newest = live is not None and live.generation_observed and is_newest(live, shape)
    ready = [pod for pod in observed.pods if pod.ready and not pod.terminating]
    updated = tuple(sorted(p.ordinal for p in ready if p not in pods.outdated)) if newest else ()
    missing = next((p.name for p in observed.pods if p not in ready), "")
    return RolloutProgress(
        updated=updated,
        complete=newest and len(updated) == shape.replicas == len(observed.pods),
        pod=missing or (move.pod.name if move.pod and move.kind in _IN_PROGRESS else ""),
    )


def _next_action(observed: Observed, pods: Pods, inputs: Inputs, size: int) -> RolloutAction:
    """Pick the pod that the rollout replaces next, unless it is on hold."""
    if inputs.hold_reason:
        return RolloutAction("hold", why=inputs.hold_reason) if pods.outdated else REST
    move = next_action(observed, pods.outdated, size, inputs.step_down_job)
    if inputs.hold and move.pod is not None and move.pod.ready:
        return RolloutAction("hold", move.pod, inputs.hold)
    return move


def _replacement_hold(pods: Pods, active_hold: Hold | None) -> Wait | None:
    """Return the replacements that wait for a user."""
    if active_hold is None or not pods.outdated:
        return None
    message = f"{len(pods.outdated)} pods wait for replacement"
    return Wait(active_hold.reason, f"{message}; {active_hold.message}")


def _roll_operation(pods: Pods, progress: Outcome, shape: Shape) -> Operation | None:
    """Count the new and ready pods while pods are replaced."""
    if not isinstance(progress, Wait) or progress.reason not in {*ROLL, QUESTION_REFUSED}:
        return None
    return Operation("Rolling", min(pods.updated, shape.replicas), shape.replicas)


# The first rule that returns a size decides the number of pods.
SIZES: tuple[SizeRule, ...] = (first_boot, hibernate, scaling.scale)


def size_of(resolved: Resolved, observed: Observed) -> Size:
    """Apply the rules in order."""
    sizes = (rule(resolved, observed) for rule in SIZES)
    return next(size for size in sizes if size is not None)


QuorumNeed = Callable[[ClusterSpec, Observed], bool]
# Actions other than a rollout that need the leader's view of the quorum.
QUORUM_NEEDS: tuple[QuorumNeed, ...] = (
    fencing.needs_quorum,
    scaling.needs_quorum,
    needs_members,
    needs_votes,
)


def wants_quorum(
    spec: ClusterSpec, observed: Observed, operator_image: str, certificate: str
) -> bool:
    """Return whether the leader must report its followers: only when a pod is about to be removed.

    It uses the live template, because the newest one is only known after all observations.
    """
    live = observed.stateful_set
    if live is None or live.first_boot or spec.paused:
        return False
    if any(needs_quorum(spec, observed) for needs_quorum in QUORUM_NEEDS):
        return True
    if observed.upgrade.needs_quorum and (live.replicas > 1 or observed.upgrade.blue_green):
        return True
    if live.replicas < 2 or spec.fenced_pods or spec.in_maintenance:
        return False
    small = needs_restart_for_resize(observed)
    older = tuple(pod for pod in observed.pods if pod.template != live.template or pod in small)
    present = [pod for pod in observed.pods if pod not in older]
    target = ReloadTarget(live.reload_hash, certificate)
    to_replace = split(observed, present, target, operator_image).to_replace
    return next_action(observed, older + to_replace, live.replicas).pod is not None


def is_newest(live: StatefulSetFacts | None, shape: Shape) -> bool:
    """Return whether a pod that is created now gets the newest template."""
    return live is not None and (live.template, live.reload_hash) == (shape.digest, shape.reload)


def sort_pods(observed: Observed, shape: Shape, inputs: Inputs) -> Pods:
    """Sort the pods of one StatefulSet by what they need."""
    small = needs_restart_for_resize(observed)
    older = tuple(pod for pod in observed.pods if pod.template != shape.digest or pod in small)
    # A pod that will be replaced need not reload first, unless the rollout is late: a certificate
    # may expire meanwhile.
    present = [
        pod
        for pod in observed.pods
        # A pod with the fencing gate does not run.
        if not pod.fence_gate and (pod not in older or is_late(observed))
    ]
    lagging = split(observed, present, inputs.files.target, inputs.operator_image)
    to_replace = tuple(pod for pod in lagging.to_replace if pod not in older)
    updated = sum(pod.ready and pod not in (*older, *to_replace) for pod in observed.pods)
    return Pods(older, Split(lagging.due, lagging.waiting, to_replace), updated, len(small))


def _of_move(
    move: RolloutAction, observed: Observed, step_down_job: StepDownJob | None = None
) -> tuple[Effect, ...]:
    pod = move.pod
    if move.kind == "restart":
        return restart(move)
    if pod is not None and move.kind == "replace":
        return (ReplacePod(pod.name, pod.uid, evict=pod.ready),)
    if pod is not None and move.kind == "step-down" and step_down_job is not None:
        run, job = step_down_job.run(pod.uid), step_down_job.job(pod.uid)
        return (MakeStepDownJob(pod.name, pod.uid, run, job),)
    if pod is not None and move.kind == "step-down":
        return ask_leader(pod, observed.client_config)
    if pod is not None and move.kind == "mark":
        return mark_log(pod, observed)
    return ()


def restart(move: RolloutAction) -> tuple[Effect, ...]:
    """Delete all pods of an action."""
    return tuple(ReplacePod(pod.name, pod.uid) for pod in move.pods)


def reload_effects(
    resolved: Resolved, lagging: Split, inputs: Inputs, now: datetime
) -> tuple[Effect, ...]:
    """Reload the servers that are due, unless reloads are on hold."""
    if inputs.hold_reload:
        return ()
    mounts = server_mounts(resolved) if lagging.due else ()
    return tuple(
        ReloadPod(
            pod.name,
            pod.uid,
            container(pod, inputs.files, inputs.operator_image, mounts, now),
        )
        for pod in lagging.due
    )


def is_late(observed: Observed) -> bool:
    """Return whether the rollout has exceeded its time limit."""
    since = observed.rolling_since
    return since is not None and observed.now - since >= ROLL_PATIENCE


def _progress(observed: Observed, pods: Pods, move: RolloutAction, size: int) -> Outcome:
    """Report what the rollout waits for. A change of the quorum triggers no reconcile."""
    ready = sum(pod.ready for pod in observed.pods)
    if pods.outdated:
        message = f"{len(pods.outdated)} of {size} pods run an older template"
        if pods.needs_restart_for_resize:
            small = pods.needs_restart_for_resize
            message += f", or need a new pod to expand their file system ({small})"
        return _rollout_outcome(observed, message, move)
    if ready < size:
        unfenced = [pod for pod in observed.pods if not pod.fence_gate]
        message = f"{ready} of {size} servers are ready{absent(unfenced)}"
        # The last pod of a rollout already has the newest template, and is starting.
        return (
            _rollout_outcome(observed, message, move)
            if observed.rolling_since
            else Wait("NotReady", message)
        )
    lagging = len(pods.lagging.due) + len(pods.lagging.waiting)
    if lagging:
        return Wait(RELOADING, f"{lagging} of {size} servers reload their files")
    return Done()


def _rollout_outcome(observed: Observed, message: str, move: RolloutAction) -> Outcome:
    message = "; ".join(filter(None, (message, move.why)))
    late = is_late(observed)
    if move.reason == BUDGET_CLOSED:
        return Wait(ROLL_STUCK if late else BUDGET_CLOSED, message, BUDGET_RECHECK)
    if move.reason:
        return Wait(move.reason, message, QUESTION_RECHECK)
    after = QUORUM_RECHECK if move.kind in _RECHECKED else None
    # Unschedulable does not resolve without a change, so it is reported immediately.
    broken = (pod for pod in observed.pods if not pod.ready and pod.waiting)
    message += "".join(
        f"; {pod.name} waits: {pod.waiting}"
        for pod in islice(broken, 1)
        if late or pod.waiting.startswith(UNSCHEDULABLE)
    )
    return Wait(ROLL_STUCK if late else ROLLING_OUT, message, after)
