"""A cluster of three servers as a rig had it, and changes to it: what the verbs read."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from baoctl.commands.cluster.observed import ClusterObservation, Operator
from runtime.types import Object

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
RECORDED = Path(__file__).parent / "recorded"


@lru_cache
def _recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / "healthy.json").read_text(encoding="utf-8"))
    return found


def lease(ago: timedelta = timedelta(seconds=3)) -> Object:
    """The Lease of an operator that renewed it so long ago."""
    found: Object = copy.deepcopy(_recorded()["lease"])
    renewed = (NOW - ago).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    found["spec"] |= {"renewTime": renewed, "leaseDurationSeconds": 15}
    return found


def healthy() -> ClusterObservation:
    """The cluster, with an operator that works."""
    found = copy.deepcopy(_recorded())
    name = found["cluster"]["metadata"]["name"]
    return ClusterObservation(
        now=NOW,
        cluster=found["cluster"],
        pods=tuple(found["pods"]),
        secrets=tuple(f"{name}-{one}" for one in ("root-token", "tls-ca", "unseal-key")),
        operator=Operator("operators", lease=lease(), policies=("openbao-operator-x",)),
    )


def having(seen: ClusterObservation, **status: Any) -> ClusterObservation:
    """The cluster with other fields of its status."""
    return replace(seen, cluster={**seen.cluster, "status": {**seen.cluster["status"], **status}})


def wanting(seen: ClusterObservation, **spec: Any) -> ClusterObservation:
    """The cluster with other fields of its spec."""
    return replace(seen, cluster={**seen.cluster, "spec": {**seen.cluster["spec"], **spec}})


def stating(
    seen: ClusterObservation, kind: str, status: str, reason: str, message: str, **more: Any
) -> ClusterObservation:
    """The cluster with one other condition."""
    kept = [one for one in seen.cluster["status"]["conditions"] if one["type"] != kind]
    made = {"type": kind, "status": status, "reason": reason, "message": message, **more}
    return having(seen, conditions=[*kept, made])


def with_pod(
    seen: ClusterObservation, ordinal: int, *, state: Object | None = None, **more: Any
) -> ClusterObservation:
    """The cluster with one server that is not ready; `state` is that of its container."""
    pods = list(copy.deepcopy(seen.pods))
    pod = pods[ordinal]
    for one in pod["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one["status"] = "False"
    container = pod["status"]["containerStatuses"][0]
    container |= {"ready": False, **({"state": state} if state else {}), **more}
    return replace(seen, pods=tuple(pods))
