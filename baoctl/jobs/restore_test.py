"""`baoctl job restore-test`: restores a snapshot into the server of its own pod and checks it.

The server is empty, listens on loopback only, has the seal of the cluster and is deleted with the
pod. The job does not connect to the servers of the cluster. The table CHECKS lists the checks in
their order. Each check adds a line to the report; the first check that fails ends the test with a
reason of contracts.conditions.reasons_restore_test.

Behavior of OpenBao 2.4.0: the server accepts the snapshot (204) before it applies it. Then it
answers no request for about six seconds, unseals with its seal, and has the cluster id of the
snapshot. It rejects a snapshot of another key with 400 and a damaged one with 500, and keeps its
data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from baoctl.jobs.failures import JobFailure, shorten
from baoctl.jobs.snapshot.download import read_chunks
from baoctl.jobs.snapshot.inspect import Archive, Meta, NotASnapshot
from baoctl.jobs.store.store import Fetched, JobStore
from contracts.api.cluster.status_errors import SNAPSHOT_MAX
from contracts.api.job_result import RestoreTestReport
from contracts.exit_codes import FailureClass
from contracts.jobs.env import TestEnv
from contracts.jobs.snapshot_manifest import MANIFEST_MAX, Manifest, ManifestError, read_manifest
from contracts.naming.snapshot_keys import manifest_key
from contracts.snapshot_digest import MOUNTS_PATH, content_digest, mounts_digest
from managers.bao.client import OPERATOR_MOUNT, Bao, BaoError, Denied
from managers.bao.models import ServerHealth
from runtime.client.write_guard import allow_writes
from runtime.clock import Clock

START_SECONDS: Final = 180.0
"""Time limit until the server answers and leads; its image may have to be pulled first."""
RETURN_SECONDS: Final = 300.0
"""Time limit until the server answers again with the data: a large state loads slowly."""
POLL_SECONDS: Final = 0.25
_CHUNK_BYTES: Final = 1 << 20
_OTHER_SEAL = "autoseal key"
_BROKEN = ("hash check", "failed to read snapshot", "failed to decompress", "integrity")
_FAILURES: Mapping[str, FailureClass] = {
    "StoreUnavailable": "Storage",
    "SnapshotMissing": "Storage",
    "ServerUnavailable": "LeaderDiscovery",
    "PreparationFailed": "Config",
    "StaysSealed": "Snapshot",
    "LoginRefused": "Authentication",
}


class CheckFailed(Exception):  # noqa: N818  named after what happened
    """A check failed. `reason` is a reason of contracts.conditions.reasons_restore_test."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(shorten(message))
        self.reason = reason


@dataclass(slots=True)
class TestRun:
    """The state of a test. Each check adds a line to `lines`."""

    env: TestEnv
    store: JobStore
    clock: Clock
    bao: Bao
    lines: list[str] = field(default_factory=list)
    manifest: Manifest | None = None
    meta: Meta | None = None
    root: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    own_id: str = ""
    """Cluster id of the server before the restore."""

    @property
    def address(self) -> str:
        """The host of the server."""
        return self.env.address.rpartition(":")[0]

    @property
    def file(self) -> Path:
        """The file that contains the snapshot."""
        return Path(self.env.scratch_path, "snapshot")

    def expected_manifest(self) -> Manifest:
        """Return the manifest; the first check has read it."""
        assert self.manifest is not None
        return self.manifest


async def restore_test(env: TestEnv, store: JobStore, clock: Clock) -> RestoreTestReport:
    """Run a test and return its report, also if the test fails."""
    start = clock.monotonic()
    port = int(env.address.rpartition(":")[2])
    async with Bao("", "", port, guard=allow_writes, plain=True) as bao:
        run = TestRun(env, store, clock, bao)
        reason, message = "Restored", ""
        try:
            for check in CHECKS:
                run.lines.append(await check(run))
        except CheckFailed as failed:
            reason, message = failed.reason, str(failed)
        except JobFailure as failure:
            is_storage = failure.failure == "Storage"
            reason = "StoreUnavailable" if is_storage else "PreparationFailed"
            message = str(failure)
        except (BaoError, Denied, OSError) as error:
            reason, message = "ServerUnavailable", shorten(str(error) or type(error).__name__)
    passed = reason == "Restored"
    return RestoreTestReport(
        job_uid=env.run.job_uid,
        outcome="Succeeded" if passed else "Failed",
        failure=None if passed else _FAILURES.get(reason, "Verification"),
        reason=reason,
        message=message or f"{len(run.lines)} checks passed",
        checks=tuple(map(shorten, run.lines)),
        finished_at=clock.now(),
        seconds=round(clock.monotonic() - start, 3),
        snapshot=run.manifest.as_status() if run.manifest else None,
    )


