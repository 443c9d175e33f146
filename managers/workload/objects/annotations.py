"""Temporary gates and annotations of pods and their template that require no replacement. Pure.

They are added after the digest of the template is computed (managers.workload.objects.statefulset).
"""

from __future__ import annotations

from typing import Any

from contracts.naming import labels
from contracts.records.effects import MarkFirst, MarkPod
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved


def with_marks(resolved: Resolved, template: dict[str, Any]) -> dict[str, Any]:
    """Return the template with the fencing gate and the maintenance annotation, where they apply.

    While spec.fencedPods is set every new pod has the gate: the operator removes it from all but
    the fenced ones (docs/adr/20261122-fence-by-scheduling-gate.md).
    """
    spec, metadata = template["spec"], template["metadata"]
    if resolved.fenced and not resolved.reads:
        spec = {**spec, "schedulingGates": [{"name": labels.FENCE_GATE}]}
    if resolved.maintenance:
        metadata = {
            **metadata,
            "annotations": {**metadata["annotations"], **stateful_set_marks(resolved)},
        }
    return {"metadata": metadata, "spec": spec}


def stateful_set_marks(resolved: Resolved) -> dict[str, str]:
    """Return the maintenance annotation, for the StatefulSet and its template."""
    return {labels.MAINTENANCE: "true"} if resolved.maintenance else {}


def pod_marks(resolved: Resolved, observed: Observed) -> tuple[MarkPod, ...]:
    """Annotate the pods that existed before the maintenance began, and undo it afterwards."""
    maintenance = resolved.maintenance
    return tuple(
        MarkPod(pod.name, pod.uid, maintenance)
        for pod in (*observed.pods, *observed.read.pods)
        # A pod without a digest has none of our annotations: it will be replaced.
        if pod.maintenance != maintenance and pod.template and not pod.terminating
    )


def first_marks(resolved: Resolved, observed: Observed) -> tuple[MarkFirst, ...]:
    """Label the servers of the pool without a revision, before a second pool exists.

    The label must not change their template. A pod that is re-created meanwhile is labeled again.
    """
    if resolved.revision or resolved.other is None:
        return ()
    return tuple(
        MarkFirst(pod.name, pod.uid)
        for pod in observed.pods
        if not pod.first_set and not pod.terminating
    )
