"""Job templates, and the variables of Jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, BACKUP_KIND
from contracts.builders.job_store import store_env
from contracts.jobs.env import BackupEnv, RestoreEnv, RunEnv, TestEnv
from contracts.jobs.template import (
    NO_OVERRIDES,
    AuthorityFile,
    JobLogin,
    JobOverrides,
    JobTemplate,
)
from contracts.naming.names import Job
from runtime.apply.ownership import Owner
from runtime.outcome import Blocked, Wait
from tests.gen.clusters import NAMESPACE

RUN = Owner(API_VERSION, BACKUP_KIND, NAMESPACE, "nightly", "uid-nightly")
KEY = "prod/ns/x/2026-01-01T03-00-00Z-0a1b2c3d.snap"
IMAGE = "registry.example.com/openbao-operator:1.0.0"


def job_template(**changes: Any) -> JobTemplate:
    """The Job template of a cluster of three, without settings of the platform."""
    usual = JobTemplate(
        cluster="x",
        namespace=NAMESPACE,
        image=IMAGE,
        account="x-backup-serviceaccount",
        audience="openbao-internal/ns/x",
        login=JobLogin(role="openbao-operator-backup"),
        authority=AuthorityFile("x-tls-server", "ca.crt"),
        server_name="openbao-cluster-x.local",
        servers=("x-0", "x-1", "x-2"),
        forbidden=("10.96.0.1:443",),
    )
    return replace(usual, **changes)


def upgrader(**changes: Any) -> JobTemplate:
    """The same for the steps of an upgrade."""
    usual = job_template(
        account="x-upgrade-serviceaccount", login=JobLogin(role="openbao-operator-upgrade")
    )
    return replace(usual, **changes)


def target(provider: str = "s3", **fields: Any) -> BackupTarget:
    """A store, as `spec.backup.target` names it."""
    usual: dict[str, Any] = {"provider": provider, "bucket": "snapshots", "pathPrefix": "prod"}
    if provider == "s3":
        usual["endpoint"] = "https://s3.example.com"
    return BackupTarget.model_validate({**usual, **fields})


def backup_env(where: BackupTarget, who: JobTemplate | None = None) -> BackupEnv:
    """The orders of a backup."""
    who = who or job_template()
    return BackupEnv(
        run=_run("openbaobackups", "nightly"),
        store=store_env(where, who),
        server=who.server_env(),
        key=KEY,
        backup_name="nightly",
        cluster_uid="uid-x",
    )


def restore_env(
    where: BackupTarget, who: JobTemplate | None = None, *, size: int = 0
) -> RestoreEnv:
    """The orders of a restore; `size` in bytes, 0 if nobody knows."""
    who = who or job_template(account="x-restore-serviceaccount")
    return RestoreEnv(
        run=_run("openbaorestores", "monday"),
        store=store_env(where, who),
        server=who.server_env(),
        key=KEY,
        expected_size=size,
    )


def proof_env(where: BackupTarget, who: JobTemplate | None = None, *, size: int = 0) -> TestEnv:
    """The orders of the test of a backup."""
    who = who or job_template()
    return TestEnv(
        run=_run("openbaobackups", "nightly"),
        store=store_env(where, who),
        server=who.server_env(),
        key=KEY,
        expected_size=size,
    )


def _run(resource: Any, name: str) -> RunEnv:
    return RunEnv(resource=resource, namespace=NAMESPACE, name=name, uid=f"uid-{name}")


class FixedJobTemplates:
    """Answers with the Job template of a test, or with the reason why there is none.

    overrides is what the last caller wanted to be different.
    """

    def __init__(self, answer: JobTemplate | Wait | Blocked | None = None) -> None:
        self.answer = answer or job_template()
        self.overrides = NO_OVERRIDES

    async def of(
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides = NO_OVERRIDES
    ) -> JobTemplate | Wait | Blocked:
        self.overrides = overrides
        return self.answer
