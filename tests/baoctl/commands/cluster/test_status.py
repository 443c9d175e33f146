"""baoctl status: the content, the layout, and the exit status."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from baoctl.commands.cluster.observed import ClusterObservation
from baoctl.commands.cluster.status import view_of
from baoctl.commands.cluster.status_screen import screen
from baoctl.commands.cluster.terminal import emit
from contracts.naming.names import FINALIZER
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world
from tests.baoctl.commands.cluster.faulty_clusters import in_deletion
from tests.baoctl.commands.cluster.recorded_cluster import (
    healthy,
    with_condition,
    with_pod,
    with_spec,
    with_status,
)


def output(observation: ClusterObservation, width: int = 80, *, wide: bool = False) -> str:
    out = io.StringIO()
    emit(Console(file=out, width=width, highlight=False), screen(view_of(observation), wide=wide))
    return out.getvalue()


def test_the_status_of_a_healthy_cluster_fits_into_80_columns() -> None:
    text = output(healthy())
    assert max(map(len, text.splitlines())) <= 80
    assert (
        text
        == """\
default/first  Ready  3/3
  AllReplicasReady: 3 of 3 servers are ready

Version      2.7.2
Leader       first-0, 3 voters
Seal         static, unsealed
Certificate  365 days left
Backup       not configured
Operation    none
Age          22m

