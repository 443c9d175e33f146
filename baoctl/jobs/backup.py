"""`baoctl job backup`: uploads one snapshot from the leader of a cluster to its store.

Uses leader_client, snapshot.upload, store.store and retention. Called by baoctl.jobs.main. The
manifest is written last: without it, an object in the store does not count as a snapshot.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

import structlog

from baoctl.jobs.context import JobContext
from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import Leader, LeaderSession, find_leader, open_session
from baoctl.jobs.retention import RetentionResult, retain
from baoctl.jobs.snapshot.upload import StoredSnapshot, take
from baoctl.jobs.store.store import JobStore, open_store
from contracts.api.job_result import BackupReport
from contracts.jobs.env import BackupEnv
from contracts.jobs.snapshot_manifest import Manifest
from contracts.naming import snapshot_keys
from contracts.naming.snapshot_keys import BackupKey
from contracts.snapshot_digest import MOUNTS_PATH, content_digest, mounts_digest
from managers.bao.client import BaoError, Denied

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Content:
    """Digests of the data, for restore tests; "" for data that changed or cannot be read."""

    mounts: str = ""
    canary: str = ""

    def unchanged(self, other: _Content) -> _Content:
        """Drop the digests that differ: the snapshot may contain the old or the new content."""
        return _Content(
            self.mounts if self.mounts == other.mounts else "",
            self.canary if self.canary == other.canary else "",
        )


async def back_up(env: BackupEnv, context: JobContext) -> BackupReport:
    """Take one snapshot, then remove outdated ones. Raises JobFailure if no snapshot is stored."""
    start = context.clock.monotonic()
    key = _key(env)
    async with open_store(env.store, context.environ, context.policy) as store:
        # Before the upload: the files may fill the volume. No other job of the cluster uploads now.
        partial = await store.delete_partial(snapshot_keys.list_prefix(*key.place))
        if partial:
            log.info("partial uploads deleted", files=partial)
        manifest = await _store_one(env, context, store)
        seconds = context.clock.monotonic() - start
        log.info("snapshot stored", key=env.key, size=manifest.size, seconds=round(seconds, 3))
        retention = await _remove_outdated(env, context, store, key)
    return BackupReport(
        outcome="Succeeded",
        snapshot=manifest.as_status(),
        seconds=round(seconds, 3),
        deleted=retention.deleted,
        retention_message=retention.message[:1024],
    )


def _key(env: BackupEnv) -> BackupKey:
    key = snapshot_keys.parse(env.key)
    expected = snapshot_keys.list_prefix(
        env.store.path_prefix, env.server.namespace, env.server.cluster
    )
    if key is None or not env.key.startswith(expected):
        raise JobFailure("Config", f"BACKUP_KEY={env.key!r}: is not a key below {expected}")
    return key


async def _store_one(env: BackupEnv, context: JobContext, store: JobStore) -> Manifest:
    async with open_session(env.server, context.clock, context.addresses) as session:
        taken_at = context.clock.now()
        before = await _content(env, session)
        snapshot = await take(store, session, env.key)
        try:
            await _check_size(store, env.key, snapshot)
            await _check_source(env, context, session)
            content = before.unchanged(await _content(env, session))
            manifest = _manifest(env, session.leader, snapshot, content, taken_at)
            await store.write(snapshot_keys.manifest_key(env.key), manifest.to_bytes())
        except (JobFailure, asyncio.CancelledError) as error:
            await _delete_unfinished(store, env.key, error)
            raise
    return manifest


async def _check_size(store: JobStore, key: str, snapshot: StoredSnapshot) -> None:
    size = await store.size(key)
    if size != snapshot.size:
        stored = "no object" if size is None else f"{size} bytes"
        raise JobFailure(
            "Verification", f"{key}: the job sent {snapshot.size} bytes, but the store has {stored}"
        )


async def _check_source(env: BackupEnv, context: JobContext, session: LeaderSession) -> None:
    """Check that the cluster id and the version did not change during the snapshot."""
    try:
        after = (
            await find_leader(session.bao, env.server, context.clock, context.addresses)
        ).health
    except JobFailure:
        # The snapshot is complete, and a cluster that lost its leader may soon need it.
        return
    before = session.leader.health
    if (after.cluster_id, after.version) != (before.cluster_id, before.version):
        raise JobFailure(
            "Verification",
            "the cluster changed while the snapshot was taken: from "
            f"{before.cluster_id} with OpenBao {before.version} to {after.cluster_id} with "
            f"{after.version}",
        )


async def _content(env: BackupEnv, session: LeaderSession) -> _Content:
    address, token = session.leader.address, session.token
    try:
        mounts = mounts_digest(await session.bao.read(address, token, MOUNTS_PATH))
    except (Denied, BaoError) as error:
        # A role of an older release may lack this permission; the snapshot is valid without it.
        log.info("the secret engines cannot be read", error=str(error))
        mounts = ""
    if not env.canary_path:
        return _Content(mounts)
    try:
        canary = content_digest(await session.bao.read(address, token, env.canary_path))
    except (Denied, BaoError) as error:
        log.info("the canary cannot be read", path=env.canary_path, error=str(error))
        canary = ""
    return _Content(mounts, canary)


def _manifest(
    env: BackupEnv, leader: Leader, snapshot: StoredSnapshot, content: _Content, taken_at: datetime
) -> Manifest:
    return Manifest(
        key=env.key,
        size=snapshot.size,
        digest=snapshot.digest,
        cluster_id=leader.health.cluster_id,
        version=leader.health.version,
        index=snapshot.meta.index,
        term=snapshot.meta.term,
        namespace=env.server.namespace,
        cluster=env.server.cluster,
        cluster_uid=env.cluster_uid,
        backup=env.backup_name,
        taken_at=taken_at.isoformat(timespec="seconds"),
        seal=env.seal,
        mounts=content.mounts,
        canary=content.canary,
        canary_path=env.canary_path if content.canary else "",
    )


async def _delete_unfinished(store: JobStore, key: str, error: BaseException) -> None:
    """Delete an object without a manifest; if it remains, it does not count as a snapshot."""
    reason = await store.discard(key)
    if not reason:
        return
    log.warning("an unfinished snapshot may remain in the store", key=key, reason=reason)
    if isinstance(error, JobFailure):
        text = f"{error}; the object may remain in the store, and does not count as a snapshot"
        raise JobFailure(error.failure, text) from None


async def _remove_outdated(
    env: BackupEnv, context: JobContext, store: JobStore, key: BackupKey
) -> RetentionResult:
    try:
        retention = await retain(store, env.retention, key, env.cluster_uid, context.clock)
    except asyncio.CancelledError:
        # The job was stopped, but the snapshot exists: report success.
        return RetentionResult(message="retention stopped, because the job was stopped")
    if retention.deleted or retention.message:
        log.info("retention finished", deleted=retention.deleted, message=retention.message)
    return retention
