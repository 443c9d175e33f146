"""managers.upgrade.condition: the condition of an upgrade and its reasons."""

from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.conditions.catalog import TYPES
from contracts.conditions.condition import ConditionUpdate
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.condition import failure_of, upgrading, upgrading_while_paused
from managers.upgrade.rolling.table import TRANSITIONS
from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen
from tests.managers.upgrade.preflight.cases import ROWS as CHECKED

OLD = gen.cluster().initialized()
BEFORE = {
    "type": "Upgrading",
    "status": "False",
    "reason": "Idle",
    "message": "",
    "lastTransitionTime": "2030-01-01T00:00:00Z",
}
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
STOPPED = LastError(reason="StepDownTimeout", message="x-0 still leads", at=NOON)
ALLOWED = {kind.name: set(kind.reasons) for kind in TYPES}
SUMMARY = ALLOWED["Ready"]


def going(**told: Any) -> UpgradeStatus:
    return UpgradeStatus(target_version="2.5.5", from_version="2.4.0", **told)


def decision(
    upgrade: UpgradeStatus | None = None, outcome: Outcome | None = None
) -> UpgradeDecision:
    return UpgradeDecision(Release("2.4.0"), outcome=outcome or Done(), upgrade=upgrade)


# sentence: (cluster, decision, "status reason", what the message names); None: no condition
TOLD: dict[str, tuple[gen.Cluster, UpgradeDecision, str | None, str]] = {
    "never upgraded": (OLD, decision(), None, ""),
    "an upgrade is over": (OLD.with_status(conditions=[BEFORE]), decision(), "False Idle", "2.4.0"),
    "a refused upgrade": (
        OLD, decision(outcome=Blocked("DowngradeBlocked", "old")), "False DowngradeBlocked", "old",
    ),
    "a waiting upgrade": (
        OLD, decision(outcome=Wait("QuorumLost", "one left")), "False QuorumLost", "one left",
    ),
    "no server was replaced": (OLD, decision(going()), "True InProgress", "no server was replaced"),
    "a snapshot": (
        OLD, decision(going(phase="Snapshot", snapshot="x-pre")), "True InProgress", "x-pre",
    ),
    "servers are replaced": (
        OLD, decision(going(phase="Rolling", completed_pods=(2,), pod="x-1")),
        "True InProgress", "1 of 3 servers are upgraded, x-1",
    ),
    "a failed upgrade": (
        OLD, decision(going(failure=STOPPED)), "False StepDownTimeout", "x-0 still leads",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "decision", "message", "named"), TOLD.values(), ids=TOLD.keys()
)
def test_the_condition(
    cluster: gen.Cluster, decision: UpgradeDecision, message: str | None, named: str
) -> None:
    update = upgrading(cluster.read(), decision)
    assert _reason_of(update) == message
    assert update is None or named in update.message


def _reason_of(update: ConditionUpdate | None) -> str | None:
    return None if update is None else f"{update.status} {update.reason}"


def test_a_pause_without_an_upgrade_is_not_reported() -> None:
    assert upgrading_while_paused(OLD.read()) is None


def test_the_failure_comes_from_the_decision_or_from_the_status() -> None:
    error = {"reason": "UpgradeFailed", "message": "m", "at": "2030-01-01T00:00:00Z"}
    known = {"targetVersion": "2.5.5", "fromVersion": "2.4.0", "failure": error}
    cluster = OLD.with_status(upgrade=known).read()
    assert failure_of(cluster, decision(going(failure=STOPPED))) == STOPPED
    assert failure_of(cluster, decision(going())) is None
    assert gen.present(failure_of(cluster, None)).reason == "UpgradeFailed"


def test_every_reason_of_the_table_is_allowed() -> None:
    reasons = {row.reason for row in TRANSITIONS} - {""}
    assert reasons >= {
        "UpgradeInProgress",
        "PreUpgradeSnapshot",
        "OperationLockBlocked",
        "PreUpgradeBackupFailed",
        "StepDownFailed",
        "StepDownTimeout",
        "PodNotReady",
        "HealthCheckFailed",
        "UpgradeFailed",
    }
    assert reasons - ALLOWED["Upgrading"] == set()
    assert reasons - SUMMARY == set()


def test_every_reason_of_a_check_is_allowed() -> None:
    reasons = {result.split()[2] for _, _, result, _ in CHECKED.values() if len(result.split()) > 2}
    assert reasons == {
        "DowngradeBlocked",
        "ImageVersionMismatch",
        "VersionPairRefused",
        "InvalidSpec",
        "NotInitialized",
        "Hibernated",
        "PodsFenced",
        "Maintenance",
        "RestoreInProgress",
        "OperationLockBlocked",
        "ClusterNotReady",
        "QuorumLost",
        "QuorumQuestionRefused",
        "LeaderUnknown",
        "MultipleLeaders",
        "StorageResizing",
        "ReadReplicasNotReady",
    }
    reasons |= {"InvalidVersion", "UnsupportedFields"}
    assert reasons - ALLOWED["Upgrading"] == set()
    # Other parts of the operator report these reasons too.
    assert reasons - SUMMARY == set()