SERVER   READY  ROLE     VOTER  SEALED  VERSION  NODE
first-0  yes    leader   yes    no      2.7.2    rig-node
first-1  yes    standby  yes    no      2.7.2    rig-node
first-2  yes    standby  yes    no      2.7.2    rig-node
"""
    )


BACKUP = {
    "lastBackupTime": "2026-11-26T03:00:00Z", "lastBackupSize": 5 * 2**20,
    "nextScheduledBackup": "2026-11-27T03:00:00Z", "consecutiveFailures": 2,
    "lastFailureReason": "Storage",
}  # fmt: skip
UPGRADE = {
    "fromVersion": "2.7.1", "targetVersion": "2.7.2", "phase": "Rolling", "completedPods": [2],
}  # fmt: skip
LOCK = {"operation": "Upgrade", "holder": "openbaocluster/x", "renewedAt": "2026-11-26T11:59:30Z"}
# sentence: (cluster, parts of the output)
SAYS: dict[str, tuple[ClusterObservation, tuple[str, ...]]] = {
    "a pod that is not ready": (
        with_pod(healthy(), 2, state={"waiting": {"reason": "CrashLoopBackOff"}}),
        ("first-2  no, CrashLoopBackOff  -",),
    ),
    "a backup and its failures": (
        with_status(healthy(), backup=BACKUP),
        ("last 9h ago, 5.0 MiB, 2 failed since (Storage), next in 15h",),
    ),
    "an upgrade with its lock": (
        with_status(
            with_spec(healthy(), version="2.7.3"),
            upgrade=UPGRADE, operationLock=LOCK,
            operation={"kind": "Rolling", "summary": "Rolling 1/3"},
        ),
        (
            "Rolling 1/3; upgrade 2.7.1 to 2.7.2\n",
            "Upgrade by openbaocluster/x, renewed 30s ago", "2.7.2 (spec: 2.7.3)",
        ),
    ),
    "an upgrade without an operation": (
        with_status(healthy(), upgrade=UPGRADE),
        ("upgrade 2.7.1 to 2.7.2, Rolling, 1/3 servers",),
    ),
    "a condition with reason and next step": (
        with_condition(
            healthy(), "StorageConfigured", "False", "StorageClassPending", "data-first-1"
        ),
        (
            "Conditions not met", "StorageConfigured  StorageClassPending", "data-first-1",
            "Next: Wait; a volume is bound within a minute",
        ),
    ),
    "a pause": (
        with_condition(healthy(), "Paused", "True", "Paused", "spec.paused is true"),
        ("Paused  Paused",),
    ),
    "a certificate that has expired": (
        with_condition(healthy(), "TLSReady", "True", "Ready", "valid until 2026-11-01"),
        ("expired",),
    ),
    "a missing right": (
        replace(healthy(), pods=(), denied=("pods",)),
        ("The server pods cannot be read", "Not shown, because it cannot be read: pods"),
    ),
    "a spec that was not reconciled": (
        replace(
            healthy(),
            cluster={**healthy().cluster, "metadata": {"name": "first", "generation": 2}},
        ),
        ("Not ready", "has not reconciled the last change"),
    ),
    "a deletion": (
        in_deletion(FINALIZER, "example.com/keep"),
        ("Not ready", "Deleting: deletion began 60m ago", FINALIZER, "example.com/keep"),
    ),
    "no status": (
        replace(healthy(), cluster={**healthy().cluster, "status": {}}),
        ("Not ready", "NoStatus", "not running yet", "unknown"),
    ),
    "a message with escape sequences": (
        with_condition(healthy(), "Ready", "False", "NotReady", "a\x1b[2Jb\nc"),
        ("a\\x1b[2Jb\\nc",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("observation", "words"), SAYS.values(), ids=SAYS.keys())
def test_the_screen_shows(observation: ClusterObservation, words: tuple[str, ...]) -> None:
    text = output(observation, 120)
    assert [word for word in words if word not in text] == []


def test_only_the_last_column_is_wrapped_on_a_narrow_terminal() -> None:
    lines = output(healthy(), 40).splitlines()
    assert "first-0  yes    leader   yes    no      2.7.2    rig-node" in lines
    assert max(len(line) for line in lines if "first-" not in line and "SERVER" not in line) <= 40


def test_conditions_with_the_same_reason_share_a_line() -> None:
    observation = with_condition(healthy(), "Available", "False", "Hibernated", "no server runs")
    observation = with_condition(
        observation, "Hibernated", "True", "Hibernated", "volumes and keys are kept"
    )
    text = output(observation)
    assert "Available, Hibernated  Hibernated\n    volumes and keys are kept" in text
    assert "no server runs" not in text


def test_advice_is_shown_only_with_wide() -> None:
    assert "DevelopmentProfile" not in output(healthy())
    assert "DevelopmentProfile" in output(healthy(), 120, wide=True)


def test_only_a_ready_cluster_exits_with_0() -> None:
    assert view_of(healthy()).exit_code == 0
    ill = with_condition(healthy(), "Ready", "False", "NotReady", "x")
    assert view_of(ill).exit_code == 3


async def test_the_verb_prints_the_status_and_exits_with_it(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        text = await baoctl("status", "first")
        as_json = await baoctl("status", "first", "-o", "json")
        as_yaml = await baoctl("status", "first", "-o", "yaml", "--context", "here")
        listed = await baoctl("status", "-A", COLUMNS="80")
        missing = await baoctl("status", "other")
        elsewhere = await baoctl("status", "first", "--context", "there")
        nothing = await baoctl("status", "-n", "empty")
        both = await baoctl("status", "-n", "x", "-A")
        drawn = await baoctl("status", "first", "-w", "-o", "json")
    assert (text.exit_code, text.stdout.splitlines()[0]) == (0, "default/first  Ready  3/3")
    assert json.loads(as_json.stdout)["pods"][0]["role"] == "leader"
    assert yaml.safe_load(as_yaml.stdout)["daysLeft"] == json.loads(as_json.stdout)["daysLeft"]
    assert [line.split()[:4] for line in listed.stdout.splitlines()] == [
        ["NAMESPACE", "NAME", "READY", "VERSION"], ["default", "first", "3/3", "2.7.2"],
    ]  # fmt: skip
    assert (missing.exit_code, "only first" in missing.stderr) == (5, True)
    assert (elsewhere.exit_code, "elsewhere, which does not exist" in elsewhere.stderr) == (5, True)
    assert (nothing.exit_code, "There is no namespace empty" in nothing.stderr) == (
        0, True,
    )  # fmt: skip
    assert (both.exit_code, drawn.exit_code) == (2, 2)
    assert {call.method for call in server.requests} == {"GET"}
