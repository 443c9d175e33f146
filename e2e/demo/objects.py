"""Accessors for Kubernetes objects as plain dicts. Pure."""

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]


def name_of(obj: Object) -> str:
    """Return metadata.name."""
    name: str = obj["metadata"]["name"]
    return name


def uid_of(obj: Object) -> str:
    """Return metadata.uid, "" for an object that was not created yet."""
    return str(obj["metadata"].get("uid", ""))


def labels_of(obj: Object) -> dict[str, str]:
    """Return metadata.labels."""
    return obj["metadata"].get("labels") or {}


def is_terminating(obj: Object) -> bool:
    """Whether it has a deletionTimestamp."""
    return "deletionTimestamp" in obj["metadata"]


def status_of(obj: Object) -> Object:
    """Return status, {} if it is not set."""
    return obj.get("status") or {}


def condition(obj: Object, kind: str) -> Object | None:
    """Return the condition of this type."""
    for entry in status_of(obj).get("conditions") or ():
        if entry.get("type") == kind:
            return dict(entry)
    return None


def holds(obj: Object, kind: str) -> bool:
    """Whether the condition is True for the current generation.

    A condition or status without observedGeneration, as of pods, counts as current.
    """
    entry = condition(obj, kind)
    if entry is None or entry.get("status") != "True":
        return False
    generation = obj["metadata"].get("generation", 0)
    generations = (entry.get("observedGeneration"), status_of(obj).get("observedGeneration"))
    return all(observed is None or observed >= generation for observed in generations)


def is_ready(pod: Object) -> bool:
    """Whether a pod is Ready and not terminating."""
    return holds(pod, "Ready") and not is_terminating(pod)


def by_name(objects: Iterable[Object]) -> list[Object]:
    """Return the objects sorted by name."""
    return sorted(objects, key=name_of)
