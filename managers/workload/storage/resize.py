"""Expansion of the data volumes to the size of the spec. Pure.

The same rules determine the plan (effects, outcome) and the condition StorageConfigured. A larger
request expands a PVC (Kubernetes, "Expanding Persistent Volumes Claims") and then its volume. If
the file system can only be expanded in a new pod, the rollout replaces the pod.
Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from contracts.naming import labels, names
from contracts.pause import counted_from
from contracts.records.desired import Operation
from contracts.records.effects import AdoptPvc, Effect, GrowClaim
from contracts.records.observed import Observed, PodFacts, PvcFacts
from contracts.records.resolved import Resolved
from runtime import quantity
from runtime.memo import memoize
from runtime.outcome import Blocked, Done, Outcome, Wait

GROW_CLAIM = "grow-claim"
STORAGE = "spec.storage"
TAKE_CLAIM = "take-claim"
RESIZING = "StorageResizing"
FILE_SYSTEM = "FileSystemResizePending"
FAILED = frozenset({"ControllerResizeError", "NodeResizeError"})
# Most drivers can expand the file system of a mounted volume; the kubelet does so within this
# time. After it the pod is replaced.
IN_PLACE = timedelta(seconds=60)
# No event reports that a user fixed a StorageClass or a quota.
ASK_AGAIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """Desired settings of the data volumes of a cluster."""

    cluster: str
    owner_uid: str
    size: str
    storage_class: str | None
    field: str = STORAGE
    """Path of the spec that sets them."""


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """One PVC compared with the spec; an unknown field counts as equal."""

    claim: PvcFacts
    owned: bool
    adopted: bool
    """Not owned, and a user annotated it for adoption by this cluster."""
    small: bool
    """Whether it requests less than the spec."""
    large: bool
    grown: bool
    """Whether its volume has the size of the spec."""
    other_class: bool

    @property
    def plain(self) -> bool:
        """Whether it needs no action and no message."""
        odd = self.small or self.large or self.other_class or self.adopted or not self.grown
        claim = self.claim
        return not (odd or claim.resizing or claim.terminating or claim.phase in ODD_PHASES)


ODD_PHASES = ("Pending", "Lost")


@dataclass(frozen=True, slots=True)
class StorageState:
    """State of the volumes; `progressing` ends without a user, `failed` needs one."""

    kind: Literal["ready", "unknown", "progressing", "failed"]
    reason: str
    message: str

    def outcome(self) -> Outcome:
        """Return the outcome for the reconcile."""
        if self.kind == "failed":
            return Blocked(self.reason, self.message)
        if self.kind == "progressing":
            # The time limit for a file system expires without an event.
            return Wait(self.reason, self.message, 15.0)
        return Done()


@dataclass(frozen=True, slots=True)
class Growth:
    """State and effects of the volumes in one reconcile."""

    state: StorageState
    effects: tuple[Effect, ...] = ()
    operation: Operation | None = None


def growth(resolved: Resolved, observed: Observed, field: str = STORAGE) -> Growth:
    """Expand all volumes that are smaller than the spec, in parallel.

    `field`: path of the spec that sets the size.
    """
    desired = VolumeSpec(
        resolved.name, resolved.owner.uid, resolved.storage_size, resolved.storage_class, field
    )
    volumes = [compare(claim, desired) for claim in observed.claims]
    state = _state(desired, volumes, observed)
    if all(volume.plain for volume in volumes):
        return Growth(state)
    adoptions = tuple(
        AdoptPvc(volume.claim.name, volume.claim.uid)
        for volume in volumes
        if volume.adopted and not volume.claim.terminating
    )
    expansions = tuple(
        GrowClaim(volume.claim.name, volume.claim.uid, volume.claim.requested, desired.size)
        for volume in volumes
        if volume.small and volume.owned and _may_grow(volume.claim, observed)
    )
    bound = [volume for volume in volumes if volume.claim.phase == "Bound"]
    done = sum(volume.grown and not volume.claim.resizing for volume in bound)
    operation = Operation("Growing", done, len(bound)) if state.reason == RESIZING else None
    return Growth(state, adoptions + expansions, operation)


def storage_state(desired: VolumeSpec, observed: Observed) -> StorageState:
    """Return the state of the volumes, for the condition StorageConfigured."""
    return _state(desired, [compare(claim, desired) for claim in observed.claims], observed)


def needs_restart_for_resize(observed: Observed) -> tuple[PodFacts, ...]:
    """Return the pods that must be replaced so that their file system can be expanded.

    Each pod is replaced once: if a pod is younger than the condition, its replacement did not help,
    and another one would not help either.
    """
    if not any(claim.resizing for claim in observed.claims):
        return ()
    since = {
        claim.name: claim.resizing_since
        for claim in observed.claims
        if claim.resizing == FILE_SYSTEM
    }
    return tuple(pod for pod in observed.pods if _helps(pod, since.get(_claim_of(pod)), observed))


def _helps(pod: PodFacts, since: datetime | None, observed: Observed) -> bool:
    if since is None or pod.creation_timestamp is None:
        return False
    counted = counted_from(since, observed.resumed_at)
    return pod.creation_timestamp <= since and observed.now - counted >= IN_PLACE


def _claim_of(pod: PodFacts) -> str:
    return names.claim_of_pod(pod.name)


def _may_grow(claim: PvcFacts, observed: Observed) -> bool:
    # The API server allows expansion of bound claims only.
    return claim.phase == "Bound" and not claim.terminating and not _refusal(claim, observed)


def _refusal(claim: PvcFacts, observed: Observed) -> str:
    attempt = observed.last_attempt(GrowClaim.name, claim.uid)
    if attempt is None or observed.now - attempt.at >= ASK_AGAIN:
        return ""
    return attempt.refusal


@memoize
def compare(claim: PvcFacts, desired: VolumeSpec) -> VolumeFacts:
    """Compare one PVC with the spec."""
    desired_size = quantity.parse(desired.size)
    requested_size = quantity.parse(claim.requested) if claim.requested else desired_size
    capacity = quantity.parse(claim.capacity) if claim.capacity else requested_size
    differs = bool(desired.storage_class) and claim.storage_class not in ("", desired.storage_class)
    owned = claim.owner_uid == desired.owner_uid
    return VolumeFacts(
        claim=claim,
        owned=owned,
        adopted=not owned and claim.adopt == desired.cluster,
        small=requested_size < desired_size,
        large=requested_size > desired_size,
        grown=capacity >= desired_size,
        other_class=differs,
    )


Volumes = Sequence[VolumeFacts]
VolumeRule = Callable[[VolumeSpec, Volumes, Observed], StorageState | None]


def _state(desired: VolumeSpec, volumes: Volumes, observed: Observed) -> StorageState:
    states = (rule(desired, volumes, observed) for rule in RULES)
    return next((state for state in states if state is not None), NO_CLAIMS)


NO_CLAIMS = StorageState("unknown", "StorageClassPending", "No data volume was requested yet")


def _lost_volume(desired: VolumeSpec, volumes: Volumes, observed: Observed) -> StorageState | None:
    for volume in volumes:
        if volume.claim.phase == "Lost":
            return StorageState(
                "failed",
                "VolumeLost",
                f"PersistentVolumeClaim {volume.claim.name} has lost its volume: its data is gone. "
                "Delete the claim and then its pod; the server starts empty and replicates the "
                "data from the others",
            )
    by_name = {volume.claim.name: volume for volume in volumes}
    for pod in observed.pods if volumes else ():
        if not pod.ready:
            continue
        claim = _claim_of(pod)
        mounted = by_name.get(claim)
        if mounted is None:
            return StorageState(
                "failed",
                "VolumeLost",
                f"{pod.name} runs, but PersistentVolumeClaim {claim} does not exist, or has lost "
                "its labels: restore them, or delete the pod while all others are ready",
            )
        if mounted.claim.terminating:
            return StorageState(
                "failed",
                "VolumeLost",
                f"PersistentVolumeClaim {claim} is being deleted: its data is lost when pod "
                f"{pod.name} stops. If that is intended, delete the pod while all others are "
                "ready; the server starts empty and replicates the data from them",
            )
    return None


def _class_change(desired: VolumeSpec, volumes: Volumes, observed: Observed) -> StorageState | None:
    for volume in volumes:
        if volume.other_class:
            return StorageState(
                "failed",
                "StorageClassChangeNotSupported",
                f"{desired.field}.storageClassName is {desired.storage_class} and "
                f"PersistentVolumeClaim {volume.claim.name} has {volume.claim.storage_class}: the "
                "class of a volume cannot change. Restore the former value, or move the data to a "
                "new cluster",
            )
    return None


def _shrink_request(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    large = [volume.claim for volume in volumes if volume.large]
    if not large:
        return None
    widest = max((claim.requested for claim in large), key=quantity.parse)
    return StorageState(
        "failed",
        "StorageShrinkNotSupported",
        f"{desired.field}.size is {desired.size} and PersistentVolumeClaim {large[0].name} "
        f"requests {large[0].requested}: a volume cannot shrink. Set {desired.field}.size to "
        f"{widest}",
    )


def _foreign_claim(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    foreign = [
        volume.claim.name
        for volume in volumes
        if volume.small and not (volume.owned or volume.adopted)
    ]
    if not foreign:
        return None
    return StorageState(
        "failed",
        "ForeignObject",
        f"PersistentVolumeClaim {', '.join(foreign)}: smaller than {desired.field}.size "
        f"({desired.size}), and not owned by this cluster, so it is not expanded. To hand it over, "
        f"annotate it with {labels.ADOPT}={desired.cluster}",
    )


def _unsupported_resize(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    for volume in volumes:
        why = _refusal(volume.claim, observed) if volume.small else ""
        if why:
            return StorageState(
                "failed",
                "StorageResizeNotSupported",
                f"PersistentVolumeClaim {volume.claim.name} cannot be expanded to {desired.size}: "
                f"{why}. The servers keep their current size. Set allowVolumeExpansion: true in "
                f"StorageClass {volume.claim.storage_class or 'of the claim'} if its driver can, "
                "or move the data to a new cluster of that size; the operator retries every "
                f"{ASK_AGAIN.seconds // 60} minutes",
            )
    return None


def _failed_resize(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    for volume in volumes:
        if volume.claim.resizing in FAILED:
            return StorageState(
                "failed",
                "StorageResizeFailed",
                f"The storage driver could not expand PersistentVolumeClaim {volume.claim.name} "
                f"({volume.claim.resizing}): {volume.claim.resize_message or 'no reason given'}. "
                "It retries automatically: free capacity or raise the quota in the storage system",
            )
    return None


def _unbound_claim(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    pending = [volume.claim for volume in volumes if volume.claim.phase == "Pending"]
    if not pending:
        return None
    kind = pending[0].storage_class
    return StorageState(
        "unknown",
        "StorageClassPending",
        f"{', '.join(claim.name for claim in pending)}: no volume yet. "
        + (
            f"If this persists, check that StorageClass {kind} exists, and read the claim's events"
            if kind
            else "There is no default StorageClass: create one, or set "
            f"{desired.field}.storageClassName"
        ),
    )


def _resize_progress(
    desired: VolumeSpec, volumes: Volumes, observed: Observed
) -> StorageState | None:
    late = [
        volume for volume in volumes if volume.small or volume.claim.resizing or not volume.grown
    ]
    if not late:
        return None
    message = f"{len(volumes) - len(late)} of {len(volumes)} volumes have {desired.size}"
    pending = [volume.claim for volume in late if volume.claim.resizing == FILE_SYSTEM]
    if pending:
        message += f"; file systems to be expanded: {', '.join(claim.name for claim in pending)}"
    useless = [pod.name for pod in observed.pods if _was_replaced(pod, pending)]
    if useless:
        message += (
            f"; replacing {', '.join(useless)} has not helped: read the events of the claim and of "
            "the pod"
        )
    return StorageState("progressing", RESIZING, message)


def _was_replaced(pod: PodFacts, pending: Sequence[PvcFacts]) -> bool:
    claim = next((pvc for pvc in pending if pvc.name == _claim_of(pod)), None)
    if claim is None or claim.resizing_since is None or pod.creation_timestamp is None:
        return False
    return pod.ready and pod.creation_timestamp > claim.resizing_since


def _ready_state(desired: VolumeSpec, volumes: Volumes, observed: Observed) -> StorageState | None:
    if not volumes:
        return None
    if desired.storage_class:
        return StorageState(
            "ready",
            "StorageClassConfigured",
            f"{len(volumes)} volumes of {desired.size} in StorageClass {desired.storage_class}",
        )
    classes = sorted({volume.claim.storage_class for volume in volumes} - {""})
    return StorageState(
        "ready",
        "StorageClassDefaulted",
        f"{len(volumes)} volumes of {desired.size} in the default StorageClass"
        + (f" ({', '.join(classes)})" if classes else ""),
    )


RULES: tuple[VolumeRule, ...] = (
    _lost_volume,
    _class_change,
    _shrink_request,
    _foreign_claim,
    _unsupported_resize,
    _failed_resize,
    _unbound_claim,
    _resize_progress,
    _ready_state,
)
