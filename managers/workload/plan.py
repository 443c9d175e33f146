"""The workload step: how many pods, from which template, and which pod is replaced now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from contracts.desired import Effect, Plan
from contracts.observed import Observed
from contracts.resolved import Resolved
from managers.workload.replace import next_to_replace
from managers.workload.statefulset import Shape, disruption_budget, stateful_set, template_digest
from runtime.outcome import Blocked, Done, Outcome, Wait, combine

REPLACE_POD = "replace-pod"
ROLLING_OUT = "RollingOut"
# A pod is back within seconds; a roll that lasts longer than this is in trouble.
ROLL_PATIENCE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What other steps made and a running server has read."""

    config: str
    certificate: str


def plan(resolved: Resolved, observed: Observed, inputs: Inputs) -> Plan:
    """Want the StatefulSet, its budget, and at most one pod replaced.

    A cluster without data starts as one pod, and that pod alone sees the document that makes a
    new cluster. With data, every further pod is made from a template that does not name it.
    """
    digest = template_digest(resolved, inputs.config, inputs.certificate)
    live = observed.stateful_set
    size, outcome = _replicas(resolved, observed)
    shape = Shape(
        replicas=size,
        digest=digest,
        first_boot=not resolved.initialized,
        claim_size=live.claim_size if live else resolved.storage_size,
        claim_class=live.claim_class if live else resolved.storage_class,
    )
    budget = disruption_budget(resolved)
    intents = (stateful_set(resolved, shape), *(() if budget is None else (budget,)))
    victim = next_to_replace(observed, digest, size) if resolved.initialized else None
    effects = () if victim is None else (Effect(REPLACE_POD, victim.name, victim.uid),)
    progress = _progress(resolved, observed, digest, size)
    return Plan(intents, effects, combine(outcome, progress))


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


def _progress(resolved: Resolved, observed: Observed, digest: str, size: int) -> Outcome:
    """Say what the pods are waited for. No timer: their events wake us."""
    if not resolved.initialized:
        return Wait("FirstBoot", "the first server initialises the cluster")
    ready = sum(pod.ready for pod in observed.pods)
    older = sum(pod.template != digest for pod in observed.pods)
    if older:
        return Wait(ROLLING_OUT, f"{older} of {size} pods run an older template")
    if ready >= size:
        return Done()
    told = f"{ready} of {size} servers are ready"
    since = observed.rolling_since
    if since is not None and observed.now - since < ROLL_PATIENCE:
        # The last pod of a roll is the newest already, and on its way.
        return Wait(ROLLING_OUT, told)
    return Wait("NotReady", told)
