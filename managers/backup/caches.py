"""Caches of the two backup reconcilers: clusters, backups and restores, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from contracts.api.backup import TERMINAL, OpenBaoBackup
from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import Operation
from contracts.api.restore import ENDED, OpenBaoRestore
from contracts.api.violation import InvalidClusterError
from runtime.cache.cache import Cache
from runtime.memo import memoize
from runtime.types import Object, ObjectKey, is_terminating, key_of, uid_of

BY_CLUSTER: Final = "cluster"
"""Index of backups and restores by the key of their cluster."""

CACHE_SIZE: Final = 512
"""Number of cached parsed backups, and restores: a reconcile reads all those of its cluster."""

BEFORE_LOCK: Final = (None, "Pending", "Validating")
"""Phases in which a restore may wait for its snapshot; it takes the lock after that."""

read_backup = memoize(OpenBaoBackup.from_object, size=CACHE_SIZE, slot=uid_of)
_read_restore = memoize(OpenBaoRestore.from_object, size=CACHE_SIZE, slot=uid_of)


def cluster_keys(obj: Object) -> Iterable[ObjectKey]:
    """Return the key of the cluster that a backup or a restore names, or nothing."""
    spec = obj.get("spec")
    name = spec.get("cluster") if isinstance(spec, dict) else None
    return (ObjectKey(key_of(obj).namespace, name),) if isinstance(name, str) else ()


def cluster_named(obj: Object) -> Iterable[str]:
    """Return the keys of `cluster_keys` as text: the index function."""
    return map(str, cluster_keys(obj))


class BackupCaches:
    """The caches of clusters, backups and restores."""

    def __init__(self, clusters: Cache, backups: Cache, restores: Cache) -> None:
        self.clusters = clusters
        self.backups = backups
        self.restores = restores
        backups.add_index(BY_CLUSTER, cluster_named)
        restores.add_index(BY_CLUSTER, cluster_named)

    def cluster(self, key: ObjectKey) -> OpenBaoCluster | None:
        """Return the cluster; None if it does not exist, is being deleted, or is invalid."""
        live = self.clusters.get(key)
        if live is None or is_terminating(live):
            return None
        try:
            return read_cluster(live)
        except InvalidClusterError:
            return None

    def live_backups(self, cluster: ObjectKey) -> list[Object]:
        """Return the OpenBaoBackups of a cluster that are not being deleted."""
        backups = self.backups.by_index(BY_CLUSTER, str(cluster))
        return [live for live in backups if not is_terminating(live)]

    def backups_of(self, cluster: ObjectKey) -> Iterator[OpenBaoBackup]:
        """Yield the live backups of a cluster, parsed, without invalid ones."""
        for live in self.live_backups(cluster):
            try:
                yield read_backup(live)
            except InvalidClusterError:
                continue

    def restores_of(self, cluster: ObjectKey) -> Iterator[OpenBaoRestore]:
        """Yield the unfinished restores of a cluster."""
        for live in self.restores.by_index(BY_CLUSTER, str(cluster)):
            try:
                restore = _read_restore(live)
            except InvalidClusterError:
                continue
            if restore.status.phase not in ENDED:
                yield restore

    def waiting(self, cluster: ObjectKey, *, upgrades: bool) -> frozenset[Operation]:
        """Return the operations that are requested for a cluster and have not ended."""
        operations: set[Operation] = {"Upgrade"} if upgrades else set()
        # A restore whose snapshot is pending comes later: a backup that waited for it would wait
        # for itself.
        if any(not self._is_snapshot_pending(restore) for restore in self.restores_of(cluster)):
            operations.add("Restore")
        return frozenset(operations)

    def _is_snapshot_pending(self, restore: OpenBaoRestore) -> bool:
        """Return whether a restore waits, without the lock, for a backup that has not ended."""
        name = restore.spec.source.backup
        if restore.status.phase not in BEFORE_LOCK or name is None:
            return False
        live = self.backups.get(ObjectKey(restore.metadata.namespace, name))
        return live is not None and (live.get("status") or {}).get("phase") not in TERMINAL

    def restored_keys(self, namespace: str) -> tuple[str, ...]:
        """Return the keys of the snapshots that unfinished restores of the namespace read."""
        keys = []
        for live in self.restores.list(namespace):
            try:
                restore = _read_restore(live)
            except InvalidClusterError:
                continue
            if restore.status.phase in ENDED:
                continue
            backup = self.backups.get(ObjectKey(namespace, restore.spec.source.backup or ""))
            keys += [restore.spec.source.key, (backup or {}).get("status", {}).get("key")]
        return tuple(dict.fromkeys(key for key in keys if key))
