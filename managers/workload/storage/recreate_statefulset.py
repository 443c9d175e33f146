"""Re-creation of a StatefulSet around running pods, when an immutable field changes. Pure.

The name of the governing Service, the selector, the pod management policy and the claim templates
of a StatefulSet are immutable (Kubernetes API reference, StatefulSet v1). The operator deletes the
object and keeps its pods (propagationPolicy Orphan); the next reconcile applies it again, and it
adopts the pods by its selector. No pod restarts. Called by `managers.workload.plan`. See
docs/adr/20261122-orphan-and-recreate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from contracts.naming import labels
from contracts.records.desired import Operation
from contracts.records.effects import Effect, RecreateStatefulSet
from contracts.records.observed import Observed, StatefulSetFacts
from contracts.records.resolved import Resolved
from runtime import quantity
from runtime.apply.intent import digest
from runtime.memo import memoize
from runtime.outcome import Done, Outcome, Wait
from runtime.types import Object

RECREATING = "RecreatingStatefulSet"
# Do not repeat a deletion that the watch has not reported yet.
ASK_AGAIN = timedelta(seconds=5)
SETTLED = Done()


@dataclass(frozen=True, slots=True)
class Renewal:
    """The decision about the StatefulSet itself.

    `rejected`: the API server would reject the desired object, so the plan omits it.
    """

    rejected: bool = False
    effects: tuple[Effect, ...] = ()
    outcome: Outcome = SETTLED
    operation: Operation | None = None


KEPT = Renewal()


@memoize
def immutable_fields(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the immutable fields of the spec of a StatefulSet, each as text."""
    claim: Object = next(iter(spec.get("volumeClaimTemplates") or ()), {})
    metadata = claim.get("metadata") or {}
    return {
        "spec.serviceName": spec.get("serviceName") or "",
        "spec.selector": _text((spec.get("selector") or {}).get("matchLabels")),
        "spec.podManagementPolicy": spec.get("podManagementPolicy") or "",
        "spec.volumeClaimTemplates labels": _text(metadata.get("labels")),
        "spec.volumeClaimTemplates annotations": _text(metadata.get("annotations")),
    }


def creation_hash(spec: Mapping[str, Any], storage_size: str) -> str:
    """Return the hash of the immutable fields and the size, as a StatefulSet is created with them.

    If the live object has this hash and other fields, an admission webhook changed them. It would
    change those of the next StatefulSet too.
    """
    return digest([immutable_fields(spec), storage_size])


def renewal(
    resolved: Resolved, observed: Observed, desired: Mapping[str, Any], *, rolling: bool
) -> Renewal:
    """Decide whether to delete the StatefulSet now so that it can be created again.

    `desired` is the spec that would be applied; `rolling`: pods must be replaced first.
    """
    live = observed.stateful_set
    if live is None or live.first_boot:
        return KEPT
    differs = _differs(live, desired, resolved.storage_size)
    if not differs or live.creation_hash == creation_hash(desired, resolved.storage_size):
        return KEPT
    rejected = differs != SIZE_ALONE
    waits_for = _unmet_precondition(live, observed, rejected=rejected)
    if not rejected:
        waits_for = waits_for or _unfinished_resize(live, observed, resolved, rolling=rolling)
    name = resolved.voter_pool.stateful_set
    message = (
        f"StatefulSet {name} is re-created around its running pods, because the API server "
        f"cannot change {', '.join(differs)} in place"
    )
    if waits_for:
        return Renewal(rejected, outcome=Wait(RECREATING, f"{message}; first {waits_for}"))
    attempt = observed.last_attempt(RecreateStatefulSet.name, resolved.owner.uid)
    if attempt is not None and observed.now - attempt.at < ASK_AGAIN:
        return Renewal(
            True,
            (),
            Wait(RECREATING, message, ASK_AGAIN.total_seconds()),
            Operation("Recreating", 0, 1),
        )
    effect = RecreateStatefulSet(name, live.uid, live.version)
    return Renewal(True, (effect,), Wait(RECREATING, message), Operation("Recreating", 0, 1))


SIZE_ALONE = ("size of a claim template",)


def _differs(
    live: StatefulSetFacts, desired: Mapping[str, Any], storage_size: str
) -> tuple[str, ...]:
    fields = immutable_fields(desired)
    differing = tuple(
        name for name, value in fields.items() if live.immutable_fields.get(name) != value
    )
    return differing + (SIZE_ALONE if _is_smaller(live.claim_size, storage_size) else ())


def _is_smaller(template: str, desired: str) -> bool:
    # `growth` reports a template that is larger than the spec; it is never reduced.
    if not template or template == desired:
        return False
    return quantity.parse(template) < quantity.parse(desired)


def _unmet_precondition(live: StatefulSetFacts, observed: Observed, *, rejected: bool) -> str:
    """Return what must happen before pods may be without their StatefulSet; "" for nothing.

    `rejected`: the StatefulSet cannot be applied. Then a pod whose server cannot run is accepted:
    it may need the newest template, which only the next StatefulSet has.
    """
    if not live.generation_observed:
        return "its controller must observe the newest spec"
    ready = sum(pod.ready for pod in observed.pods)
    broken = sum(pod.is_down and not pod.terminating for pod in observed.pods) if rejected else 0
    # If the status is lost meanwhile, a ready pod shows the next process that data exists.
    if not ready or ready + broken < live.replicas or len(observed.pods) != live.replicas:
        return f"all of its pods must be ready ({ready} of {live.replicas} are)"
    return ""


def _unfinished_resize(
    live: StatefulSetFacts, observed: Observed, resolved: Resolved, *, rolling: bool
) -> str:
    """Return what must happen first if only the size for new volumes differs; "" for nothing."""
    if rolling:
        return "outdated pods are replaced"
    requested = [claim for claim in observed.claims if claim.requested]
    smaller = [
        claim.name for claim in requested if _is_smaller(claim.requested, resolved.storage_size)
    ]
    if smaller or len(requested) < live.replicas:
        return f"the volumes must be expanded: {', '.join(smaller) or 'not all of them are known'}"
    return ""


def _text(pairs: Mapping[str, str] | None) -> str:
    return labels.selector_text(pairs or {})
