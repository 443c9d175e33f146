"""Evictions: checks and updates the disruption budget of a pod.

After pkg/registry/core/pod/storage/eviction.go. There is no disruption controller: a budget without
status is computed from the current pods, and `maxUnavailable` must be a number.
"""

from typing import Any

from runtime.builtin_kinds import POD, POD_DISRUPTION_BUDGET, STATEFUL_SET
from runtime.testing.api_server.answers import Cause, RefusedAnswer
from runtime.testing.api_server.storage import ObjectStorage
from runtime.types import Object, ObjectKey, key_of

_NOT_COUNTED = frozenset({"Pending", "Succeeded", "Failed"})
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def expect_evictable(storage: ObjectStorage, pod: Object) -> None:
    """Raise RefusedAnswer if the budget does not permit the eviction of a pod; else update the
    budget."""
    if pod["metadata"].get("deletionTimestamp") or _phase(pod) in _NOT_COUNTED:
        return
    budgets = [budget for budget in storage.all(POD_DISRUPTION_BUDGET) if _covers(budget, pod)]
    if len(budgets) > 1:
        raise RefusedAnswer(500, "", _SEVERAL)
    for budget in budgets:
        _expect_open(storage, budget, pod)


def _expect_open(storage: ObjectStorage, budget: Object, pod: Object) -> None:
    name = budget["metadata"]["name"]
    status = budget.get("status") or _status_of(storage, budget)
    needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if not _ready(pod) and has >= needs > 0:
        return
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many_requests(
            f"The disruption budget {name} is still being processed by the server.", 10
        )
    if status.get("disruptionsAllowed", 0) <= 0:
        message = f"The disruption budget {name} does not allow evicting pods currently"
        if has <= needs:
            message = (
                f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
            )
        raise _too_many_requests(message, None)
    if budget.get("status"):
        left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1}
        storage.put(POD_DISRUPTION_BUDGET, key_of(budget), {**budget, "status": left})


def _too_many_requests(message: str, retry_after: int | None) -> RefusedAnswer:
    cause = Cause("DisruptionBudget", message)
    return RefusedAnswer(
        429, "TooManyRequests", _VIOLATES, causes=(cause,), retry_after=retry_after
    )


def _status_of(storage: ObjectStorage, budget: Object) -> Object:
    """The status that the disruption controller would write."""
    pods = [pod for pod in storage.all(POD) if _covers(budget, pod)]
    namespace = budget["metadata"]["namespace"]
    sets = {ref["name"] for pod in pods for ref in pod["metadata"].get("ownerReferences") or ()}
    stateful_sets = (storage.get(STATEFUL_SET, ObjectKey(namespace, name)) for name in sets)
    expected = sum(
        (stateful_set["spec"].get("replicas", 1) for stateful_set in stateful_sets if stateful_set),
        0,
    ) or len(pods)
    healthy = sum(_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)
    desired = max(0, expected - int(budget["spec"].get("maxUnavailable", 0)))
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "desiredHealthy": desired,
        "currentHealthy": healthy,
        "disruptionsAllowed": max(0, healthy - desired),
    }


def _covers(budget: Object, pod: Object) -> bool:
    match_labels: dict[str, Any] = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
    here = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    labels = pod["metadata"].get("labels") or {}
    return here and bool(match_labels) and match_labels.items() <= labels.items()


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        (condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions
    )
