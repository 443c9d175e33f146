"""`baoctl job restore`: restores one snapshot from its store into a cluster, once.

    deadline -> download with digest -> checks -> leader, login -> claim -> send -> confirm

Uses snapshot.download, leader_client, submission_permit and verify_restore. Called by
baoctl.jobs.main. The job sends nothing before the complete snapshot is on the disk and checked, and
nothing without the permit. If the result cannot be confirmed, the job reports that and does not
send the snapshot again.

Behavior of OpenBao 2.4.0 (vault/logical_system_raft.go): the leader answers 204 when it has
accepted the snapshot, and applies it later. If it answers with an error, it accepted nothing.
If it fails to apply the snapshot, it seals itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import structlog

from baoctl.jobs.context import JobContext
from baoctl.jobs.failures import JobFailure, shorten
from baoctl.jobs.leader_client import LeaderSession, open_session
from baoctl.jobs.snapshot.download import (
    DownloadedSnapshot,
    download_snapshot,
    manifest_of,
    read_chunks,
)
from baoctl.jobs.store.store import open_store
from baoctl.jobs.submission_permit import SubmissionPermit, take_claim
from baoctl.jobs.verify_restore import Confirmation, RestoreEvidence, confirm, find_evidence
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.job_result import RestoreReport, SubmissionClaim
from contracts.jobs.env import RestoreEnv
from contracts.jobs.snapshot_manifest import Manifest, may_open
from contracts.server_features import can_read_data_of
from managers.bao.client import BaoError, Denied, NotSentError
from runtime.client.client import Client

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

FILE = "snapshot"


@dataclass(frozen=True, slots=True)
class StagedSnapshot:
    """A complete snapshot on the disk, and its manifest; None if the store has no manifest."""

    download: DownloadedSnapshot
    manifest: Manifest | None

    def as_status(self, key: str) -> Snapshot:
        """Return the snapshot for the status."""
        snapshot = self.manifest.as_status() if self.manifest else Snapshot(key=key)
        download = self.download
        return snapshot.model_copy(
            update={
                "digest": download.digest,
                "size": download.size,
                "index": download.meta.index,
                "term": download.meta.term,
            }
        )


async def restore(env: RestoreEnv, context: JobContext, client: Client) -> RestoreReport:
    """Restore once. Raises JobFailure only if nothing was sent."""
    start = context.clock.monotonic()
    deadline = _deadline(env)
    path = Path(env.scratch_path) / FILE
    async with open_store(env.store, context.environ, context.policy) as store:
        manifest = await manifest_of(store, env.key)
        snapshot = StagedSnapshot(await download_snapshot(store, env.key, path), manifest)
    log.info(
        "snapshot downloaded",
        key=env.key,
        size=snapshot.download.size,
        digest=snapshot.download.digest,
    )
    check(env, snapshot)
    async with open_session(env.server, context.clock, context.addresses) as session:
        check_target(env, session, snapshot.manifest)
        evidence = await find_evidence(session)
        await take_claim(
            SubmissionPermit(client, context.clock, env.run, deadline),
            _claim(env, session, snapshot, context),
        )
        # Nothing may be raised from here on: the data of the servers may have changed.
        report = await _send(env, context, session, snapshot.download, evidence)
    path.unlink(missing_ok=True)
    seconds = round(context.clock.monotonic() - start, 3)
    return report.model_copy(update={"snapshot": snapshot.as_status(env.key), "seconds": seconds})


def _deadline(env: RestoreEnv) -> datetime | None:
    return datetime.fromisoformat(env.deadline) if env.deadline else None


def _claim(
    env: RestoreEnv, session: LeaderSession, snapshot: StagedSnapshot, context: JobContext
) -> SubmissionClaim:
    return SubmissionClaim(
        pod_uid=env.run.pod_uid,
        pod_name=env.run.pod_name,
        target=session.leader.pod,
        digest=snapshot.download.digest,
        size=snapshot.download.size,
        claimed_at=context.clock.now(),
    )


# --- checks -------------------------------------------------------------------------------------


def check(env: RestoreEnv, snapshot: StagedSnapshot) -> None:
    """Compare the snapshot with its manifest and the spec. Raises JobFailure(Verification)."""
    download, manifest = snapshot.download, snapshot.manifest
    if manifest is None and not env.expected_digest and not env.force:
        raise _mismatch(
            f"{env.key} has no manifest, so the backup may be incomplete: set "
            "spec.source.expectedDigest, or spec.force"
        )
    recorded = (manifest.digest, manifest.size) if manifest else ("", 0)
    for kind, what, expected, actual in (
        ("digest", "spec.source.expectedDigest", env.expected_digest, download.digest),
        ("size", "spec.source.expectedSize", env.expected_size, download.size),
        ("digest", "the digest in its manifest", recorded[0], download.digest),
        ("size", "the size in its manifest", recorded[1], download.size),
    ):
        if expected and expected != actual:
            raise _mismatch(f"the {kind} of {env.key} is {actual}, but {what} is {expected}")
    if manifest is None or env.force:
        return
    for what, expected, actual, fits in (
        _same("spec.source.expectedClusterID", env.expected_cluster_id, manifest.cluster_id),
        _same("spec.source.expectedVersion", env.expected_version, manifest.version),
        (
            *("the seal of the cluster", env.expected_seal, manifest.seal),
            may_open(env.expected_seal, manifest.seal),
        ),
    ):
        if not fits:
            raise _mismatch(
                f"the manifest of {env.key} names {actual}, but {what} is {expected}: choose "
                "another snapshot, or set spec.force"
            )


def _same(what: str, expected: str, actual: str) -> tuple[str, str, str, bool]:
    return what, expected, actual, not expected or not actual or expected == actual


def check_target(env: RestoreEnv, session: LeaderSession, manifest: Manifest | None) -> None:
    """Compare the snapshot with the servers. Raises JobFailure(Verification)."""
    health = session.leader.health
    if env.force:
        return
    # Without a manifest, `check` has compared the digest, so the expected values apply.
    version = (manifest.version if manifest else "") or env.expected_version
    if not can_read_data_of(health.version, version):
        raise _mismatch(
            f"{env.key} was taken by OpenBao {version}, but the servers run {health.version}, "
            f"which cannot read newer data: set spec.version of the cluster to {version}"
        )
    cluster_id = (manifest.cluster_id if manifest else "") or env.expected_cluster_id
    permitted = env.any_cluster_id or cluster_id in ("", health.cluster_id, env.named_cluster_id)
    if not permitted:
        raise _mismatch(
            f"{env.key} is a snapshot of cluster {cluster_id}, but {env.server.cluster} has the "
            f"cluster id {health.cluster_id}: to replace its data with the data of the other "
            f"cluster, set spec.source.expectedClusterID to {cluster_id}"
        )


def _mismatch(reason: str) -> JobFailure:
    return JobFailure("Verification", reason)


# --- sending ------------------------------------------------------------------------------------


async def _send(
    env: RestoreEnv,
    context: JobContext,
    session: LeaderSession,
    download: DownloadedSnapshot,
    evidence: RestoreEvidence,
) -> RestoreReport:
    """Send the snapshot and return the result. Never raises."""
    try:
        return await _send_and_confirm(env, context, session, download, evidence)
    except asyncio.CancelledError:
        return _failed("the job was stopped while the leader received the snapshot")
    except Exception as error:
        log.exception("the job failed after it sent the snapshot")
        return _failed(f"{type(error).__name__} after the snapshot was sent")


async def _send_and_confirm(
    env: RestoreEnv,
    context: JobContext,
    session: LeaderSession,
    download: DownloadedSnapshot,
    evidence: RestoreEvidence,
) -> RestoreReport:
    address, send_error = session.leader.address, ""
    log.info("sending the snapshot", to=session.leader.pod, force=env.force)
    try:
        await session.bao.restore(
            address, session.token, read_chunks(download.path), force=env.force
        )
    except (Denied, NotSentError) as error:
        return _failed(str(error), untouched=True)
    except BaoError as error:
        # The leader may have accepted the snapshot: query the servers.
        send_error = str(error)
    # Logged before the confirmation, which may take minutes.
    log.info("the leader has answered", accepted=not send_error, error=send_error)
    evidence = replace(evidence, accepted=not send_error)
    confirmation = await confirm(env, context, session, evidence)
    log.info("the servers were queried", state=confirmation.state, reason=confirmation.message)
    return _report(env, confirmation, send_error)


def _report(env: RestoreEnv, confirmation: Confirmation, send_error: str) -> RestoreReport:
    if confirmation.state == "Applied" or (confirmation.state == "Sealed" and env.force):
        return RestoreReport(
            outcome="Succeeded", message=confirmation.message, sealed=confirmation.state == "Sealed"
        )
    message = "; ".join(filter(None, (send_error, confirmation.message)))
    return _failed(message).model_copy(update={"sealed": confirmation.state == "Sealed"})


def _failed(message: str, *, untouched: bool = False) -> RestoreReport:
    return RestoreReport(
        outcome="Failed", failure="Snapshot", message=shorten(message), untouched=untouched
    )