# --- the files in the store ----------------------------------------------------------------------


async def _check_manifest(run: TestRun) -> str:
    """Check that the manifest exists and matches the status of the OpenBaoBackup."""
    env = run.env
    content = await run.store.read(manifest_key(env.key), MANIFEST_MAX)
    if content is None:
        raise CheckFailed("SnapshotMissing", f"there is no {manifest_key(env.key)} in the store")
    try:
        manifest = read_manifest(content)
    except ManifestError as error:
        raise CheckFailed("SnapshotCorrupt", f"{manifest_key(env.key)}: {error}") from None
    comparisons: tuple[tuple[str, object, object], ...] = (
        ("digest", env.expected_digest, manifest.digest),
        ("size", env.expected_size, manifest.size),
        ("index", env.expected_index, manifest.index),
        ("cluster id", env.expected_cluster_id, manifest.cluster_id),
        ("version", env.expected_version, manifest.version),
        ("key", env.key, manifest.key),
    )
    for what, expected, actual in comparisons:
        if expected and expected != actual:
            message = f"its manifest has {what} {actual}, but the OpenBaoBackup has {expected}"
            raise CheckFailed("SnapshotCorrupt", message)
    run.manifest = manifest
    return (
        f"manifest: matches the OpenBaoBackup, taken {manifest.taken_at} by "
        f"OpenBao {manifest.version}"
    )


async def _check_archive(run: TestRun) -> str:
    """Check that the digest matches the manifest, and that the archive is complete."""
    manifest = run.expected_manifest()
    download = await run.store.fetch(run.env.key, run.file, SNAPSHOT_MAX)
    if download is None:
        raise CheckFailed("SnapshotMissing", f"there is no {run.env.key} in the store")
    if download.size < manifest.size:
        message = f"the store has {download.size} of {manifest.size} bytes"
        raise CheckFailed("SnapshotIncomplete", message)
    if Fetched(manifest.size, manifest.digest) != download:
        message = (
            f"the object has {download.size} bytes and digest {download.digest}, but its manifest "
            f"has {manifest.size} bytes and digest {manifest.digest}"
        )
        raise CheckFailed("SnapshotCorrupt", message)
    run.meta = await asyncio.to_thread(_read, run.file)
    if (run.meta.index, run.meta.term) != (manifest.index, manifest.term):
        message = f"it contains index {run.meta.index}, but its manifest has {manifest.index}"
        raise CheckFailed("SnapshotCorrupt", message)
    return f"archive: complete, {download.size} bytes, {download.digest}"


def _read(file: Path) -> Meta:
    archive = Archive()
    try:
        with file.open("rb") as source:
            while chunk := source.read(_CHUNK_BYTES):
                archive.feed(chunk)
        return archive.finish()
    except NotASnapshot as error:
        reason = "SnapshotIncomplete" if "cut off" in str(error) else "SnapshotCorrupt"
        raise CheckFailed(reason, f"the archive: {error}") from None


# --- the restore ---------------------------------------------------------------------------------


async def _start_server(run: TestRun) -> str:
    """Wait for the server of the pod, check that it is empty, and initialize it."""
    health = await _until(run, START_SECONDS, lambda _: True)
    if health is None:
        raise CheckFailed("ServerUnavailable", f"no server answers at {run.env.address}")
    version = run.expected_manifest().version
    if version and health.version != version:
        message = f"OpenBao {version} took the snapshot, but the servers run {health.version}"
        raise CheckFailed("VersionDiffers", message)
    if health.initialized:
        # The container was restarted: the data is from an earlier attempt.
        raise CheckFailed("ServerUnavailable", "the server of the test is not empty")
    run.root = await run.bao.initialize(run.address)
    active = await _until(run, START_SECONDS, lambda status: status.leads)
    if active is None:
        raise CheckFailed("ServerUnavailable", "the empty server of the test does not unseal")
    run.own_id = active.cluster_id
    return f"server: OpenBao {health.version}"


async def _restore(run: TestRun) -> str:
    """Send the snapshot to the server, which checks it with its seal."""
    try:
        await run.bao.restore(run.address, run.root, read_chunks(run.file), force=False)
    except Denied as refusal:
        if _OTHER_SEAL in str(refusal):
            seal = run.expected_manifest().seal or "a key that its manifest does not name"
            message = f"it was sealed with {seal}, which the servers do not have now: {refusal}"
            raise CheckFailed("SealDiffers", message) from None
        raise CheckFailed("SnapshotCorrupt", str(refusal)) from None
    except BaoError as error:
        if any(fragment in str(error) for fragment in _BROKEN):
            raise CheckFailed("SnapshotCorrupt", str(error)) from None
        raise
    finally:
        run.root = ""
    return "seal: the server can decrypt the snapshot, and accepted it"


