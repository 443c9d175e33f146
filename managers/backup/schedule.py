"""The reconciler of a cluster's backups: schedule, manual triggers, counts and history.

It creates OpenBaoBackup objects, and never a Job. Composed by `baoctl.controllers.backup`; called
by `runtime.controller.controller` with the key of one cluster at a time. No other reconciler writes
`status.backup`, except for its field `restoreTest`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import structlog

from contracts.api.backup import TERMINAL, OpenBaoBackup
from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.api.violation import InvalidClusterError
from contracts.jobs import backup_request
from contracts.naming import labels
from contracts.pause import resumed_at
from managers.backup.accounting import count_backup, to_count
from managers.backup.caches import BackupCaches
from managers.backup.cluster_status import BackupRecord, Change, backup_status_of
from managers.backup.dependencies import BackupDependencies
from managers.backup.lost_locks import LostLocks
from managers.backup.metrics import BackupMetrics
from managers.backup.schedule_plan import (
    history,
    last_scheduled,
    overdue,
    tick,
    unfinished_backup,
    with_attempt,
    with_schedule,
)
from runtime.errors import AlreadyExists, Conflict, NotFound, PatchFailed
from runtime.outcome import Done, Outcome, combine
from runtime.types import Object, ObjectKey, Request, annotations_of, is_terminating, key_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

MANAGER: Final = "openbao-operator-schedule"
LONGEST_SLEEP: Final = 600.0
"""Longest interval in seconds between two reconciles, because the clock may be adjusted."""
TOKEN_MAX: Final = 253


class ScheduleReconciler:
    """Creates the backups that are due, and records their results."""

    def __init__(
        self, caches: BackupCaches, dependencies: BackupDependencies, metrics: BackupMetrics
    ) -> None:
        self._caches = caches
        self._client = dependencies.client
        self._events = dependencies.events
        self._clock = dependencies.clock
        self._metrics = metrics
        self._lost_locks = LostLocks(caches, dependencies)
        self._record = BackupRecord(dependencies.client, caches.clusters)

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile once. Raises transient errors, which the controller retries with backoff."""
        live = self._caches.clusters.get(request)
        if live is None:
            self._metrics.forget(request)
            return Done()
        self._metrics.start(request)
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler reports the invalid spec.
            return Done()
        try:
            return await self._pass(live, cluster)
        except NotFound:
            # The cluster was deleted meanwhile.
            return Done()

    async def _pass(self, live: Object, cluster: OpenBaoCluster) -> Outcome:
        if cluster.spec.paused and not is_terminating(live):
            return Done()
        freed = Done(await self._lost_locks.free(live))
        if is_terminating(live):
            return freed
        live = await self._count(live)
        live = await self._handle_trigger(live, cluster)
        live, sleep = await self._run_schedule(live, cluster)
        await self._prune(live, cluster)
        return combine(freed, Done(sleep))

    # --- counts ---------------------------------------------------------------------------------

    async def _count(self, live: Object) -> Object:
        last = backup_status_of(live).last_counted
        for backup in to_count(self._caches.backups_of(key_of(live)), uid_of(live), last):
            uncounted = backup_status_of(live).last_counted != backup.metadata.uid
            live = await self._record.change(live, _count_of(backup))
            if uncounted:
                self._metrics.ended(key_of(live), backup)
            await self._mark_counted(backup)
        return live

    async def _mark_counted(self, backup: OpenBaoBackup) -> None:
        key = ObjectKey(backup.metadata.namespace, backup.metadata.name)
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": backup.metadata.uid},
            {"op": "add", "path": "/status/counted", "value": True},
        ]
        with suppress(NotFound, PatchFailed):
            marked = await self._client.json_patch(
                BACKUPS, key, ops, field_manager=MANAGER, subresource="status"
            )
            self._caches.backups.observe(marked)

    # --- triggers -----------------------------------------------------------------------------

    async def _handle_trigger(self, live: Object, cluster: OpenBaoCluster) -> Object:
        """Create the backup that the annotation requests, or report why it is not created."""
        annotations, cluster_key = annotations_of(live), key_of(live)
        token = annotations.get(labels.TRIGGER_BACKUP, "")
        if not token:
            return live
        previous = annotations.get(labels.BACKUP_TRIGGERED, "")
        desired = backup_request.for_trigger(
            *cluster_key, uid_of(live), token[:TOKEN_MAX], previous
        )
        backup = self._caches.backups.get(key_of(desired))
        if backup is None:
            refusal = self._refusal(cluster_key, cluster)
            if refusal:
                self._events.event(live, "Warning", "BackupSkipped", refusal)
                log.info("backup trigger skipped", audit=True, event_type="backup_skipped")
                return await self._remove_trigger(live, token, None)
            backup = await self._create(desired)
        name = key_of(backup).name
        live = await self._record.change(live, self._acknowledge_trigger(token[:TOKEN_MAX]))
        live = await self._remove_trigger(live, token, name)
        message = f"Created OpenBaoBackup {name}"
        self._events.event(live, "Normal", "BackupManualTriggerAccepted", message)
        return live

    def _refusal(self, cluster_key: ObjectKey, cluster: OpenBaoCluster) -> str:
        if cluster.spec.backup is None:
            return f"annotation {labels.TRIGGER_BACKUP} was removed: spec.backup is not set"
        unfinished = unfinished_backup(self._caches.backups_of(cluster_key))
        if unfinished is None:
            return ""
        return (
            f"annotation {labels.TRIGGER_BACKUP} was removed: OpenBaoBackup "
            f"{unfinished.metadata.name} has not ended; set the annotation again after that"
        )

    def _acknowledge_trigger(self, token: str) -> Change:
        now = self._clock.now()

        def change(status: BackupStatus) -> BackupStatus:
            handled = {"last_handled_manual_trigger": token}
            return with_attempt(status, None, now).model_copy(update=handled)

        return change

    async def _remove_trigger(self, live: Object, token: str, backup_name: str | None) -> Object:
        """Remove the annotation and store the name of the created backup, in one write."""
        trigger, triggered = (
            "/metadata/annotations/" + name.replace("/", "~1")
            for name in (labels.TRIGGER_BACKUP, labels.BACKUP_TRIGGERED)
        )
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
            {"op": "test", "path": trigger, "value": token},
            {"op": "remove", "path": trigger},
        ]
        if backup_name is not None:
            ops.append({"op": "add", "path": triggered, "value": backup_name})
        try:
            live = await self._client.json_patch(CLUSTERS, key_of(live), ops, field_manager=MANAGER)
        except PatchFailed:
            # The annotation changed meanwhile; that change triggers another reconcile.
            return live
        self._caches.clusters.observe(live)
        return live

    # --- schedule -----------------------------------------------------------------------------

    async def _run_schedule(
        self, live: Object, cluster: OpenBaoCluster
    ) -> tuple[Object, float | None]:
        """Create the backup that is due; return the seconds until the next reconcile."""
        if not cluster.status.initialized or cluster.spec.hibernate:
            # Later one backup covers all missed times.
            return live, None
        spec, now = cluster.spec.backup, self._clock.now()
        backups = [*self._caches.backups_of(key_of(live))]
        unfinished = any(
            backup.spec.scheduled_time and backup.status.phase not in TERMINAL for backup in backups
        )
        try:
            if tick(spec, backup_status_of(live), now, unfinished=unfinished).due is not None:
                # The cache may be behind: the previous leader may have created the backup.
                live = await self._client.get(CLUSTERS, key_of(live))
            due = tick(spec, backup_status_of(live), now, unfinished=unfinished).due
            late = overdue(spec, backups, now, resumed_at(cluster, now))
        except ValueError:
            # The schedule is older than its validation rule; the workload reconciler reports it.
            return live, None
        if due is not None:
            await self._create(backup_request.for_schedule(*key_of(live), due))
        last = last_scheduled(backups, due)

        def change(status: BackupStatus) -> BackupStatus:
            current = tick(spec, status, now, unfinished=unfinished or due is not None)
            after = with_schedule(spec, status, current)
            after = after.model_copy(update={"overdue_since": late.since})
            last_attempt = status.last_attempt_scheduled_time
            is_new = last is not None and (last_attempt is None or last > last_attempt)
            return with_attempt(after, last, now) if is_new else after

        live = await self._record.change(live, change)
        times = (backup_status_of(live).next_scheduled_backup, late.overdue_at)
        waits = [(time - now).total_seconds() for time in times if time is not None]
        return live, min((*waits, LONGEST_SLEEP)) if waits else None

    async def _create(self, desired: Object) -> Object:
        """Create an OpenBaoBackup, or return the one of an earlier attempt."""
        try:
            created = await self._client.create(BACKUPS, desired, field_manager=MANAGER)
        except AlreadyExists:
            return await self._client.get(BACKUPS, key_of(desired))
        self._caches.backups.observe(created)
        return created

    # --- history ------------------------------------------------------------------------------

    async def _prune(self, live: Object, cluster: OpenBaoCluster) -> None:
        cluster_key = key_of(live)
        restored = self._caches.restored_keys(cluster_key.namespace)
        backups = [*self._caches.backups_of(cluster_key)]
        for backup in history(backups, cluster.spec.backup, restored):
            key = ObjectKey(backup.metadata.namespace, backup.metadata.name)
            with suppress(NotFound, Conflict):
                await self._client.delete(BACKUPS, key, uid=backup.metadata.uid)


def _count_of(backup: OpenBaoBackup) -> Change:
    return lambda status: count_backup(status, backup)
