"""Pods and budgets for tests of evictions, with any API server."""

from collections.abc import Mapping
from typing import Any

from runtime.builtin_kinds import POD, POD_DISRUPTION_BUDGET
from runtime.client.client import Client
from runtime.types import Object, ObjectKey, Resource

# The status of the budget if two more pods are ready, and if one of them is not.
OPEN = {"desiredHealthy": 2, "currentHealthy": 3, "expectedPods": 3, "disruptionsAllowed": 1}
CLOSED = {"desiredHealthy": 2, "currentHealthy": 2, "expectedPods": 3, "disruptionsAllowed": 0}


async def make_pod(
    client: Client, namespace: str, number: int, *, ready: bool = True, phase: str = "Running"
) -> Object:
    """Create a pod with a status."""
    body: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": f"x-{number}", "labels": {"app": "x"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "automountServiceAccountToken": False,
            # An unscheduled pod is deleted immediately.
            "terminationGracePeriodSeconds": 0,
        },
    }
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return await _make(client, POD, body, {"phase": phase, "conditions": conditions})


async def make_budget(
    client: Client,
    namespace: str,
    counted: Mapping[str, Any] | None = None,
    *,
    name: str = "x",
    observed: int = 1,
) -> Object:
    """Create a budget that permits one disruption of `x`, optionally with a status."""
    body: Object = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    status = {**counted, "observedGeneration": observed} if counted is not None else None
    return await _make(client, POD_DISRUPTION_BUDGET, body, status)


async def _make(client: Client, resource: Resource, body: Object, status: Object | None) -> Object:
    made = await client.create(resource, body, field_manager="test")
    if status is None:
        return made
    stated = {key: body[key] for key in ("apiVersion", "kind", "metadata")} | {"status": status}
    response = await client.apply(
        resource, stated, field_manager="controller", force=True, subresource="status"
    )
    return response.object


async def is_there(client: Client, namespace: str, number: int) -> bool:
    """Whether a pod exists and is not terminating."""
    pods = await client.list(POD, namespace)
    return any(
        item["metadata"]["name"] == f"x-{number}" and "deletionTimestamp" not in item["metadata"]
        for item in pods.items
    )


def key(namespace: str, number: int) -> ObjectKey:
    """The key of a pod."""
    return ObjectKey(namespace, f"x-{number}")
