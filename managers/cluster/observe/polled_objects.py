"""How many StatefulSets, pods and volumes a poll reads, and which ones do not change. Pure.

Called by managers.cluster.observe.polling. A name and a label prove nothing: any editor of a
namespace can write both, and each accepted ordinal costs two requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from managers.context.context import MARKS
from runtime.apply.ownership import Owner, Ownership, ownership_of
from runtime.builtin_kinds import POD
from runtime.types import Object, ObjectKey, Resource


@dataclass(frozen=True, slots=True)
class PolledKind:
    """One kind of object of one pool of servers, with one object per ordinal."""

    resource: Resource
    name: Callable[[int], str]
    pool: ObjectKey
    """Key of the StatefulSet."""
    least: int
    """Number of ordinals that are always read."""
    most: int
    """Maximum number of servers in a spec: a higher number of the StatefulSet is ignored."""
    age: float

    def steady(self, live: Object) -> bool:
        """Report whether Kubernetes has completed its changes of the object."""
        return _is_ready(live) if self.resource == POD else _is_bound(live)


def replicas_of(live: Object | None, owner: Owner, most: int) -> int:
    """Read the replicas of a StatefulSet; 0 for one with another owner.

    Never more than `most`: the next apply corrects a higher number, before so many pods exist.
    """
    if live is None or ownership_of(live, owner, MARKS) is Ownership.FOREIGN:
        return 0
    return min(int(live["spec"].get("replicas", 1)), most)


def _is_ready(pod: Object) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in (pod.get("status") or {}).get("conditions") or ()
    )


def _is_bound(pvc: Object) -> bool:
    return (pvc.get("status") or {}).get("phase") == "Bound"
