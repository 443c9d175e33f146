"""`baoctl job restore-test`: restores a snapshot into the server of its own pod and checks it.

The server is empty, listens on the loopback only, has the seal of the cluster and is deleted with
the pod. The servers of the cluster are not contacted. The table CHECKS lists the checks in their
order; each check adds a line to the report, and the first that fails ends the test with a reason of
contracts.conditions.reasons_restore_test.

Seen on OpenBao 2.4.0: the snapshot is taken (204) before it is in effect; then the server answers
no request for about six seconds, opens itself with its seal and carries the id of the snapshot's
cluster. A snapshot of another key is refused with 400, a broken one with 500, and nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from baoctl.jobs.failures import JobFailure, shortened
from baoctl.jobs.snapshot.inspect import Archive, Meta, NotASnapshot
from baoctl.jobs.store.store import Fetched, JobStore
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.cluster.status_errors import SNAPSHOT_MAX
from contracts.api.job_result import ProofReport
from contracts.exit_codes import FailureClass
from contracts.jobs.env import TestEnv
from contracts.jobs.snapshot_manifest import MANIFEST_MAX, Manifest, ManifestError, read_manifest
from contracts.naming.snapshot_keys import manifest_key
from contracts.snapshot_digest import MOUNTS_PATH, content_digest, mounts_digest
from managers.bao.client import OPERATOR_MOUNT, Bao, BaoError, Denied
from managers.bao.models import ServerHealth
from runtime.client.write_guard import unguarded
from runtime.clock import Clock

START_SECONDS: Final = 180.0
"""In which the server has to answer and to lead; an image may have to be pulled before that."""
RETURN_SECONDS: Final = 300.0
"""In which it has to come back with the data: a large state takes its time to load."""
POLL_SECONDS: Final = 0.25
_PIECE: Final = 1 << 20
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


class Refuted(Exception):  # noqa: N818  named after what happened
    """A check failed: the reason, and the message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(shortened(message))
        self.reason = reason


@dataclass(slots=True)
class Trial:
    """One test in progress. Each check adds a line to `lines`."""

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
    """Id of the empty cluster that the server was before."""

    @property
    def address(self) -> str:
        """Where the server is."""
        return self.env.address.rpartition(":")[0]

    @property
    def file(self) -> Path:
        """The file of the snapshot during the test."""
        return Path(self.env.scratch_path, "snapshot")

    def expected_manifest(self) -> Manifest:
        """Return the manifest, which must have been read."""
        assert self.manifest is not None
        return self.manifest


async def restore_test(env: TestEnv, store: JobStore, clock: Clock) -> ProofReport:
    """Run a test and say how it ended; raises nothing that a test can end with."""
    began = clock.monotonic()
    port = int(env.address.rpartition(":")[2])
    async with Bao("", "", port, guard=unguarded, plain=True) as bao:
        trial = Trial(env, store, clock, bao)
        reason, message = "Restored", ""
        try:
            for check in CHECKS:
                trial.lines.append(await check(trial))
        except Refuted as refuted:
            reason, message = refuted.reason, str(refuted)
        except JobFailure as failure:
            stored = failure.failure == "Storage"
            reason = "StoreUnavailable" if stored else "PreparationFailed"
            message = str(failure)
        except (BaoError, Denied, OSError) as error:
            reason, message = "ServerUnavailable", shortened(str(error) or type(error).__name__)
    passed = reason == "Restored"
    return ProofReport(
        job_uid=env.run.job_uid,
        outcome="Succeeded" if passed else "Failed",
        failure=None if passed else _FAILURES.get(reason, "Verification"),
        reason=reason,
        message=message or f"{len(trial.lines)} checks passed",
        checks=tuple(map(shortened, trial.lines)),
        finished_at=clock.now(),
        seconds=round(clock.monotonic() - began, 3),
        snapshot=_snapshot(trial),
    )


def _snapshot(trial: Trial) -> Snapshot | None:
    manifest = trial.manifest
    if manifest is None:
        return None
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


# --- the snapshot itself, before any server is asked --------------------------------------------


