"""baoctl upgrade plan: its output for a dump, which is what the operator would do."""

import json
import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from baoctl.cli import main
from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.upgrade.cluster_dump import objects_in, read_dump
from baoctl.commands.upgrade.live_objects import fetch
from baoctl.commands.upgrade.plan import UpgradeRequest, apply_edit, forecast
from contracts.api.group import CLUSTERS
from contracts.records.upgrade import Release
from managers.upgrade.preflight.checks import CHECKS, check
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.clock import SystemClock
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.types import Resource
from tests import gen
from tests.baoctl.commands.upgrade.dumps import CLUSTER, NEW, OLD, dump

DEADLINE = timedelta(minutes=10)
PAGE = Path(__file__).parents[4] / "docs" / "upgrade.md"


def call(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["upgrade", "plan", "-f", "-", *arguments], input=text)


def plan_of(text: str, *arguments: str) -> dict[str, Any]:
    result = call(text, "-o", "json", *arguments)
    read: dict[str, Any] = json.loads(result.stdout)
    return {**read, "exit": result.exit_code}


def test_the_steps_and_the_checks_are_printed() -> None:
    result = call(dump(), "--to", NEW)
    assert result.exit_code == 0
    text = result.stdout
    assert (
        text.index("replace x-2")
        < text.index("replace x-0")
        < text.index("replace x-1, the leader")
    )
    assert [row.name for row in CHECKS if f" {row.name} " not in text] == []
    assert "Nothing was changed" in text
    assert text.rstrip().endswith("Result: begins: the upgrade would start immediately")


def test_the_example_in_the_docs_equals_the_output() -> None:
    cluster = CLUSTER.with_spec(upgrade={"jwtAuthRole": "openbao-operator-upgrade"})
    printed = call(dump(cluster), "--to", NEW).stdout
    page = PAGE.read_text(encoding="utf-8")
    assert printed in page.replace("default/vault", "ns/x").replace("vault-", "x-")


LOCK = {"operation": "Backup", "holder": "openbaobackup/monday"}
ROLLING = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Rolling", "completedPods": [2]}
UNDER_WAY = CLUSTER.with_spec(version=NEW).with_status(
    release={"version": NEW},
    upgrade=ROLLING,
    operationLock={"operation": "Upgrade", "holder": "openbaocluster/upgrade"},
)
# sentence: (cluster, arguments, answer, reason, exit status)
ANSWERS: dict[str, tuple[gen.Cluster, tuple[str, ...], str, str, int]] = {
    "a healthy cluster": (CLUSTER, ("--to", NEW), "begins", "", 0),
    "no change": (CLUSTER, ("--to", OLD), "nothing", "", 0),
    "an older version": (CLUSTER, ("--to", "2.4.3"), "refused", "DowngradeBlocked", 4),
    "a tag of another version": (
        CLUSTER, ("--to", NEW, "--image", "example.com/bao:2.5.4"),
        "refused", "ImageVersionMismatch", 4,
    ),
    "conflicting edits": (
        CLUSTER.with_spec(upgrade={"jwtAuthRole": "up"}), ("--to", NEW, "--strategy", "BlueGreen"),
        "refused", "", 4,
    ),
    "a running backup": (
        CLUSTER.with_status(operationLock=LOCK), ("--to", NEW), "waits", "OperationLockBlocked", 3,
    ),
    "a pause": (CLUSTER.with_spec(paused=True), ("--to", NEW), "waits", "Paused", 3),
    "an upgrade in progress": (UNDER_WAY, ("--to", NEW), "goes-on", "", 0),
    "another target during an upgrade": (UNDER_WAY, ("--to", "2.5.6"), "goes-on", "", 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "arguments", "answer", "reason", "status"), ANSWERS.values(), ids=ANSWERS.keys()
)
def test_answer(
    cluster: gen.Cluster, arguments: tuple[str, ...], answer: str, reason: str, status: int
) -> None:
    plan = plan_of(dump(cluster), *arguments)
    assert (plan["answer"], plan["exit"]) == (answer, status)
    assert reason in ("", plan["reason"])


def test_a_refused_upgrade_has_no_steps() -> None:
    assert plan_of(dump(), "--to", "2.4.3")["steps"] == []


def test_upgraded_servers_are_omitted() -> None:
    steps = "; ".join(plan_of(dump(UNDER_WAY), "--to", NEW)["steps"])
    assert ("replace x-2" in steps, "replace x-0" in steps) == (False, True)


def test_another_target_replaces_all_servers() -> None:
    steps = "; ".join(plan_of(dump(UNDER_WAY), "--to", "2.5.6")["steps"])
    assert "replace x-2" in steps


