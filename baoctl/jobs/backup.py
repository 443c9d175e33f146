"""`baoctl job backup`: one snapshot, from the leader of a cluster into its store.

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
from baoctl.jobs.leader_client import Leader, LeaderSession, find_leader, session
from baoctl.jobs.retention import Removed, retain
from baoctl.jobs.snapshot.upload import Taken, take
from baoctl.jobs.store.store import JobStore, open_store
from contracts.api.cluster.status_backup import Snapshot
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
    """Digests of what a restore of the snapshot is compared with; "" for what cannot be read."""

    mounts: str = ""
    canary: str = ""

    def agreeing(self, other: _Content) -> _Content:
        """What did not change in between: the rest may be in the snapshot or not."""
        return _Content(
            self.mounts if self.mounts == other.mounts else "",
            self.canary if self.canary == other.canary else "",
        )


async def back_up(env: BackupEnv, here: JobContext) -> BackupReport:
    """Take one snapshot, then remove outdated ones. Raises JobFailure; then there is none."""
    began = here.clock.monotonic()
    key = _key(env)
    async with open_store(env.store, here.environ, here.policy) as store:
        manifest = await _store_one(env, here, store)
        seconds = here.clock.monotonic() - began
        log.info("snapshot stored", key=env.key, size=manifest.size, seconds=round(seconds, 3))
        removed = await _clear(env, here, store, key)
    return BackupReport(
        outcome="Succeeded",
        snapshot=_snapshot(manifest),
        seconds=round(seconds, 3),
        deleted=removed.deleted,
        retention_message=removed.message[:1024],
    )


def _key(env: BackupEnv) -> BackupKey:
    key = snapshot_keys.parse(env.key)
    expected = snapshot_keys.list_prefix(
        env.store.path_prefix, env.server.namespace, env.server.cluster
    )
    if key is None or not env.key.startswith(expected):
        raise JobFailure("Config", f"BACKUP_KEY={env.key!r}: is not a key below {expected}")
    return key


async def _store_one(env: BackupEnv, here: JobContext, store: JobStore) -> Manifest:
    async with session(env.server, here.clock, here.addresses) as at:
        taken_at = here.clock.now()
        before = await _content(env, at)
        taken = await take(store, at, env.key)
        try:
            await _check_size(store, env.key, taken)
            await _check_source(env, here, at)
            content = before.agreeing(await _content(env, at))
            manifest = _manifest(env, at.leader, taken, content, taken_at)
            await store.write(snapshot_keys.manifest_key(env.key), manifest.to_bytes())
        except (JobFailure, asyncio.CancelledError) as error:
            await _take_back(store, env.key, error)
            raise
    return manifest


async def _check_size(store: JobStore, key: str, taken: Taken) -> None:
    size = await store.size(key)
    if size != taken.size:
        kept = "nothing" if size is None else f"{size} bytes"
        raise JobFailure("Verification", f"{key}: {taken.size} bytes were sent, and {kept} is kept")


async def _check_source(env: BackupEnv, here: JobContext, at: LeaderSession) -> None:
    """The id and the version that the manifest names must be those of the whole snapshot."""
    try:
        now = (await find_leader(at.bao, env.server, here.clock, here.addresses)).health
    except JobFailure:
        # The snapshot is whole, and a cluster that lost its leader may soon need it.
        return
    was = at.leader.health
    if (now.cluster_id, now.version) != (was.cluster_id, was.version):
        raise JobFailure(
            "Verification",
            f"the cluster changed while the snapshot was taken: it was {was.cluster_id} of "
            f"{was.version} and is {now.cluster_id} of {now.version}",
        )


async def _content(env: BackupEnv, at: LeaderSession) -> _Content:
    address, token = at.leader.address, at.token
    try:
        mounts = mounts_digest(await at.bao.read(address, token, MOUNTS_PATH))
    except (Denied, BaoError) as error:
        # A role of an older first boot may not read them; the snapshot is as good without.
        log.info("the secret engines cannot be read", why=str(error))
        mounts = ""
    if not env.canary_path:
        return _Content(mounts)
    try:
        canary = content_digest(await at.bao.read(address, token, env.canary_path))
    except (Denied, BaoError) as error:
        log.info("the canary cannot be read", path=env.canary_path, why=str(error))
        canary = ""
    return _Content(mounts, canary)


def _manifest(
    env: BackupEnv, leader: Leader, taken: Taken, content: _Content, taken_at: datetime
) -> Manifest:
    return Manifest(
        key=env.key,
        size=taken.size,
        digest=taken.digest,
        cluster_id=leader.health.cluster_id,
        version=leader.health.version,
        index=taken.meta.index,
        term=taken.meta.term,
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


async def _take_back(store: JobStore, key: str, error: BaseException) -> None:
    """Remove an object that gets no manifest; one that cannot be removed is no snapshot either."""
    try:
        await store.delete(key)
    except JobFailure as refusal:
        log.warning("an unfinished snapshot stays in the store", key=key, why=str(refusal))
        if isinstance(error, JobFailure):
            text = f"{error}; the object stays in the store, where nobody takes it for a snapshot"
            raise JobFailure(error.failure, text) from None


async def _clear(env: BackupEnv, here: JobContext, store: JobStore, key: BackupKey) -> Removed:
    try:
        removed = await retain(store, env.retention, key, env.cluster_uid, here.clock)
    except asyncio.CancelledError:
        # The job was stopped, and the snapshot exists: the report says so.
        return Removed(message="stopped, because the job was told to stop")
    if removed.deleted or removed.message:
        log.info("retention", deleted=removed.deleted, message=removed.message)
    return removed


def _snapshot(manifest: Manifest) -> Snapshot:
    return Snapshot(
        key=manifest.key,
        index=manifest.index,
        term=manifest.term,
        seal=manifest.seal or None,
        digest=manifest.digest,
        cluster_id=manifest.cluster_id or None,
        version=manifest.version or None,
        size=manifest.size,
    )