async def _described(trial: Trial) -> str:
    """The manifest is there, and is the one that the operator wrote down."""
    env = trial.env
    content = await trial.store.read(manifest_key(env.key), MANIFEST_MAX)
    if content is None:
        raise Refuted("SnapshotMissing", f"there is no {manifest_key(env.key)} in the store")
    try:
        manifest = read_manifest(content)
    except ManifestError as error:
        raise Refuted("SnapshotCorrupt", f"{manifest_key(env.key)}: {error}") from None
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
            message = f"its manifest says {what} {actual}, and the OpenBaoBackup {expected}"
            raise Refuted("SnapshotCorrupt", message)
    trial.manifest = manifest
    return f"manifest: as written down, taken {manifest.taken_at} by OpenBao {manifest.version}"


async def _whole(trial: Trial) -> str:
    """The bytes are those that were written, and a whole archive."""
    manifest = trial.expected_manifest()
    fetched = await trial.store.fetch(trial.env.key, trial.file, SNAPSHOT_MAX)
    if fetched is None:
        raise Refuted("SnapshotMissing", f"there is no {trial.env.key} in the store")
    if fetched.size < manifest.size:
        message = f"the store holds {fetched.size} of {manifest.size} bytes"
        raise Refuted("SnapshotIncomplete", message)
    if Fetched(manifest.size, manifest.digest) != fetched:
        message = (
            f"{fetched.size} bytes of {fetched.digest}, not {manifest.size} of {manifest.digest}"
        )
        raise Refuted("SnapshotCorrupt", message)
    trial.meta = await asyncio.to_thread(_read, trial.file)
    if (trial.meta.index, trial.meta.term) != (manifest.index, manifest.term):
        message = f"it holds index {trial.meta.index}, and its manifest says {manifest.index}"
        raise Refuted("SnapshotCorrupt", message)
    return f"archive: whole, {fetched.size} bytes, {fetched.digest}"


def _read(file: Path) -> Meta:
    archive = Archive()
    try:
        with file.open("rb") as source:
            while piece := source.read(_PIECE):
                archive.feed(piece)
        return archive.finish()
    except NotASnapshot as error:
        reason = "SnapshotIncomplete" if "cut off" in str(error) else "SnapshotCorrupt"
        raise Refuted(reason, f"the archive: {error}") from None


# --- the server takes it -------------------------------------------------------------------------


async def _started(trial: Trial) -> str:
    """The server of the pod answers, is of the snapshot's version, and holds nothing."""
    health = await _until(trial, START_SECONDS, lambda _: True)
    if health is None:
        raise Refuted("ServerUnavailable", f"no server answers at {trial.env.address}")
    taken = trial.expected_manifest().version
    if taken and health.version != taken:
        message = f"OpenBao {taken} took the snapshot, and the servers run {health.version}"
        raise Refuted("VersionDiffers", message)
    if health.initialized:
        # Started a second time: what it holds is of an earlier try.
        raise Refuted("ServerUnavailable", "the server of the test is not empty")
    trial.root = await trial.bao.initialize(trial.address)
    active = await _until(trial, START_SECONDS, _leads)
    if active is None:
        raise Refuted("ServerUnavailable", "the empty server of the test does not open itself")
    trial.own_id = active.cluster_id
    return f"server: OpenBao {health.version}"


async def _taken(trial: Trial) -> str:
    """The server checks the snapshot against its own seal, and takes it."""
    try:
        await trial.bao.restore(trial.address, trial.root, _pieces(trial.file), force=False)
    except Denied as refusal:
        if _OTHER_SEAL in str(refusal):
            seal = trial.expected_manifest().seal or "a key that was not noted"
            message = (
                f"it was sealed with {seal}, and the servers of today cannot open it: {refusal}"
            )
            raise Refuted("SealDiffers", message) from None
        raise Refuted("SnapshotCorrupt", str(refusal)) from None
    except BaoError as error:
        if any(fragment in str(error) for fragment in _BROKEN):
            raise Refuted("SnapshotCorrupt", str(error)) from None
        raise
    finally:
        trial.root = ""
    return "seal: the server can open the snapshot, and took it"