def test_the_checks_equal_those_of_the_operator() -> None:
    cluster_dump = read_dump(
        objects_in(dump(CLUSTER.with_status(operationLock=LOCK))), None, gen.world().now
    )
    cluster = apply_edit(cluster_dump.cluster, UpgradeRequest(NEW))
    verdict = check(cluster, cluster_dump.observed, Release.requested(cluster), resuming=False)
    lines = forecast(cluster_dump, UpgradeRequest(NEW), DEADLINE).checks
    # Only the operator checks the health that the leader reports.
    assert [(line.check, line.state) for line in lines if line.state != "unknown"] == [
        (result.check, result.state) for result in verdict.results if result.check != "quorum"
    ]


def test_a_check_without_data_is_unknown() -> None:
    items = yaml.safe_load(dump())["items"]
    without = [item for item in items if item["kind"] != "PersistentVolumeClaim"]
    checks = plan_of(yaml.safe_dump_all(without), "--to", NEW)["checks"]
    assert {item["check"] for item in checks if item["state"] == "unknown"} == {"quorum", "volumes"}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"jwtAuthRole": "openbao-operator-upgrade"}, "x-1 is the leader: a Job asks it"),
        ({}, "replace x-1, the leader, after the operator has asked it"),
    ],
)
def test_the_check_of_the_leader_names_who_runs_it(settings: Mapping[str, Any], named: str) -> None:
    assert named in call(dump(CLUSTER.with_spec(upgrade=dict(settings))), "--to", NEW).stdout


def test_a_snapshot_comes_before_the_first_server() -> None:
    target = {"provider": "s3", "bucket": "b", "endpoint": "https://s3.example.com"}
    backup = {"schedule": "0 3 * * *", "target": target, "jwtAuthRole": "backup"}
    wished = CLUSTER.with_spec(backup=backup, upgrade={"preUpgradeSnapshot": True})
    steps = plan_of(dump(wished), "--to", NEW)["steps"]
    assert "OpenBaoBackup" in steps[1]


# sentence: (text, arguments, part of the message, exit status)
UNUSABLE: dict[str, tuple[str, tuple[str, ...], str, int]] = {
    "two clusters": (
        f"{dump()}---\n{yaml.safe_dump(gen.cluster('y').object())}", (), "ns/x, ns/y", 2,
    ),
    "another cluster": (dump(), ("--cluster", "ns/other"), "ns/other", 5),
    "an invalid spec": (
        yaml.safe_dump(CLUSTER.with_spec(replicas="many").object()), (), "spec.replicas", 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "named", "status"), UNUSABLE.values(), ids=UNUSABLE.keys()
)
def test_an_unusable_dump_is_reported(
    text: str, arguments: tuple[str, ...], named: str, status: int
) -> None:
    result = call(text, "--to", NEW, *arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert named in result.stderr


def test_a_cluster_can_be_selected_from_several() -> None:
    both = f"{dump()}---\n{yaml.safe_dump(gen.cluster('y').object())}"
    assert plan_of(both, "--to", NEW, "--cluster", "ns/x")["cluster"] == "ns/x"


def test_without_a_dump_the_cluster_is_required() -> None:
    result = CliRunner().invoke(main, ["upgrade", "plan", "--to", NEW])
    assert (result.exit_code, "NAMESPACE/NAME" in result.stderr) == (2, True)


KINDS: Mapping[str, Resource] = {
    resource.kind: resource for resource in (CLUSTERS, STATEFUL_SET, POD, PVC)
}


def live() -> Session:
    """An API server with the objects of the dump, and the pod of another cluster."""
    server = FakeApiServer(SystemClock(), random.Random(1))
    server.serve(custom(CLUSTERS))
    others = {"apiVersion": "v1", "kind": "Pod", **gen.pod(0, "other").object()}
    for obj in (*objects_in(dump()), others):
        metadata = {k: v for k, v in obj["metadata"].items() if k not in ("resourceVersion", "uid")}
        server.put(KINDS[obj["kind"]], {**obj, "metadata": metadata})
    return Session(client_of(FakeWire(server, random.Random(1))), SystemClock(), "ns")


async def test_without_a_dump_the_live_cluster_is_read() -> None:
    found = await fetch(live(), "x")
    cluster_dump = read_dump(found, "ns/x", gen.world().now)
    assert [pod.name for pod in cluster_dump.observed.pods] == ["x-0", "x-1", "x-2"]
    assert cluster_dump.kinds == {"StatefulSet", "Pod", "PersistentVolumeClaim"}


async def test_a_missing_cluster_is_reported() -> None:
    with pytest.raises(RequestError, match="'y' in namespace ns, only x") as raised:
        await fetch(live(), "y")
    assert raised.value.exit_code == 5


def test_a_missing_kubeconfig_is_reported(tmp_path: Path) -> None:
    there = {"KUBECONFIG": str(tmp_path / "none"), "KUBERNETES_SERVICE_HOST": None}
    arguments = ["upgrade", "plan", "--to", NEW, "--cluster", "ns/x"]
    result = CliRunner().invoke(main, arguments, env=there)
    assert (result.exit_code, "kubeconfig" in result.stderr) == (6, True)