async def _wait_for_data(run: TestRun) -> str:
    """Wait until the server is unsealed again, and check the cluster id of its data."""
    health = await _until(
        run, RETURN_SECONDS, lambda status: status.leads and _has_restored_data(run, status)
    )
    manifest = run.expected_manifest()
    if health is None:
        message = "the server accepted the snapshot, but did not unseal with its data"
        raise CheckFailed("StaysSealed", f"{message} within {RETURN_SECONDS:.0f} s")
    if manifest.cluster_id and health.cluster_id != manifest.cluster_id:
        message = f"the data is of cluster {health.cluster_id}, not of {manifest.cluster_id}"
        raise CheckFailed("ClusterIDDiffers", message)
    return f"unsealed: automatically, as cluster {health.cluster_id}"


def _has_restored_data(run: TestRun, health: ServerHealth) -> bool:
    return bool(health.cluster_id) and health.cluster_id != run.own_id


async def _until(
    run: TestRun, seconds: float, is_done: Callable[[ServerHealth], bool]
) -> ServerHealth | None:
    """Query the health of the server until `is_done` accepts it; None after the time limit."""
    deadline = run.clock.monotonic() + seconds
    while True:
        try:
            health = await run.bao.health(run.address)
            if is_done(health):
                return health
        except BaoError:
            # The server is starting or loading.
            pass
        if run.clock.monotonic() >= deadline:
            return None
        await run.clock.sleep(POLL_SECONDS)


# --- the restored data ---------------------------------------------------------------------------


async def _check_index(run: TestRun) -> str:
    """Check that the applied index is at least the index of the snapshot."""
    assert run.meta is not None
    applied_index = await run.bao.applied_index(run.address)
    if applied_index < run.meta.index:
        message = f"the data ends at index {applied_index}, but the snapshot has {run.meta.index}"
        raise CheckFailed("IndexTooLow", message)
    return f"raft index: {run.meta.index} in the snapshot, {applied_index} is applied"


async def _log_in(run: TestRun) -> str:
    """Log in like a backup job, with the restored roles, policies and keys."""
    server = run.env.server
    if server.auth == "token":
        run.token = await asyncio.to_thread(_read_token, server.token_path)
        return "login: not tested, because a token is used"
    jwt = await asyncio.to_thread(_read_token, server.jwt_path)
    try:
        login = await run.bao.login(run.address, OPERATOR_MOUNT, server.role, jwt)
    except Denied as refusal:
        message = f"role {server.role} of the restored data refuses the login: {refusal}"
        raise CheckFailed("LoginRefused", message) from None
    run.token = login.client_token
    return f"login: with role {server.role} of the restored data"


def _read_token(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"the token at {path} cannot be read: {type(error).__name__}"
        raise JobFailure("Config", message) from None


async def _check_mounts(run: TestRun) -> str:
    """Check that the secret engines are the same as when the snapshot was taken."""
    expected = run.expected_manifest().mounts
    return await _compare(run, "mounts", MOUNTS_PATH, expected, mounts_digest)


async def _check_canary(run: TestRun) -> str:
    """Check that the canary path has the same content as when the snapshot was taken."""
    manifest = run.expected_manifest()
    return await _compare(run, "canary", manifest.canary_path, manifest.canary, content_digest)


async def _compare(
    run: TestRun,
    what: str,
    path: str,
    expected: str,
    digest: Callable[[Mapping[str, object]], str],
) -> str:
    if not expected or not path:
        return f"{what}: not compared, because the manifest has none"
    try:
        content = await run.bao.read(run.address, run.token, path)
    except Denied as refusal:
        if refusal.code != 404:
            return f"{what}: not compared, because the role may not read {path}"
        content = {}
    actual = digest(content)
    if actual != expected:
        message = f"{path} has {actual}, but had {expected} when the snapshot was taken"
        raise CheckFailed("MountsDiffer" if what == "mounts" else "CanaryDiffers", message)
    return f"{what}: {path} is unchanged"


CHECKS: tuple[Callable[[TestRun], Awaitable[str]], ...] = (
    _check_manifest,
    _check_archive,
    _start_server,
    _restore,
    _wait_for_data,
    _check_index,
    _log_in,
    _check_mounts,
    _check_canary,
)
