"""Builds the Job of one restore test. Pure; uses contracts.builders.job."""

from __future__ import annotations

from contracts.api.backup import RestoreTestRun
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.builders.job import restore_test_job
from contracts.builders.job_store import store_env
from contracts.builders.restore_test_server import Sidecar
from contracts.jobs.env import RunEnv, TestEnv
from contracts.jobs.template import JobTemplate
from managers.restore_test.facts import Candidate
from runtime.types import Object


def job_of(
    cluster: OpenBaoCluster,
    template: JobTemplate,
    sidecar: Sidecar,
    subject: Candidate,
    run: RestoreTestRun,
) -> Object:
    """Build the Job. Raises ValueError without spec.backup or without a snapshot to test."""
    backup, snapshot = cluster.spec.backup, subject.snapshot
    if backup is None or snapshot is None or not snapshot.key:
        raise ValueError(f"OpenBaoBackup {subject.name} has no snapshot to test")
    env = TestEnv(
        run=RunEnv("openbaobackups", template.namespace, subject.name, subject.uid),
        store=store_env(backup.target, template),
        server=template.server_env(),
        key=snapshot.key,
        expected_cluster_id=snapshot.cluster_id or "",
        expected_version=snapshot.version or "",
        expected_digest=snapshot.digest or "",
        expected_size=snapshot.size or 0,
        expected_index=snapshot.index or 0,
    )
    job = restore_test_job(template, backup.target, env, sidecar)
    # Each run has its own name: the Job of the last test may still exist.
    return {**job, "metadata": {**job["metadata"], "name": run.job_name}}
