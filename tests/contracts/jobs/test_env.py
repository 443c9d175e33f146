"""The environment of a Job: the same records write and read it."""

from dataclasses import replace
from typing import get_args

import pytest

from contracts.api.cluster.snapshot_store import Provider
from contracts.jobs.env import (
    BackupEnv,
    Env,
    RestoreEnv,
    RetentionEnv,
    RunEnv,
    ServerEnv,
    StoreEnv,
    TestEnv,
    UpgradeEnv,
)

RUN = RunEnv("openbaobackups", "ns", "nightly", "uid-1")
STORE = StoreEnv(
    "s3", "snapshots", "https://s3.example.com", path_prefix="prod", region="eu-central-1",
    use_path_style=True, insecure_skip_verify=True, part_size=8 << 20, concurrency=2,
    role_arn="arn:aws:iam::1:role/x", web_identity_path="/var/run/token",
    credentials_path="/etc/creds", forbidden=("10.0.0.1:6443", "[fd00::1]:6443"),
)  # fmt: skip
SERVER = ServerEnv("ns", "c", ("c-0", "c-1"), server_name="c.local", role="backup")
BACKUP = BackupEnv(
    run=RUN, store=STORE, server=SERVER, key="k", backup_name="nightly", cluster_uid="c-uid",
    seal="static:1", canary_path="kv/canary",
    retention=RetentionEnv(14, 3600, dry_run=True, protected=("a", "b")),
)  # fmt: skip
RESTORE = RestoreEnv(
    run=replace(RUN, resource="openbaorestores"), store=STORE, server=SERVER, key="k",
    expected_size=5, force=True, deadline="2026-01-01T00:00:00Z",
)  # fmt: skip
TEST = TestEnv(run=RUN, store=STORE, server=SERVER, key="k", expected_index=9)
UPGRADE = UpgradeEnv(
    server=SERVER, action="a", run_id="r", target="c-0", blue=("c-0", "c-1"), green=("c-g-0",),
    sync_threshold=7, timeout=9,
)  # fmt: skip


@pytest.mark.parametrize(
    "env", [BACKUP, RESTORE, TEST, UPGRADE], ids=lambda env: type(env).__name__
)
def test_the_environment_survives_a_round_trip(env: Env) -> None:
    assert type(env).from_environment(env.to_environment()) == env


def test_the_downward_api_is_read_and_never_written() -> None:
    variables = BACKUP.to_environment()
    assert not {"POD_NAME", "POD_UID", "JOB_UID"} & set(variables)
    read = BackupEnv.from_environment(variables | {"POD_NAME": "p", "POD_UID": "u", "JOB_UID": "j"})
    assert (read.run.pod_name, read.run.pod_uid, read.run.job_uid) == ("p", "u", "j")


def test_a_default_is_not_written() -> None:
    # The webhook of a cloud adds its variables only to a container without them.
    assert set(StoreEnv("gcs", "b").to_environment()) == {"BACKUP_PROVIDER", "BACKUP_BUCKET"}


def test_pods_are_addressed_through_the_headless_service() -> None:
    assert SERVER.hosts == ("c-0.c.ns.svc", "c-1.c.ns.svc")


@pytest.mark.parametrize("provider", get_args(Provider))
def test_a_job_reads_every_provider_of_the_api(provider: str) -> None:
    variables = {"BACKUP_PROVIDER": provider, "BACKUP_BUCKET": "b"}
    assert StoreEnv.from_environment(variables).provider == provider
