"""A cluster of three servers that was recorded on a rig, and changes to it: input of the verbs."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from baoctl.commands.cluster.observed import ClusterObservation, Operator
from contracts.api.group import API_VERSION, BACKUP_KIND
from contracts.naming import labels
from runtime.types import Object

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
RECORDED = Path(__file__).parent / "recorded"


@lru_cache
def _recording() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RECORDED / "healthy.json").read_text(encoding="utf-8"))
    return document


def lease(ago: timedelta = timedelta(seconds=3)) -> Object:
    """The Lease of an operator that renewed it that long ago."""
    new_lease: Object = copy.deepcopy(_recording()["lease"])
    renewed = (NOW - ago).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    new_lease["spec"] |= {"renewTime": renewed, "leaseDurationSeconds": 15}
    return new_lease


def healthy() -> ClusterObservation:
    """The cluster, with an operator that works."""
    objects = copy.deepcopy(_recording())
    name = objects["cluster"]["metadata"]["name"]
    return ClusterObservation(
        now=NOW,
        cluster=objects["cluster"],
        pods=tuple(objects["pods"]),
        secrets=tuple(f"{name}-{suffix}" for suffix in ("root-token", "tls-ca", "unseal-key")),
        operator=Operator("operators", lease=lease(), policies=("openbao-operator-x",)),
    )


def with_status(observation: ClusterObservation, **status: Any) -> ClusterObservation:
    """The cluster with other fields of its status."""
    return replace(
        observation,
        cluster={**observation.cluster, "status": {**observation.cluster["status"], **status}},
    )


def with_spec(observation: ClusterObservation, **spec: Any) -> ClusterObservation:
    """The cluster with other fields of its spec."""
    return replace(
        observation,
        cluster={**observation.cluster, "spec": {**observation.cluster["spec"], **spec}},
    )


def with_condition(
    observation: ClusterObservation, kind: str, status: str, reason: str, message: str, **more: Any
) -> ClusterObservation:
    """The cluster with one changed condition."""
    kept = [
        condition
        for condition in observation.cluster["status"]["conditions"]
        if condition["type"] != kind
    ]
    entry = {"type": kind, "status": status, "reason": reason, "message": message, **more}
    return with_status(observation, conditions=[*kept, entry])


def with_pod(
    observation: ClusterObservation, ordinal: int, *, state: Object | None = None, **more: Any
) -> ClusterObservation:
    """The cluster with one server that is not ready; `state` is that of its container."""
    pods = list(copy.deepcopy(observation.pods))
    pod = pods[ordinal]
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition["status"] = "False"
    container = pod["status"]["containerStatuses"][0]
    container |= {"ready": False, **({"state": state} if state else {}), **more}
    return replace(observation, pods=tuple(pods))


def job_pod(cluster: str = "first") -> Object:
    """The pod of a backup Job of a cluster."""
    metadata = {
        "name": f"{cluster}-backup-x",
        "namespace": "default",
        "labels": labels.component(cluster, "backup"),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def backup(name: str, cluster: str = "first", **status: Any) -> Object:
    """An OpenBaoBackup."""
    return {
        "apiVersion": API_VERSION,
        "kind": BACKUP_KIND,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"cluster": cluster},
        "status": {"phase": "Completed", **status},
    }
