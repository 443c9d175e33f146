"""`baoctl job restore`: one snapshot, from its store into the servers of a cluster, once.

    deadline -> to the disk, with its digest -> checks -> leader, login -> claim -> send -> confirm

Uses staging, session and claim. Called by run. Nothing is sent before the whole snapshot lies on
the disk and was checked, nor without the claim. What cannot be confirmed is told as such: nobody
sends it again.

OpenBao 2.4.0 (vault/logical_system_raft.go): 204 means that the leader took the snapshot and goes
on to apply it; every error that it answers itself means that it took nothing; a leader that fails
to apply it seals itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import structlog

from baoctl.jobs.context import JobContext
from baoctl.jobs.failures import JobFailure, shortened
from baoctl.jobs.leader_client import LeaderSession, session
from baoctl.jobs.snapshot.download import Staged, manifest_of, stage
from baoctl.jobs.store.store import open_store
from baoctl.jobs.submission_permit import SubmissionPermit, take_claim
from baoctl.jobs.verify_restore import Confirmation, RestoreEvidence, confirm, find_witness
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.job_result import RestoreReport, SubmissionClaim
from contracts.jobs.env import RestoreEnv
from contracts.jobs.snapshot_manifest import Manifest, may_open
from contracts.server_features import is_older
from managers.bao.client import BaoError, Denied, NotSentError
from runtime.client.client import Client

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

PIECE = 1 << 20
FILE = "snapshot"


@dataclass(frozen=True, slots=True)
class StagedSnapshot:
    """A whole snapshot on the disk, and what its manifest says of it."""

    staged: Staged
    manifest: Manifest | None

    def seen(self, key: str) -> Snapshot:
        """What it is known by."""
        found = Snapshot(
            key=key,
            digest=self.staged.digest,
            size=self.staged.size,
            index=self.staged.meta.index,
            term=self.staged.meta.term,
        )
        told = self.manifest
        if told is None:
            return found
        return found.model_copy(
            update={
                "cluster_id": told.cluster_id or None,
                "version": told.version or None,
                "seal": told.seal or None,
            }
        )


async def restore(env: RestoreEnv, here: JobContext, client: Client) -> RestoreReport:
    """Restore once. Raises JobFailure while nothing was sent."""
    began = here.clock.monotonic()
    deadline = _deadline(env)
    path = Path(env.scratch_path) / FILE
    async with open_store(env.store, here.environ, here.policy) as store:
        manifest = await manifest_of(store, env.key)
        ready = StagedSnapshot(await stage(store, env.key, path), manifest)
    log.info("snapshot is here", key=env.key, size=ready.staged.size, digest=ready.staged.digest)
    check(env, ready)
    async with session(env.server, here.clock, here.reach) as at:
        check_target(env, at, ready.manifest)
        witness = await find_witness(at)
        await take_claim(
            SubmissionPermit(client, here.clock, env.run, deadline), _claim(env, at, ready, here)
        )
        # From here on nothing may be raised: the servers may have other data than before.
        report = await _send(env, here, at, ready.staged, witness)
    path.unlink(missing_ok=True)
    seconds = round(here.clock.monotonic() - began, 3)
    return report.model_copy(update={"snapshot": ready.seen(env.key), "seconds": seconds})


def _deadline(env: RestoreEnv) -> datetime | None:
    return datetime.fromisoformat(env.deadline) if env.deadline else None


def _claim(
    env: RestoreEnv, at: LeaderSession, ready: StagedSnapshot, here: JobContext
) -> SubmissionClaim:
    return SubmissionClaim(
        pod_uid=env.run.pod_uid,
        pod_name=env.run.pod_name,
        target=at.leader.pod,
        digest=ready.staged.digest,
        size=ready.staged.size,
        claimed_at=here.clock.now(),
    )


# --- checks -------------------------------------------------------------------------------------


def check(env: RestoreEnv, ready: StagedSnapshot) -> None:
    """Compare the snapshot with what it has to be. Raises JobFailure(Verification)."""
    staged, told = ready.staged, ready.manifest
    if told is None and not env.expected_digest and not env.force:
        raise _wrong(
            f"{env.key} has no manifest beside it, so nobody knows whether it was ever finished: "
            "set spec.source.expectedDigest, or spec.force"
        )
    known = (told.digest, told.size) if told else ("", 0)
    for what, wanted, found in (
        ("spec.source.expectedDigest", env.expected_digest, staged.digest),
        ("spec.source.expectedSize", env.expected_size, staged.size),
        ("the digest of its manifest", known[0], staged.digest),
        ("the size of its manifest", known[1], staged.size),
    ):
        if wanted and wanted != found:
            raise _wrong(f"{env.key} is {found} and {what} is {wanted}")
    if told is None or env.force:
        return
    for what, wanted, found, fits in (
        _same("spec.source.expectedClusterID", env.expected_cluster_id, told.cluster_id),
        _same("spec.source.expectedVersion", env.expected_version, told.version),
        (
            *("the seal of the cluster", env.expected_seal, told.seal),
            may_open(env.expected_seal, told.seal),
        ),
    ):
        if not fits:
            raise _wrong(
                f"{env.key} is of {found} and {what} is {wanted}: choose another snapshot, or set "
                "spec.force"
            )


def _same(what: str, wanted: str, found: str) -> tuple[str, str, str, bool]:
    return what, wanted, found, not wanted or not found or wanted == found


def check_target(env: RestoreEnv, at: LeaderSession, told: Manifest | None) -> None:
    """Compare the snapshot with the servers. Raises JobFailure(Verification)."""
    health = at.leader.health
    if env.force:
        return
    # Without a manifest the snapshot is what it was expected to be: its digest was compared.
    version = (told.version if told else "") or env.expected_version
    if version and health.version and is_older(health.version, version):
        raise _wrong(
            f"{env.key} was taken by OpenBao {version} and the servers run {health.version}, "
            f"which cannot read newer data: set spec.version of the cluster to {version}"
        )
    cluster_id = (told.cluster_id if told else "") or env.expected_cluster_id
    permitted = env.any_cluster_id or cluster_id in ("", health.cluster_id, env.named_cluster_id)
    if not permitted:
        raise _wrong(
            f"{env.key} is of the cluster {cluster_id} and {env.server.cluster} is "
            f"{health.cluster_id}: to replace its data by those of the other one, set "
            f"spec.source.expectedClusterID to {cluster_id}"
        )


def _wrong(why: str) -> JobFailure:
    return JobFailure("Verification", why)


# --- sending ------------------------------------------------------------------------------------


async def _send(
    env: RestoreEnv, here: JobContext, at: LeaderSession, staged: Staged, witness: RestoreEvidence
) -> RestoreReport:
    """Send the snapshot and say what became of it, whatever happens."""
    try:
        return await _sent(env, here, at, staged, witness)
    except asyncio.CancelledError:
        return _failed("the job was told to stop while the servers took the snapshot")
    except Exception as error:
        log.exception("the job failed after it had sent")
        return _failed(f"{type(error).__name__} after the snapshot was sent")


async def _sent(
    env: RestoreEnv, here: JobContext, at: LeaderSession, staged: Staged, witness: RestoreEvidence
) -> RestoreReport:
    address, trouble = at.leader.address, ""
    log.info("the snapshot is sent", to=at.leader.pod, force=env.force)
    try:
        await at.bao.restore(address, at.token, _pieces(staged.path), force=env.force)
    except (Denied, NotSentError) as error:
        return _failed(str(error), untouched=True)
    except BaoError as error:
        # It may have been taken all the same: the servers are asked.
        trouble = str(error)
    # Said before the servers are asked, which takes minutes when they do not agree.
    log.info("the leader has answered", accepted=not trouble, why=trouble)
    asked = replace(witness, accepted=not trouble)
    found = await confirm(env, here, at, asked)
    log.info("the servers were asked", found=found.state, why=found.message)
    return _report(env, found, trouble)


def _report(env: RestoreEnv, found: Confirmation, trouble: str) -> RestoreReport:
    if found.state == "Applied" or (found.state == "Sealed" and env.force):
        return RestoreReport(
            outcome="Succeeded", message=found.message, sealed=found.state == "Sealed"
        )
    told = "; ".join(filter(None, (trouble, found.message)))
    return _failed(told).model_copy(update={"sealed": found.state == "Sealed"})


def _failed(message: str, *, untouched: bool = False) -> RestoreReport:
    return RestoreReport(
        outcome="Failed", failure="Snapshot", message=shortened(message), untouched=untouched
    )


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
