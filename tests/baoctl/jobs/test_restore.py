"""baoctl.jobs.restore: whose data a job may put in the place of whose, by what it is told."""

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


async def test_what_an_object_says_of_its_snapshot_names_no_cluster() -> None:
    """The OpenBaoBackup knows of which cluster it is; that a person wants its data is not said."""
    with pytest.raises(JobFailure, match=f"set spec.source.expectedClusterID to {STAGING}"):
        await compare(expected_cluster_id=STAGING)


async def test_without_a_manifest_the_word_of_the_object_is_compared() -> None:
    with pytest.raises(JobFailure, match=f"is a snapshot of cluster {STAGING}"):
        await compare(None, expected_cluster_id=STAGING)


async def test_without_a_manifest_newer_data_are_refused_too() -> None:
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
async def test_servers_of_an_earlier_minor_version_get_no_newer_data(
    runs: str, taken_by: str, refused: bool
) -> None:
    snapshot = replace(MANIFEST, cluster_id=PROD, version=taken_by)
    if refused:
        with pytest.raises(JobFailure, match=f"set spec.version of the cluster to {taken_by}"):
            await compare(snapshot, runs=runs)
    else:
        await compare(snapshot, runs=runs)
    await compare(snapshot, runs=runs, force=True)


async def test_another_cluster_than_the_named_one_is_refused() -> None:
    with pytest.raises(JobFailure, match=f"is a snapshot of cluster {STAGING}"):
        await compare(expected_cluster_id=STAGING, named_cluster_id="id-of-test")


@pytest.mark.parametrize(
    "orders",
    [
        pytest.param({"named_cluster_id": STAGING}, id="a person named the cluster"),
        pytest.param({"any_cluster_id": True}, id="the operator saw that the servers are anew"),
        pytest.param({"force": True}, id="force"),
    ],
)
async def test_who_may_have_the_data_of_another_cluster(orders: dict[str, Any]) -> None:
    await compare(expected_cluster_id=STAGING, **orders)


async def test_the_data_of_the_same_cluster_need_no_name() -> None:
    await compare(replace(MANIFEST, cluster_id=PROD), expected_cluster_id=PROD)


async def test_what_nobody_knows_is_not_compared() -> None:
    await compare(replace(MANIFEST, cluster_id="", version=""))
    await compare(None)
