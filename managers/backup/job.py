"""Builds the Job of a backup: its key, its store, and the snapshots to keep. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.backup import Backup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.values.duration import counted_duration
from contracts.builders.job import backup_job
from contracts.builders.job_store import store_env
from contracts.hcl.seal_identity import seal_identity
from contracts.jobs.backup_request import ORIGIN_LABELS
from contracts.jobs.env import BackupEnv, RetentionEnv, RunEnv
from contracts.jobs.template import JobTemplate
from contracts.naming import snapshot_keys
from contracts.naming.labels import BACKUP_TYPE
from contracts.naming.snapshot_keys import BackupKey
from contracts.snapshot_digest import DEFAULT_CANARY
from runtime.types import Object

KEEP_MAX: Final = 64
"""Maximum number of keys that a Job gets: the size of its environment is limited."""


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """The snapshots that a Job must keep. `warning`: not all of them fit; "" if they do."""

    keys: tuple[str, ...]
    warning: str = ""


def key_for(backup: OpenBaoBackup, cluster: OpenBaoCluster, now: datetime) -> str:
    """Choose the object key of a snapshot that is taken now (UTC).

    Its id is derived from the UID of the OpenBaoBackup. The time is that of the snapshot, not the
    scheduled time, because retention counts the age of the data. Raises ValueError for a cluster
    without spec.backup, and for a key that is too long.
    """
    if cluster.spec.backup is None:
        raise ValueError(f"spec.backup of {cluster.metadata.name} is not set")
    identity = hashlib.sha256(backup.metadata.uid.encode()).hexdigest()[:8]
    return snapshot_keys.make(
        cluster.spec.backup.target.path_prefix or "",
        cluster.metadata.namespace,
        cluster.metadata.name,
        now,
        identity,
        snapshot_keys.PRE_UPGRADE if backup.spec.origin == "PreUpgrade" else "",
    )


def protected_keys(
    backups: Iterable[OpenBaoBackup], restored: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the keys that retention must not remove, the most important first: those that a
    restore reads (`restored`), the newest snapshot, the newest tested one, those under test.
    """
    completed = sorted(
        (
            backup
            for backup in backups
            # Pre-upgrade snapshots are not subject to retention.
            if backup.status.phase == "Completed" and backup.spec.origin != "PreUpgrade"
        ),
        key=lambda backup: (backup_time(backup), backup.metadata.uid),
        reverse=True,
    )
    proven = [
        backup
        for backup in completed
        if backup.status.proof and backup.status.proof.outcome == "Passed"
    ]
    under_test = [backup for backup in completed if backup.status.test is not None]
    needed = [backup.status.key for backup in (*completed[:1], *proven[:1], *under_test)]
    return tuple(dict.fromkeys((*restored, *needed)))


def snapshots_to_keep(
    backup: OpenBaoBackup, cluster: OpenBaoCluster, protected: Iterable[str]
) -> KeptSnapshots:
    """Choose the snapshots that the Job of a backup must keep.

    Keys that its retention never removes are omitted: those with another prefix, or with a tag.
    """
    own = snapshot_keys.parse(backup.status.key)
    keys = tuple(key for key in protected if _is_removable(snapshot_keys.parse(key), own))
    spec = cluster.spec.backup
    if len(keys) <= KEEP_MAX or spec is None or spec.retention is None:
        return KeptSnapshots(keys[:KEEP_MAX])
    return KeptSnapshots(
        keys[:KEEP_MAX],
        f"only {KEEP_MAX} of {len(keys)} snapshots that restores or tests need are protected from "
        f"spec.backup.retention of OpenBaoCluster {cluster.metadata.name}, which may remove the "
        "others: delete OpenBaoRestores that are not needed, or set retention.dryRun",
    )


def _is_removable(key: BackupKey | None, stored: BackupKey | None) -> bool:
    return key is not None and stored is not None and key.may_delete_with(stored)


def backup_time(backup: OpenBaoBackup) -> float:
    """Return when the snapshot was taken, in seconds since 1970; 0 if the key has no time."""
    key = snapshot_keys.parse(backup.status.key)
    return key.at.timestamp() if key else 0.0


def job_for(
    backup: OpenBaoBackup,
    cluster: OpenBaoCluster,
    template: JobTemplate,
    protected: tuple[str, ...],
) -> Object:
    """Build the Job of a backup whose reservation is stored.

    Raises ValueError without spec.backup.
    """
    spec = cluster.spec.backup
    if spec is None:
        raise ValueError(f"spec.backup of {cluster.metadata.name} is not set")
    meta = backup.metadata
    env = BackupEnv(
        run=RunEnv(
            resource="openbaobackups", namespace=meta.namespace, name=meta.name, uid=meta.uid
        ),
        store=store_env(spec.target, template),
        server=template.server_env(),
        key=backup.status.key,
        backup_name=meta.name,
        cluster_uid=cluster.metadata.uid,
        seal=seal_identity(cluster),
        canary_path=_canary(spec),
        retention=_retention(spec, protected),
    )
    origin = ORIGIN_LABELS[backup.spec.origin]
    return backup_job(template, spec.target, env, more_labels={BACKUP_TYPE: origin})


def _canary(spec: Backup) -> str:
    path = spec.restore_test.canary_path if spec.restore_test else None
    return path or DEFAULT_CANARY


def _retention(spec: Backup, protected: tuple[str, ...]) -> RetentionEnv:
    rules = spec.retention
    if rules is None:
        return RetentionEnv()
    # A duration that overflows is longer than any age, so it is no limit.
    age = (rules.max_age and counted_duration(rules.max_age)) or timedelta(0)
    return RetentionEnv(
        max_count=rules.max_count,
        max_age_seconds=int(age.total_seconds()),
        dry_run=rules.dry_run,
        protected=protected,
    )
