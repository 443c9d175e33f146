"""baoctl upgrade plan for a blue/green upgrade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from baoctl.cli import main
from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from tests import gen
from tests.baoctl.commands.upgrade.dumps import NEW, OLD, dump

SECOND: dict[str, Any] = {"strategy": "BlueGreen", "jwtAuthRole": "openbao-operator-upgrade"}
CLUSTER = (
    gen.cluster(version=OLD)
    .initialized(OLD)
    .with_status(release={"version": OLD})
    .with_spec(upgrade=SECOND)
    .with_login()
)
GREEN = revision_of(Release(NEW), 3)
PAGE = Path(__file__).parents[4] / "docs" / "upgrade-bluegreen.md"
GOING = {"operationID": "0123456789", "greenRevision": GREEN, "greenVersion": NEW}


def output(cluster: gen.Cluster, *arguments: str) -> str:
    result = CliRunner().invoke(
        main, ["upgrade", "plan", "-f", "-", "--to", NEW, *arguments], input=dump(cluster)
    )
    return result.stdout


def plan_of(cluster: gen.Cluster, *arguments: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(output(cluster, "-o", "json", *arguments))
    return read


def with_settings(**settings: Any) -> gen.Cluster:
    return CLUSTER.with_spec(upgrade={**SECOND, "blueGreen": settings})


def going(phase: str, **status: Any) -> gen.Cluster:
    return CLUSTER.with_spec(version=NEW).with_status(blueGreen={**GOING, "phase": phase}, **status)


def test_the_example_in_the_docs_equals_the_output() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert output(CLUSTER) in page.replace("default/vault", "ns/x").replace("vault", "x")


def test_the_phases_are_listed_in_order() -> None:
    steps = "\n".join(plan_of(CLUSTER)["steps"])
    marks = (
        "acquire the operation lock", f"create 3 servers x-{GREEN} of {NEW}", "without a vote",
        "caught up", "promotes them to voters", "switch the public Service",
        "demotes the voters of x ", "for 60 s", "cannot be rolled back", "its volumes stay",
        "release the operation lock",
    )  # fmt: skip
    places = [steps.index(mark) for mark in marks]
    assert places == sorted(places)


# sentence: (cluster, an additional step)
WISHES: dict[str, tuple[gen.Cluster, str]] = {
    "a hook": (
        with_settings(verification={"prePromotionHook": {"image": "a/b:1", "timeoutSeconds": 77}}),
        "the pre-promotion hook verifies them, for 77 s at most",
    ),
    "an approval": (with_settings(autoPromote=False), "spec.upgrade.requests.promote"),
    "an approval of the cleanup": (
        with_settings(autoCleanup=False),
        "keep them until a new spec.upgrade.requests.cleanup",
    ),
    "time to sync": (with_settings(verification={"minSyncDuration": "5m"}), "replicate for 5m"),
    "time to verify": (with_settings(autoRollback={"stabilizationSeconds": 9}), "servers for 9 s"),
    "no volumes": (CLUSTER.with_spec(deletionPolicy="DeleteAll"), "its volumes are deleted"),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "step"), WISHES.values(), ids=WISHES.keys())
def test_a_setting_adds_its_step(cluster: gen.Cluster, step: str) -> None:
    assert not [line for line in plan_of(CLUSTER)["steps"] if step in line]
    assert [line for line in plan_of(cluster)["steps"] if step in line]


def test_configured_waits_are_added_to_the_duration() -> None:
    slow = with_settings(
        verification={"minSyncDuration": "1h"}, autoRollback={"stabilizationSeconds": 0}
    )
    least, most = plan_of(CLUSTER)["seconds"]
    assert plan_of(slow)["seconds"] == [least - 60 + 3600, most - 60 + 3600]
    assert plan_of(CLUSTER)["deadline_seconds"] == 1800


def test_read_replicas_are_replaced_last() -> None:
    steps = plan_of(CLUSTER.with_spec(readReplicas={"replicas": 2}))["steps"]
    assert steps[-2] == "replace the 2 read replicas, one at a time"


def test_a_snapshot_comes_first() -> None:
    target = {"provider": "s3", "bucket": "b", "endpoint": "https://s3.example.com"}
    backup = {"schedule": "0 3 * * *", "target": target, "jwtAuthRole": "backup"}
    cluster = with_settings(preUpgradeSnapshot=True).with_spec(backup=backup)
    assert "OpenBaoBackup" in plan_of(cluster)["steps"][1]


# sentence: (cluster, arguments, answer, reason, part of the message)
ANSWERS: dict[str, tuple[gen.Cluster, str, str, str]] = {
    "a healthy cluster": (CLUSTER, "begins", "", "immediately"),
    "no change": (
        CLUSTER.with_spec(version=NEW).with_status(release={"version": NEW}), "nothing", "", NEW,
    ),
    "an aborted upgrade": (
        CLUSTER.with_status(blueGreen={"phase": "Idle", "failedRevision": GREEN}),
        "refused", "UpgradeRollback", "requests.retry",
    ),
    "a running backup": (
        CLUSTER.with_status(
            operationLock={"operation": "Backup", "holder": "openbaobackup/monday"}
        ),
        "waits", "OperationLockBlocked", "monday",
    ),
    "a pause": (CLUSTER.with_spec(paused=True), "waits", "Paused", "spec.paused"),
    "an upgrade in progress": (going("Syncing"), "goes-on", "", "Syncing (green catches up"),
    "a rollback in progress": (going("RollingBack"), "goes-on", "", f"{NEW} back to {OLD}"),
    "break glass": (
        going("RollingBack", breakGlass={"active": True, "message": "blue does not lead"}),
        "waits", "BreakGlassRequired", "spec.breakGlassAck",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "answer", "reason", "named"), ANSWERS.values(), ids=ANSWERS.keys()
)
def test_answer(cluster: gen.Cluster, answer: str, reason: str, named: str) -> None:
    plan = plan_of(cluster)
    assert (plan["answer"], plan["reason"]) == (answer, reason)
    assert named in plan["message"]
    assert plan["strategy"] == "BlueGreen"


@pytest.mark.parametrize(
    ("phase", "version", "named"),
    [
        ("Syncing", OLD, "it would be rolled back"),
        ("Promoting", OLD, "it would complete first"),
        ("Syncing", "2.5.6", "it would complete first"),
    ],
)
def test_another_target_during_an_upgrade(phase: str, version: str, named: str) -> None:
    plan = plan_of(going(phase), "--to", version)
    assert plan["answer"] == "goes-on"
    assert named in plan["message"]


def test_only_remaining_steps_are_listed() -> None:
    first = {
        phase: plan_of(going(phase))["steps"][0]
        for phase in ("Syncing", "Promoting", "DemotingBlue", "Cleanup", "RollbackCleanup")
    }
    assert first == {
        "Syncing": "a Job waits until they have caught up",
        "Promoting": "a Job promotes them to voters",
        "DemotingBlue": "switch the public Service to them",
        "Cleanup": (
            "a Job removes x from the raft cluster; then its servers are deleted, and its volumes "
            "stay (deletionPolicy is Retain)"
        ),
        "RollbackCleanup": (
            f"a Job removes x-{GREEN} from the raft cluster; then its servers and its volumes are "
            "deleted"
        ),
    }


def test_an_upgrade_keeps_its_strategy() -> None:
    rolling = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Rolling"}
    plan = plan_of(
        CLUSTER.with_spec(version=NEW).with_status(release={"version": NEW}, upgrade=rolling)
    )
    assert plan["strategy"] == "RollingUpdate"
    assert plan_of(going("Syncing").with_spec(upgrade={}))["strategy"] == "BlueGreen"


def test_an_upgrade_without_a_login_is_refused() -> None:
    cluster = CLUSTER.with_spec(upgrade={"strategy": "BlueGreen"})
    assert plan_of(cluster)["answer"] == "refused"
