"""OpenBaoBackups that the operator creates: for the schedule, for a trigger, for an upgrade.

Uses contracts.api and contracts.naming.names. Called by managers.backup, and by managers.upgrade
for a snapshot before an upgrade: managers.backup then runs it, and `status.phase` shows the result.
Each name is derived from its purpose, so a repeated creation adds no second object.
"""

from datetime import UTC, datetime
from typing import Any

from contracts.api.backup import Origin
from contracts.api.group import BACKUPS
from contracts.naming import labels, names
from runtime.types import Object

ORIGIN_LABELS: dict[Origin, str] = {
    "Manual": "manual",
    "Scheduled": "scheduled",
    "PreUpgrade": "pre-upgrade",
}


def for_schedule(namespace: str, cluster: str, scheduled: datetime) -> Object:
    """Build the OpenBaoBackup for a time of the schedule (aware)."""
    name = names.scheduled_backup(cluster, scheduled)
    moment = scheduled.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _object((namespace, cluster, name), "Scheduled", {"scheduledTime": moment}, {})


def for_trigger(namespace: str, cluster: str, uid: str, trigger: str, before: str) -> Object:
    """Build the OpenBaoBackup for a trigger annotation; see names.triggered_backup."""
    name = names.triggered_backup(cluster, uid, trigger, before)
    return _object((namespace, cluster, name), "Manual", {}, {labels.BACKUP_TRIGGER: trigger})


def before_upgrade(namespace: str, cluster: str, uid: str, upgrade: str) -> Object:
    """Build the OpenBaoBackup before an upgrade, which holds the operation lock during it."""
    name = names.pre_upgrade_backup(cluster, uid, upgrade)
    return _object((namespace, cluster, name), "PreUpgrade", {}, {})


def _object(
    identity: tuple[str, str, str],
    origin: Origin,
    more: dict[str, Any],
    annotations: dict[str, str],
) -> Object:
    namespace, cluster, name = identity
    return {
        "apiVersion": BACKUPS.api_version,
        "kind": BACKUPS.kind,
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {**labels.base(cluster), labels.BACKUP_TYPE: ORIGIN_LABELS[origin]},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {"cluster": cluster, "origin": origin, **more},
    }
