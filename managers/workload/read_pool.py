"""The read replicas: a second StatefulSet, of servers without a vote. Pure.

They are planned with the functions of the voters, on a view of the resolved and observed records
that contains only this pool (docs/adr/20261122-read-replicas.md). Read replicas are replaced and
reloaded first; the voters wait for them for a limited time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from contracts.naming import names
from contracts.records.desired import Operation, Plan
from contracts.records.effects import DeleteReadStatefulSet, ReplacePod
from contracts.records.observed import Observed, PodFacts
from contracts.records.resolved import ReadPoolSpec, Resolved
from managers.workload.objects.statefulset import Shape, stateful_set, template_digest
from managers.workload.plan import (
    ROLL_STUCK,
    ROLLING_OUT,
    Inputs,
    Pods,
    is_late,
    is_newest,
    reload_effects,
    restart,
    sort_pods,
)
from managers.workload.rollout.holds import hold
from managers.workload.rollout.quorum import wait_for_answer
from managers.workload.rollout.reload import RELOADING
from managers.workload.rollout.restart_all import restart_all
from managers.workload.scale.read_replicas import LEAVING, NO_LEADER, RECHECK, VOTES, read_size
from managers.workload.storage.resize import growth
from runtime.memo import memoize
from runtime.outcome import Blocked, Done, Outcome, Wait, combine

STORAGE = "spec.readReplicas.storage"
NOT_READY = "ReadReplicasNotReady"
EMPTY = Plan()


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The plan of the pool, and what the voters must wait for."""

    plan: Plan = EMPTY
    hold: str = ""
    """Why the voters are not replaced yet; "" when they may be."""
    hold_reload: bool = False
    """The voters do not reload yet."""


EMPTY_PLAN = ReadPlan()


def inputs_of(read: ReadPoolSpec, voters: Inputs) -> Inputs:
    """Return the inputs of a read replica: those of the voters, with its own config.hcl."""
    files = replace(voters.files, config=read.config_text, reload_text=read.reload_text)
    return replace(voters, restart=read.restart_text, files=files)


def plan(resolved: Resolved, observed: Observed, voters: Inputs) -> ReadPlan:
    """Plan the StatefulSet, and at most one pod replacement; nothing before there is data to join.

    `voters` are the inputs of the voters.
    """
    read = resolved.read
    if read is None or not resolved.initialized:
        return EMPTY_PLAN
    live = observed.read.stateful_set
    size = read_size(resolved, observed, read.replicas)
    if size.replicas == 0 and live is None:
        return ReadPlan(Plan((), size.effects, size.outcome, operation=size.operation))
    tidy = isinstance(size.outcome, Done) and not resolved.hibernate
    if read.replicas == 0 and tidy and _is_empty(observed):
        assert live is not None
        deletion = DeleteReadStatefulSet(names.read_stateful_set(resolved.name), live.uid)
        return ReadPlan(
            Plan((), (deletion,), Wait(LEAVING, "the last read replica is gone", RECHECK))
        )
    view, pool, inputs = (
        _view(resolved, read),
        observed.with_pool(observed.read),
        inputs_of(read, voters),
    )
    shape = Shape(
        replicas=size.replicas,
        digest=template_digest(view, inputs.restart),
        reload=inputs.files.digest,
        first_boot=False,
        claim_size=live.claim_size if live else read.storage_size,
        claim_class=live.claim_class if live else read.storage_class,
    )
    pods = _remaining_pods(sort_pods(pool, shape, inputs), read.replicas)
    on_hold = voters.hold_read_replicas
    rests = on_hold or hold(resolved) is not None or not is_newest(live, shape)
    together = None if rests else restart_all(resolved, pool)
    alone = not rests and together is None
    target = next_read_replica(pool, pods.outdated, shape.replicas) if alone else None
    vote = _voter_outcome(observed, target)
    replaced = restart(together) if together else ()
    if target and not vote:
        replaced = (ReplacePod(target.name, target.uid),)
    volumes = growth(view, _remaining_replicas(pool, shape.replicas), STORAGE)
    progress = Done() if on_hold else _progress(pool, pods, min(size.replicas, read.replicas))
    planned = Plan(
        intents=(stateful_set(view, shape),),
        effects=(
            *size.effects,
            *volumes.effects,
            *replaced,
            *reload_effects(view, pods.lagging, inputs, observed.now),
        ),
        outcome=combine(
            size.outcome, volumes.state.outcome(), *((vote,) if vote else ()), progress
        ),
        operation=size.operation
        or volumes.operation
        or _roll_operation(pods, progress, read.replicas),
    )
    return ReadPlan(planned) if on_hold else _hold_voters(planned, observed, pods, progress)


def with_read_pool(voters: Plan, pool: ReadPlan) -> Plan:
    """Return the plan of the voters and that of the read replicas as one."""
    if pool is EMPTY_PLAN:
        return voters
    added = pool.plan
    return replace(
        voters,
        intents=voters.intents + added.intents,
        effects=voters.effects + added.effects,
        outcome=combine(voters.outcome, added.outcome),
        operation=voters.operation or added.operation,
    )


