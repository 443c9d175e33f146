"""Small Kubernetes objects for the tests of this folder."""

from typing import Any

from contracts.naming import labels
from e2e.demo.journal import Change, JournalEntry
from e2e.demo.objects import Object

NAMESPACE = "space"


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    """A condition of generation 1."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
    }


def cluster(*conditions: Object, name: str = "bao", generation: int = 1) -> Object:
    """An OpenBaoCluster that the operator has reconciled at generation 1."""
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "generation": generation},
        "status": {"observedGeneration": 1, "conditions": list(conditions)},
    }


def pod(
    name: str, *conditions: Object, state: Object | None = None, marks: dict[str, str] | None = None
) -> Object:
    """A pod with one container."""
    manifest: Object = {
        "metadata": {"name": name, "uid": name, "labels": {labels.CLUSTER: "bao", **(marks or {})}},
        "spec": {},
        "status": {"phase": "Pending", "conditions": list(conditions)},
    }
    if state is not None:
        manifest["status"]["containerStatuses"] = [{"state": state}]
    return manifest


def ready_pod(name: str) -> Object:
    """A ready pod."""
    return pod(name, {"type": "Ready", "status": "True"}, state={"running": {}})


def child(name: str, **spec: Any) -> Object:
    """An object of the cluster `bao`."""
    marks = {labels.CLUSTER: "bao", labels.MANAGED_BY: labels.OPERATOR}
    return {"metadata": {"name": name, "uid": name, "labels": marks}, "spec": spec}


def journal_entry(at: float, kind: str, obj: Object, change: Change = "MODIFIED") -> JournalEntry:
    """A journal entry at a time."""
    return JournalEntry(at, kind, change, obj)
