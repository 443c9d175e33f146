"""Objects of a cluster that this operator did not write last. Pure.

Each object that it applies carries a digest of the applied intent (`openbao.org/intent-hash`), and
so does the pod template of its StatefulSets. The public Go operator uses the same names, labels and
field manager, but sets neither digest. Called by `managers.cluster.observe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from contracts.naming import labels, names
from contracts.records.foreign_stateful_set import ForeignObject, ForeignStatefulSet, Pairs
from contracts.records.observed import StatefulSetFacts
from managers.context.context import MARKS
from managers.workload.objects.pod import CONTAINER
from runtime.apply.ownership import OWNER_INDEX, Owner, Ownership, ownership_of
from runtime.types import Object, Resource, annotations_of, key_of, labels_of

if TYPE_CHECKING:
    # A command line reads objects, and has no caches.
    from runtime.cache.cache import Cache

POOL_LABELS = (*labels.base(""), labels.COMPONENT, labels.WORKLOAD_POOL, labels.REVISION)


def is_foreign(live: Object) -> bool:
    """Report whether an object of a cluster was never applied by this operator."""
    return labels.INTENT_HASH not in annotations_of(live)


def pool_labels(pod: Object) -> Pairs:
    """Read the labels by which StatefulSets, Services and policies find a pod."""
    present = labels_of(pod)
    return tuple((key, present[key]) for key in sorted(POOL_LABELS) if key in present)


def foreign_stateful_set(live: Object) -> ForeignStatefulSet | None:
    """Read a StatefulSet that another operator created; None for one of this operator."""
    spec = live["spec"]
    template = spec["template"]
    # One mark is enough: a user who removes the other by accident must not stop rollouts.
    if not is_foreign(live) or labels.TEMPLATE_HASH in annotations_of(template):
        return None
    selector = spec.get("selector") or {}
    status = live.get("status") or {}
    return ForeignStatefulSet(
        selector=tuple(sorted((selector.get("matchLabels") or {}).items())),
        expressions=bool(selector.get("matchExpressions")),
        service=spec.get("serviceName") or "",
        claims=tuple(pvc["metadata"]["name"] for pvc in spec.get("volumeClaimTemplates") or ()),
        data_path=_data_path(template["spec"]),
        policy=spec.get("podManagementPolicy") or "",
        restart_at=annotations_of(template).get(labels.RESTART_AT, ""),
        rolling=status.get("updateRevision", "") != status.get("currentRevision", ""),
    )


def _data_path(pod: Mapping[str, Any]) -> str:
    for container in pod.get("containers") or ():
        for mount in container.get("volumeMounts") or ():
            if (container["name"], mount["name"]) == (CONTAINER, names.DATA_VOLUME):
                return str(mount["mountPath"])
    return ""


def foreign_objects(
    owner: Owner,
    caches: Mapping[Resource, Cache],
    kinds: Iterable[Resource],
    stateful_set: StatefulSetFacts | None,
) -> tuple[ForeignObject, ...]:
    """Name the objects of these kinds that another operator wrote last.

    Empty unless the StatefulSet is one of them: otherwise the operator simply overwrites them.
    """
    if stateful_set is None or stateful_set.foreign is None:
        return ()
    return tuple(
        sorted(
            (
                (kind, key_of(live))
                for kind in kinds
                if kind in caches
                for live in caches[kind].by_index(OWNER_INDEX, owner.uid)
                if is_foreign(live) and ownership_of(live, owner, MARKS) is not Ownership.FOREIGN
            ),
            key=str,
        )
    )