@memoize
def _view(resolved: Resolved, read: ReadPoolSpec) -> Resolved:
    return replace(
        resolved,
        reads=True,
        pod=read.pod,
        config_text=read.config_text,
        reload_text=read.reload_text,
        restart_text=read.restart_text,
        storage_size=read.storage_size,
        storage_class=read.storage_class,
    )


def _remaining_replicas(pool: Observed, count: int) -> Observed:
    """Exclude the replicas that are removed, and their volumes."""
    claims = (pvc for pvc in pool.claims if int(pvc.name.rpartition("-")[2]) < count)
    pods = (pod for pod in pool.pods if pod.ordinal < count)
    return replace(pool, claims=tuple(claims), pods=tuple(pods))


def _is_empty(observed: Observed) -> bool:
    live = observed.read.stateful_set
    if live is None or not live.generation_observed:
        return False
    return not live.replicas and not observed.read.pods


def _remaining_pods(pods: Pods, desired: int) -> Pods:
    """Exclude the pods that a scale-down removes: no action is taken on them."""

    def stay(group: Collection[PodFacts]) -> tuple[PodFacts, ...]:
        return tuple(pod for pod in group if pod.ordinal < desired)

    lagging = pods.lagging
    return Pods(
        stay(pods.older),
        replace(
            lagging,
            due=stay(lagging.due),
            waiting=stay(lagging.waiting),
            to_replace=stay(lagging.to_replace),
        ),
        pods.updated,
    )


def next_read_replica(pool: Observed, outdated: Collection[PodFacts], size: int) -> PodFacts | None:
    """Pick the read replica to replace now; None while another one is being replaced.

    An outdated pod that is not ready is replaced first: it serves no requests, and a newer template
    may repair it. The quorum is not checked, because a server without a vote does not count.
    """
    live = pool.stateful_set
    if live is None or not live.generation_observed or not outdated:
        return None
    if any(pod.terminating for pod in pool.pods) or len(pool.pods) < size:
        return None
    unready = [pod for pod in pool.pods if not pod.ready]
    choice = [pod for pod in unready if pod in outdated] if unready else list(outdated)
    return max(choice, key=lambda pod: pod.ordinal, default=None)


def _voter_outcome(observed: Observed, target: PodFacts | None) -> Blocked | Wait | None:
    """Refuse to replace a server that a user promoted, while it runs.

    If the leader did not answer, the voters are unknown.
    """
    quorum = observed.quorum
    if target is None or quorum is None:
        return None
    if quorum.error:
        message = f"{target.name} runs an older template, and it is not known whether it has a vote"
        return wait_for_answer(quorum, NO_LEADER, message, RECHECK)
    votes = any(
        server.voter and server.healthy and server.node_id == target.name
        for server in quorum.servers
    )
    if not votes:
        return None
    return Blocked(
        VOTES,
        f"{target.name} runs an older template and is a voter: a user promoted it, and only read "
        "replicas without a vote are replaced. Demote it (`bao write "
        f"sys/storage/raft/demote server_id={target.name}`), and the rollout continues",
        recheck_after=30.0,
    )


def _progress(pool: Observed, pods: Pods, size: int) -> Outcome:
    ready = sum(pod.ready and pod.ordinal < size for pod in pool.pods)
    if pods.outdated:
        return _rollout_outcome(
            pool, f"{len(pods.outdated)} of {size} read replicas run an older template"
        )
    if ready < size:
        message = f"{ready} of {size} read replicas are ready"
        if pool.rolling_since:
            return _rollout_outcome(pool, message)
        return Wait(NOT_READY, message + stuck(pool.pods))
    lagging = len(pods.lagging.due) + len(pods.lagging.waiting)
    if lagging:
        return Wait(RELOADING, f"{lagging} of {size} read replicas reload their files")
    return Done()


def _rollout_outcome(pool: Observed, message: str) -> Outcome:
    if not is_late(pool):
        return Wait(ROLLING_OUT, message)
    return Wait(ROLL_STUCK, f"{message}{stuck(pool.pods)}; the voters no longer wait for them")


def stuck(pods: Collection[PodFacts]) -> str:
    """Name the first pod that is not ready and what it waits for, after a semicolon."""
    for pod in pods:
        if not pod.ready:
            return f"; {pod.name} waits: {pod.waiting or 'it runs and is not ready'}"
    return ""


def _roll_operation(pods: Pods, progress: Outcome, size: int) -> Operation | None:
    if not isinstance(progress, Wait) or progress.reason not in (ROLLING_OUT, ROLL_STUCK):
        return None
    return Operation("Rolling", min(pods.updated, size), size)


def _hold_voters(planned: Plan, observed: Observed, pods: Pods, progress: Outcome) -> ReadPlan:
    """Hold the voters while the pool makes progress, for a limited time."""
    if isinstance(planned.outcome, Blocked) or is_late(observed):
        return ReadPlan(planned)
    message = progress.message if isinstance(progress, Wait) else ""
    rolling = bool(pods.outdated) or (isinstance(progress, Wait) and progress.reason != RELOADING)
    # A pod that is not ready cannot reload: it reads the newest files when it starts.
    reloading = any(pod.ready for pod in (*pods.lagging.due, *pods.lagging.waiting))
    hold_message = f"the read replicas go first: {message}" if rolling else ""
    return ReadPlan(planned, hold_message, reloading)
