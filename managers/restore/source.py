"""Resolves the snapshot of a restore: its location and expected properties. Pure.

Called by managers.restore.observe with stored objects, which may be older than the validation
rules of the API server.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.api.backup import TERMINAL, InvalidBackupError, OpenBaoBackup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.restore import OpenBaoRestore
from contracts.api.rules.restore import hardened_violations, restore_violations
from contracts.api.violation import Violation
from managers.restore.inputs import ExpectedSnapshot, RestoreFailure, SnapshotSource
from runtime.types import Object

UNAVAILABLE = "SnapshotUnavailable"
OTHER_CLUSTER = "SnapshotOfAnotherCluster"
_AT = "spec.source.backup"


def spec_failure(restore: OpenBaoRestore, cluster: OpenBaoCluster | None) -> RestoreFailure | None:
    """Validate the spec against the rules of the API and those of its cluster for stores."""
    if (restore.metadata.generation or 0) > 1:
        return RestoreFailure(
            "InvalidSpec", "spec: was changed after its creation; create another OpenBaoRestore"
        )
    violations: Iterable[Violation] = restore_violations(restore)
    if not violations and cluster is not None:
        violations = hardened_violations(restore, cluster)
    message = "; ".join(str(violation) for violation in violations)
    return RestoreFailure("InvalidSpec", message) if message else None


def inline_source(restore: OpenBaoRestore) -> SnapshotSource | None:
    """Return the store and key from the spec; None if it names a backup."""
    source = restore.spec.source
    if source.target is None or source.key is None:
        return None
    return SnapshotSource(source.key, source.target, _expected(restore))


def backup_of(restore: OpenBaoRestore, live: Object | None) -> OpenBaoBackup | RestoreFailure:
    """Read the backup that the spec names, or return why it has no snapshot."""
    name = restore.spec.source.backup
    if live is None:
        return RestoreFailure(
            UNAVAILABLE, f"{_AT}: there is no OpenBaoBackup {name} in this namespace"
        )
    try:
        backup = OpenBaoBackup.from_object(live)
    except InvalidBackupError as error:
        return RestoreFailure(UNAVAILABLE, f"{_AT}: OpenBaoBackup {name} cannot be read: {error}")
    status = backup.status
    if status.phase not in TERMINAL:
        return RestoreFailure(
            "SnapshotPending", f"waits for OpenBaoBackup {name}, which has not ended"
        )
    if status.phase != "Completed" or status.snapshot is None or not status.snapshot.key:
        return RestoreFailure(
            UNAVAILABLE, f"{_AT}: OpenBaoBackup {name} has no snapshot: {status.message}"
        )
    return backup


def backup_source(
    restore: OpenBaoRestore, backup: OpenBaoBackup, origin: OpenBaoCluster | None
) -> SnapshotSource | RestoreFailure:
    """Return the store of the cluster that the backup was taken from, and its key."""
    snapshot = backup.status.snapshot
    key = snapshot.key if snapshot else None
    if snapshot is None or not key:
        return RestoreFailure(UNAVAILABLE, f"{_AT}: the OpenBaoBackup has no snapshot")
    refusal = _of_another_cluster(restore, backup, snapshot.cluster_id or "")
    if refusal:
        return RestoreFailure(OTHER_CLUSTER, refusal)
    if origin is None or origin.spec.backup is None:
        return RestoreFailure(
            UNAVAILABLE,
            f"{_AT}: the store of the snapshot is unknown, because OpenBaoCluster "
            f"{backup.spec.cluster} does not exist or has no spec.backup: set source.target, and "
            f"source.key to {key}",
        )
    requested = _expected(restore)
    expected = ExpectedSnapshot(
        cluster_id=requested.cluster_id or snapshot.cluster_id or "",
        version=requested.version or snapshot.version or "",
        digest=requested.digest or snapshot.digest or "",
        size=requested.size or snapshot.size or 0,
    )
    store = origin.spec.backup.target
    return SnapshotSource(key, store, expected, any_cluster_id=_may_be_recreated(restore, backup))


def _may_be_recreated(restore: OpenBaoRestore, backup: OpenBaoBackup) -> bool:
    """Return whether the cluster may be newer than the snapshot and have another cluster id.

    A recreated cluster has the name of the backup's cluster. A cluster that the restore creates has
    no data to lose.
    """
    spec = restore.spec
    return backup.spec.cluster == spec.cluster or spec.cluster_template is not None


def _of_another_cluster(restore: OpenBaoRestore, backup: OpenBaoBackup, snapshot_id: str) -> str:
    """Return why the backup may not be restored into the cluster of the restore; "" if it may.

    It compares the two objects, so the user must name another cluster explicitly. The job compares
    the cluster id of the servers, which no object has, with the manifest.
    """
    spec, source = restore.spec, restore.spec.source
    if spec.force or _may_be_recreated(restore, backup):
        return ""
    named = source.expected_cluster_id or ""
    if named and named == (snapshot_id or named):
        return ""
    detail = f", and spec.source.expectedClusterID is {named}" if named else ""
    return (
        f"{_AT}: OpenBaoBackup {source.backup} is a backup of OpenBaoCluster "
        f"{backup.spec.cluster}, but spec.cluster is {spec.cluster}{detail}: choose a backup of "
        f"{spec.cluster}; or, to replace all data of {spec.cluster} with that of "
        f"{backup.spec.cluster}, set "
        f"spec.source.expectedClusterID to {snapshot_id or 'the id of that cluster'}"
    )


def _expected(restore: OpenBaoRestore) -> ExpectedSnapshot:
    source = restore.spec.source
    return ExpectedSnapshot(
        cluster_id=source.expected_cluster_id or "",
        version=source.expected_version or "",
        digest=source.expected_digest or "",
        size=source.expected_size or 0,
    )
