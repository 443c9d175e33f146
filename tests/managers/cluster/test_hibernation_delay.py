"""Hibernation waits for operations that lose data or servers if servers stop in the middle."""

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from managers.upgrade.effective_spec import hibernation_delay, with_accepted_release
from runtime.builtin_kinds import STATEFUL_SET
from runtime.types import Object
from tests import gen
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.cluster.passes import condition_of, status_and_reason, status_of

LOCK = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 1}
BACKUP = {"operation": "Backup", "holder": "openbaobackup/nightly", "epoch": 1}
MARKED = {"name": "monday", "uid": "uid-monday"}
ASLEEP = gen.cluster(hibernate=True).initialized()
RESTORING = ASLEEP.with_status(operationLock=LOCK)

# sentence: (cluster, reason of the delay)
ROWS: dict[str, tuple[gen.Cluster, str]] = {
    "nothing is in progress": (ASLEEP, ""),
    "a restore": (RESTORING, "RestoreInProgress"),
    "a restore after one of the same name": (
        RESTORING.with_status(restore={**MARKED, "restartCompletedAt": "2030-01-01T00:00:00Z"}),
        "RestoreInProgress",
    ),
    "a restore that restarts the servers, which all have the data": (
        RESTORING.with_status(restore=MARKED), ""
    ),
    "a backup, which changes nothing": (ASLEEP.with_status(operationLock=BACKUP), ""),
    "a blue/green upgrade": (
        ASLEEP.with_status(blueGreen={"phase": "Syncing", "blueReplicas": 3}), "UpgradeInProgress"
    ),
    "no hibernation": (gen.cluster().initialized().with_status(operationLock=LOCK), ""),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "reason"), ROWS.values(), ids=ROWS)
def test_what_hibernation_waits_for(cluster: gen.Cluster, reason: str) -> None:
    read = cluster.read()
    delay = hibernation_delay(read)
    assert (delay.reason if delay else "") == reason
    hibernates = read.spec.hibernate and not reason
    assert with_accepted_release(read).spec.hibernate is hibernates


def test_the_status_reports_the_operation() -> None:
    status = status_of(RESTORING, gen.running(RESTORING))
    condition = condition_of(status, "Hibernated")
    assert (condition.status, condition.reason) == ("False", "RestoreInProgress")
    assert "openbaorestore/monday" in condition.message
    # The servers run, and are not reported as stopping.
    assert status_and_reason(status, "Available") == ("True", "AllReplicasReady")
    assert status_and_reason(status, "OpenBaoLeader") == ("True", "LeaderFound")


def set_status(bench: Bench, **fields: Any) -> None:
    changed: Object = copy.deepcopy(bench.cluster)
    changed["status"].update(fields)
    bench.api.with_objects((CLUSTERS, changed))


def replicas(bench: Bench) -> int:
    count: int = bench.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"]
    return count


async def test_no_server_stops_before_all_have_the_restored_data(bench: Bench) -> None:
    set_status(bench, operationLock=LOCK)
    bench.ask_for(hibernate=True)
    await bench.until_quiet()
    assert replicas(bench) == 3
    assert bench.condition("Reconciling") == ("True", "RestoreInProgress")
    set_status(bench, restore=MARKED)
    await bench.turn()
    assert replicas(bench) == 0
