"""A StatefulSet made anew around running pods, when what differs cannot be changed in place. Pure.

The API server lets nobody change the name of the governing Service, the selector, the pod
management policy or the claim templates of a StatefulSet (Kubernetes API reference, StatefulSet
v1). It is deleted with its pods left behind (propagationPolicy Orphan), applied anew by the next
pass, and takes the pods back by its selector. No pod is touched. See
docs/adr/20261122-orphan-and-recreate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from contracts.naming import labels
from contracts.records.desired import Effect, Operation
from contracts.records.observed import Observed, StatefulSetFacts
from contracts.records.resolved import Resolved
from runtime import quantity
from runtime.memo import memoize
from runtime.outcome import Done, Outcome, Wait
from runtime.types import Object

RECREATE_SET = "recreate-stateful-set"
RECREATING = "RecreatingStatefulSet"
# What the watch has not shown yet is not asked for twice.
ASK_AGAIN = timedelta(seconds=5)
SETTLED = Done()


@dataclass(frozen=True, slots=True)
class Renewal:
    """What becomes of the StatefulSet itself.

    `barred`: as it is wanted the API server would refuse it, so it stays out of the plan.
    """

    barred: bool = False
    effects: tuple[Effect, ...] = ()
    outcome: Outcome = SETTLED
    operation: Operation | None = None


KEPT = Renewal()


@memoize
def fixed_fields(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """Name what of the spec of a StatefulSet can never be changed in place, each as text."""
    claim: Object = next(iter(spec.get("volumeClaimTemplates") or ()), {})
    metadata = claim.get("metadata") or {}
    return {
        "spec.serviceName": spec.get("serviceName") or "",
        "spec.selector": _text((spec.get("selector") or {}).get("matchLabels")),
        "spec.podManagementPolicy": spec.get("podManagementPolicy") or "",
        "spec.volumeClaimTemplates labels": _text(metadata.get("labels")),
        "spec.volumeClaimTemplates annotations": _text(metadata.get("annotations")),
    }


def renewal(
    resolved: Resolved, observed: Observed, desired: Mapping[str, Any], *, rolling: bool
) -> Renewal:
    """Decide whether the StatefulSet is to be deleted now so that it can be made anew.

    `desired` is the object as it would be applied; `rolling`: pods are to be replaced first.
    """
    live = observed.stateful_set
    if live is None or live.first_boot:
        return KEPT
    differs = _differs(live, desired, resolved.storage_size)
    if not differs:
        return KEPT
    barred = differs != SIZE_ALONE
    waits_for = _unsettled(live, observed)
    if not barred:
        waits_for = waits_for or _growing(live, observed, resolved, rolling=rolling)
    name = resolved.voter_set.stateful_set
    message = (
        f"StatefulSet {name} is made anew around its running pods, because the API server "
        f"changes no {', '.join(differs)} in place"
    )
    if waits_for:
        return Renewal(barred, outcome=Wait(RECREATING, f"{message}; first {waits_for}"))
    attempt = observed.attempted(RECREATE_SET, resolved.owner.uid)
    if attempt is not None and observed.now - attempt.at < ASK_AGAIN:
        return Renewal(
            True,
            (),
            Wait(RECREATING, message, ASK_AGAIN.total_seconds()),
            Operation("Recreating", 0, 1),
        )
    effect = Effect(RECREATE_SET, name, live.uid, {"version": live.version})
    return Renewal(True, (effect,), Wait(RECREATING, message), Operation("Recreating", 0, 1))


SIZE_ALONE = ("size of a claim template",)


def _differs(
    live: StatefulSetFacts, desired: Mapping[str, Any], storage_size: str
) -> tuple[str, ...]:
    fields = fixed_fields(desired)
    differing = tuple(name for name, value in fields.items() if live.fixed.get(name) != value)
    return differing + (SIZE_ALONE if _outgrown(live.claim_size, storage_size) else ())


def _outgrown(template: str, desired: str) -> bool:
    # A template that is larger than the spec is told where the volumes are (growth), not shrunk.
    if not template or template == desired:
        return False
    return quantity.parse(template) < quantity.parse(desired)


def _unsettled(live: StatefulSetFacts, observed: Observed) -> str:
    """Say what has to be over before pods may be without their StatefulSet; "" if nothing."""
    if not live.settled:
        return "its controller has to see its newest spec"
    ready = sum(pod.ready for pod in observed.pods)
    # Also what tells the next process, should the status be lost meanwhile, that data exists.
    if not ready or ready < live.replicas or len(observed.pods) != live.replicas:
        return f"all of its pods have to be ready ({ready} of {live.replicas} are)"
    return ""


def _growing(
    live: StatefulSetFacts, observed: Observed, resolved: Resolved, *, rolling: bool
) -> str:
    """Say what may take its time first when nothing but the size for new volumes differs."""
    if rolling:
        return "the pods that are outdated are replaced"
    requested = [claim for claim in observed.claims if claim.requested]
    smaller = [
        claim.name for claim in requested if _outgrown(claim.requested, resolved.storage_size)
    ]
    if smaller or len(requested) < live.replicas:
        return f"the volumes have to grow: {', '.join(smaller) or 'not all of them are known'}"
    return ""


def _text(pairs: Mapping[str, str] | None) -> str:
    return labels.selector_text(pairs or {})
