"""Condition StorageConfigured. Pure; called by `managers.cluster.status.conditions`."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.api.cluster.spec import ClusterSpec
from contracts.conditions.condition import ConditionUpdate, Status
from contracts.records.observed import Observed
from managers.workload.storage.resize import VolumeSpec, storage_state

_STATUS: Mapping[str, Status] = {
    "ready": "True",
    "unknown": "Unknown",
    "progressing": "False",
    "failed": "False",
}


def storage_configured(
    cluster: str, spec: ClusterSpec, owner_uid: str, observed: Observed
) -> ConditionUpdate:
    """Report the data volumes, by the rules that the plan uses."""
    desired = VolumeSpec(cluster, owner_uid, spec.storage.size, spec.storage.storage_class_name)
    state = storage_state(desired, observed)
    return ConditionUpdate("StorageConfigured", _STATUS[state.kind], state.reason, state.message)
