"""What pods and their template carry for a while and no pod is replaced for. Pure.

Put on after the digest of the template was taken (`managers.workload.objects.statefulset`).
"""

from __future__ import annotations

from typing import Any

from contracts.naming import labels
from contracts.pools.pool_naming import VOTERS, PoolNaming
from contracts.records.desired import Effect
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved

MARK_POD = "mark-pod"
MARK_FIRST = "mark-first-set"


def with_marks(resolved: Resolved, pool: PoolNaming, template: dict[str, Any]) -> dict[str, Any]:
    """Return the template with the gate of a fence and the mark of maintenance, where they apply.

    While a fence is in place every new pod waits at the gate: the operator opens it for all but
    the fenced ones (docs/adr/20261122-fence-by-scheduling-gate.md).
    """
    spec, metadata = template["spec"], template["metadata"]
    if resolved.fenced and pool is VOTERS:
        spec = {**spec, "schedulingGates": [{"name": labels.FENCE_GATE}]}
    if resolved.maintenance:
        metadata = {**metadata, "annotations": {**metadata["annotations"], **set_marks(resolved)}}
    return {"metadata": metadata, "spec": spec}


def set_marks(resolved: Resolved) -> dict[str, str]:
    """Return the annotations of maintenance, for the StatefulSet and its template."""
    return {labels.MAINTENANCE: "true"} if resolved.maintenance else {}


def pod_marks(resolved: Resolved, observed: Observed) -> tuple[Effect, ...]:
    """Mark the pods that were there before the maintenance began, and unmark them after it."""
    maintenance = resolved.maintenance
    return tuple(
        Effect(MARK_POD, pod.name, pod.uid, {"on": maintenance})
        for pod in (*observed.pods, *observed.read.pods)
        # Without a digest it has no annotations of ours at all: it is going to be replaced.
        if pod.maintenance != maintenance and pod.template and not pod.terminating
    )


def first_marks(resolved: Resolved, observed: Observed) -> tuple[Effect, ...]:
    """Label the servers of the set without a revision, before there is another one to tell apart.

    Their template must not change for it. A pod that is made anew meanwhile is labelled again.
    """
    if resolved.revision or resolved.other is None:
        return ()
    return tuple(
        Effect(MARK_FIRST, pod.name, pod.uid)
        for pod in observed.pods
        if not pod.first_set and not pod.terminating
    )
