"""The StatefulSet of a server pool, and the disruption budget of the voters. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts.builders.metadata import cluster_object
from contracts.naming import labels, names
from contracts.records.resolved import Resolved
from managers.workload.objects.annotations import stateful_set_marks, with_marks
from managers.workload.objects.pod import pod_template
from managers.workload.storage.recreate_statefulset import creation_hash
from runtime.apply.intent import Intent, digest
from runtime.builtin_kinds import POD_DISRUPTION_BUDGET, STATEFUL_SET
from runtime.memo import memoize

# Below three servers a budget of one would still allow the loss of the quorum.
QUORUM_FLOOR = 3


@memoize
def template_digest(resolved: Resolved, restart: str) -> str:
    """Return the digest of everything that requires the replacement of a running pod.

    `restart` is the part of config.hcl that a server reads only when it starts. The files that it
    reloads have their own digest (`managers.workload.rollout.reload`). The self-init configuration
    is left out on purpose: a pod that has mounted it is not outdated.
    """
    template = pod_template(resolved, digest="", reload="", first_boot=False)
    return digest([template, restart, resolved.pod.restart_at])


@dataclass(frozen=True, slots=True)
class Shape:
    """Desired values of the StatefulSet now, as decided by `managers.workload.plan`."""

    replicas: int
    digest: str
    reload: str
    """Digest of the files that a running server can reload."""
    first_boot: bool
    claim_size: str
    claim_class: str | None
    creation_hash: str | None = ""
    """Value of the annotation of that name; "" for none. None: the StatefulSet is created now."""


@memoize
def stateful_set(resolved: Resolved, shape: Shape) -> Intent:
    """Build the StatefulSet.

    Pods are created in parallel, and never replaced by the StatefulSet controller: the operator
    decides which pod is replaced when (OnDelete; docs/adr/20261121-first-boot.md). PVCs outlive it.
    """
    spec = {
        "serviceName": names.headless_service(resolved.name),
        "replicas": shape.replicas,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "selector": {"matchLabels": resolved.pool.selector},
        "template": with_marks(
            resolved,
            pod_template(
                resolved, digest=shape.digest, reload=shape.reload, first_boot=shape.first_boot
            ),
        ),
        "volumeClaimTemplates": [_claim(resolved, shape)],
    }
    annotations = {**dict(resolved.images.records), **stateful_set_marks(resolved)}
    created = shape.creation_hash
    if created is None:
        created = creation_hash(spec, shape.claim_size)
    if created:
        annotations[labels.CREATION_HASH] = created
    return cluster_object(
        resolved,
        STATEFUL_SET,
        resolved.pool.stateful_set,
        {"spec": spec},
        annotations=annotations,
    )


def _claim(resolved: Resolved, shape: Shape) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": shape.claim_size}},
    }
    if shape.claim_class is not None:
        spec["storageClassName"] = shape.claim_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": names.DATA_VOLUME,
            "labels": labels.base(resolved.name),
            # A PVC has no owner reference, so that it outlives the cluster. The annotation is the
            # evidence of ownership when a deletion policy deletes it.
            "annotations": {labels.OWNER_UID: resolved.owner.uid},
        },
        "spec": spec,
    }


@memoize
def disruption_budget(resolved: Resolved, servers: int) -> Intent | None:
    """Build the budget: at most one voter disrupted at a time. None below QUORUM_FLOOR `servers`.

    From QUORUM_FLOOR voters on, all but one are a majority, so the budget is correct at each step
    of a scaling.
    """
    if servers < QUORUM_FLOOR:
        return None
    return cluster_object(
        resolved,
        POD_DISRUPTION_BUDGET,
        names.pod_disruption_budget(resolved.name),
        {
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": labels.voters(resolved.name)},
            }
        },
    )
