"""Replacement of a first server that never ran, after its template is corrected. Pure.

No other rule replaces it: before data exists there is no rollout, because an interrupted first
boot leaves half of its requests undone.
"""

from __future__ import annotations

from contracts.records.effects import Effect, ReplaceUnstarted
from contracts.records.observed import Observed, PodFacts
from managers.workload.rollout.quorum import is_locked_out

# Reasons of the kubelet for a container that cannot start from this template (kubelet, images and
# container configuration); with any other reason it may start at any moment.
_HOPELESS = (
    "CreateContainerConfigError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
)


def replace_unstarted(observed: Observed, digest: str, *, newest: bool) -> tuple[Effect, ...]:
    """Replace the pods from another template than `digest` that cannot start.

    `newest`: the live StatefulSet has that template. A sealed server with data has no first boot
    that could be interrupted.
    """
    live = observed.stateful_set
    if live is None or not live.generation_observed or not newest:
        return ()
    return tuple(
        ReplaceUnstarted(pod.name, pod.uid)
        for pod in observed.pods
        if pod.template != digest
        and not pod.terminating
        and (_never_ran(pod) or (is_locked_out(pod, live) and pod.registration.initialized))
    )


def _never_ran(pod: PodFacts) -> bool:
    if pod.ready or pod.terminating or pod.restarts or pod.last_exit is not None:
        return False
    return bool(pod.waiting) and (not pod.node or pod.waiting.startswith(_HOPELESS))