async def _back(trial: Trial) -> str:
    """It comes back unsealed, as the cluster of the snapshot."""
    health = await _until(trial, RETURN_SECONDS, lambda now: _leads(now) and _other(trial, now))
    manifest = trial.expected_manifest()
    if health is None:
        message = "the server took the snapshot and did not come back with its data unsealed"
        raise Refuted("StaysSealed", f"{message} within {RETURN_SECONDS:.0f} s")
    if manifest.cluster_id and health.cluster_id != manifest.cluster_id:
        message = f"the data are those of cluster {health.cluster_id}, not of {manifest.cluster_id}"
        raise Refuted("ClusterIDDiffers", message)
    return f"unsealed: by itself, as cluster {health.cluster_id}"


def _leads(health: ServerHealth) -> bool:
    return health.initialized and not health.sealed and not health.standby


def _other(trial: Trial, health: ServerHealth) -> bool:
    return bool(health.cluster_id) and health.cluster_id != trial.own_id


async def _until(
    trial: Trial, seconds: float, enough: Callable[[ServerHealth], bool]
) -> ServerHealth | None:
    """Ask the server until it says what is waited for; None when it does not in time."""
    deadline = trial.clock.monotonic() + seconds
    while True:
        try:
            health = await trial.bao.health(trial.address)
            if enough(health):
                return health
        except BaoError:
            # It starts, or loads; both end, or the deadline comes.
            pass
        if trial.clock.monotonic() >= deadline:
            return None
        await trial.clock.sleep(POLL_SECONDS)


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as source:
        while piece := await asyncio.to_thread(source.read, _PIECE):
            yield piece


# --- what is in it -------------------------------------------------------------------------------


async def _reached(trial: Trial) -> str:
    """The restored log goes at least as far as the snapshot says."""
    assert trial.meta is not None
    applied = await trial.bao.applied_index(trial.address)
    if applied < trial.meta.index:
        message = f"the data end at index {applied}, and the snapshot holds {trial.meta.index}"
        raise Refuted("IndexTooLow", message)
    return f"raft index: {trial.meta.index} was taken, {applied} is applied"


async def _logged_in(trial: Trial) -> str:
    """The login of backups works with the restored roles, policies and keys."""
    server = trial.env.server
    if server.auth == "token":
        trial.token = await asyncio.to_thread(_mounted, server.token_path)
        return "login: not tried, because a token is used"
    shown = await asyncio.to_thread(_mounted, server.jwt_path)
    try:
        login = await trial.bao.login(trial.address, OPERATOR_MOUNT, server.role, shown)
    except Denied as refusal:
        message = f"role {server.role} of the restored data refuses the login: {refusal}"
        raise Refuted("LoginRefused", message) from None
    trial.token = login.client_token
    return f"login: by role {server.role} of the restored data"


def _mounted(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"the token at {path} cannot be read: {type(error).__name__}"
        raise JobFailure("Config", message) from None


async def _mounts(trial: Trial) -> str:
    """The secret engines are those that there were."""
    expected = trial.expected_manifest().mounts
    return await _compared(trial, "mounts", MOUNTS_PATH, expected, mounts_digest)


async def _canary(trial: Trial) -> str:
    """One path shows what it showed when the snapshot was taken."""
    manifest = trial.expected_manifest()
    return await _compared(trial, "canary", manifest.canary_path, manifest.canary, content_digest)


async def _compared(
    trial: Trial,
    what: str,
    path: str,
    expected: str,
    digest: Callable[[Mapping[str, object]], str],
) -> str:
    if not expected or not path:
        return f"{what}: not compared, because the manifest has none"
    try:
        content = await trial.bao.read(trial.address, trial.token, path)
    except Denied as refusal:
        if refusal.code != 404:
            return f"{what}: not compared, because the role may not read {path}"
        content = {}
    actual = digest(content)
    if actual != expected:
        message = f"{path} shows {actual}, and showed {expected} when the snapshot was taken"
        raise Refuted("MountsDiffer" if what == "mounts" else "CanaryDiffers", message)
    return f"{what}: {path} is as it was"


CHECKS: tuple[Callable[[Trial], Awaitable[str]], ...] = (
    _described,
    _whole,
    _started,
    _taken,
    _back,
    _reached,
    _logged_in,
    _mounts,
    _canary,
)
