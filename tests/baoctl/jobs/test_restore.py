"""baoctl.jobs.restore: the snapshots that a Job may restore into a cluster."""

from dataclasses import replace
from typing import Any

import pytest

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import Leader, LeaderSession
from baoctl.jobs.restore import check_target
from contracts.jobs.env import RestoreEnv
from contracts.jobs.snapshot_manifest import Manifest
from managers.bao.client import Bao
from managers.bao.models import ServerHealth
from runtime.client.write_guard import allow_writes
from tests.gen.job_templates import KEY, restore_env, target
from tests.gen.snapshots import manifest_for

STAGING, PROD = "id-of-staging", "id-of-prod"
VERSION = "2.4.0"
MANIFEST = manifest_for(KEY, cluster_id=STAGING, version=VERSION, cluster="staging")


async def compare(manifest: Manifest | None = MANIFEST, runs: str = VERSION, **orders: Any) -> None:
    """Compare a snapshot with servers whose own id is that of PROD."""
    env: RestoreEnv = replace(restore_env(target()), **orders)
    health = ServerHealth(
        initialized=True, sealed=False, standby=False, version=runs, cluster_id=PROD
    )
    async with Bao("", "", 1, guard=allow_writes, plain=True) as bao:
        check_target(env, LeaderSession(bao, Leader("x-0", "10.0.0.1", health), ""), manifest)


async def test_a_snapshot_of_another_cluster_needs_the_id_in_the_spec() -> None:
    """The OpenBaoBackup names its cluster; the user has not confirmed that its data are wanted."""
    with pytest.raises(JobFailure, match=f"set spec.source.expectedClusterID to {STAGING}"):
        await compare(expected_cluster_id=STAGING)


async def test_without_a_manifest_the_id_in_the_openbaobackup_is_compared() -> None:
    with pytest.raises(JobFailure, match=f"is a snapshot of cluster {STAGING}"):
        await compare(None, expected_cluster_id=STAGING)


async def test_newer_data_without_a_manifest_are_refused() -> None:
    with pytest.raises(JobFailure, match=r"taken by OpenBao 2\.5\.0"):
        await compare(None, expected_version="2.5.0")


@pytest.mark.parametrize(
    ("runs", "taken_by", "refused"),
    [
        ("2.6.2", "2.7.0", True),
        ("2.7.2", "2.8.0", True),
        ("2.7.2", "3.0.0", True),
        ("2.6.2", "2.7.0-beta1", True),
        ("2.7.0", "2.7.2", False),
        ("2.7.2", "2.6.2", False),
        ("2.7.2", "", False),
        ("", "2.7.2", False),
    ],
)
async def test_data_of_a_later_minor_version_are_refused(
    runs: str, taken_by: str, refused: bool
) -> None:
    snapshot = replace(MANIFEST, cluster_id=PROD, version=taken_by)
    if refused:
        with pytest.raises(JobFailure, match=f"set spec.version of the cluster to {taken_by}"):
            await compare(snapshot, runs=runs)
    else:
        await compare(snapshot, runs=runs)
    await compare(snapshot, runs=runs, force=True)


async def test_a_snapshot_of_an_unexpected_cluster_is_refused() -> None:
    with pytest.raises(JobFailure, match=f"is a snapshot of cluster {STAGING}"):
        await compare(expected_cluster_id=STAGING, named_cluster_id="id-of-test")


@pytest.mark.parametrize(
    "orders",
    [
        pytest.param({"named_cluster_id": STAGING}, id="the user named the cluster"),
        pytest.param({"any_cluster_id": True}, id="the operator observed new servers"),
        pytest.param({"force": True}, id="force"),
    ],
)
async def test_data_of_another_cluster_are_allowed(orders: dict[str, Any]) -> None:
    await compare(expected_cluster_id=STAGING, **orders)


async def test_data_of_the_same_cluster_need_no_id() -> None:
    await compare(replace(MANIFEST, cluster_id=PROD), expected_cluster_id=PROD)


async def test_unknown_values_are_not_compared() -> None:
    await compare(replace(MANIFEST, cluster_id="", version=""))
    await compare(None)
