"""Rows of status/test_conditions about features that a spec requests.

The reasons of each condition are tested in its package: managers.workload.storage.resize,
managers.backup.condition, managers.restore_test.condition, managers.identity.account,
managers.networking. Here is the way from the facts of a reconcile to each of them.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import gen
from tests.gen.job_templates import target
from tests.managers.cluster.condition_cases import FINE, OLD
from tests.managers.cluster.passes import Row, row
from tests.managers.networking.exposure_objects import READY, gateway, ingress, monitor
from tests.managers.workload import volume_worlds as volumes

THERE = FINE.with_exposure(READY)
NAMED = OLD.with_spec(serviceAccount={"name": "mine", "annotations": {"a": "b"}})
CLAIMS = volumes.world(*(volumes.claim(n) for n in range(3)))
GROWN = volumes.world(*(volumes.grown_claim(n) for n in range(3)))
BACKED_UP = OLD.with_spec(backup={"schedule": "0 3 * * *", "target": target().to_object()})
LOCK = {"holder": "openbaobackup/monday", "message": "monday"}
RESTORED = {"name": "monday", "uid": "r", "restartCompletedAt": "2030-01-01T00:00:00Z"}
PROOF = {"run": "r", "outcome": "Passed", "reason": "Restored", "key": "a.snap"}


def first_claim(**fields: str) -> gen.World:
    return volumes.world(volumes.claim(0, **fields), volumes.claim(1), volumes.claim(2))


def with_autopilot(applied: bool, reason: str) -> gen.Cluster:
    status: dict[str, Any] = {"applied": applied, "reason": reason, "message": "as it says"}
    return OLD.with_status(adminOps={"autopilot": status})


FEATURE_ROWS: dict[str, Row] = {
    "the autopilot is as asked": row(
        with_autopilot(True, "AutopilotApplied"), FINE, "AutopilotConfigured=True AutopilotApplied"
    ),
    "the autopilot may not be set": row(
        with_autopilot(False, "AutopilotRefused"),
        FINE,
        "AutopilotConfigured=False AutopilotRefused",
    ),
    "the volume of audit files is not there": row(
        OLD.with_spec(auditFileStorage={"mode": "ManagedPVC", "size": "1Gi"}),
        FINE,
        "AuditFileStorageReady=False PrerequisitesMissing",
    ),
    "volumes of default class": row(OLD, CLAIMS, "StorageConfigured=True StorageClassDefaulted"),
    "no volume was made yet": row(
        OLD,
        first_claim(phase="Pending", capacity=""),
        "StorageConfigured=Unknown StorageClassPending",
    ),
    "a lost volume": row(OLD, first_claim(phase="Lost"), "StorageConfigured=False VolumeLost"),
    "a size that differs from the volumes is no field without effect": row(
        volumes.LARGER, replace(GROWN, rolling=None), "ProductionReady=False ProfileNotSet"
    ),
    "a snapshot is taken": row(
        BACKED_UP.with_status(operationLock={**LOCK, "operation": "Backup"}),
        FINE,
        "BackingUp=True InProgress",
    ),
    "no snapshot was tried or restored": row(
        BACKED_UP,
        FINE,
        "BackingUp=False Idle",
        "BackupHealthy=Unknown NoBackupYet",
        "BackupProven=Unknown NeverTested",
    ),
    "a restored snapshot was good": row(
        BACKED_UP.with_status(backup={"restoreTest": {"last": PROOF}}),
        FINE,
        "BackupProven=True RestoreTestPassed",
    ),
    "data are put back": row(
        OLD.with_status(operationLock={**LOCK, "operation": "Restore"}),
        FINE,
        "Restoring=True RestoreInProgress",
    ),
    "data were put back": row(OLD.with_status(restore=RESTORED), FINE, "Restoring=False NoRestore"),
    "an account of somebody else is used": row(
        NAMED,
        FINE.with_account("mine", annotations={"a": "b"}),
        "ServiceAccountReady=True ServiceAccountReused",
    ),
    "nobody knows where the API server listens": row(
        OLD,
        FINE.reaching("10.96.0.1"),
        "APIServerNetworkReady=Unknown APIServerEndpointIPsRecommended",
    ),
    "nobody knows the API server at all": row(
        OLD,
        FINE.reaching(endpoints=("192.0.2.1",)),
        "APIServerNetworkReady=False APIServerNetworkConfigurationInvalid",
    ),
    "the Ingress has an address": row(
        ingress().initialized(), THERE, "IngressIntegrationReady=True IngressIntegrationReady"
    ),
    "the Gateway lets clients in": row(
        gateway().initialized(), THERE, "GatewayIntegrationReady=True GatewayIntegrationReady"
    ),
    "the ServiceMonitor is there": row(
        monitor().initialized("2.5.0"), THERE, "ServiceMonitorReady=True ServiceMonitorReady"
    ),
}

# Read replicas.
NEW = gen.cluster(readReplicas={"replicas": 2})
TWO = NEW.initialized()
NEWER = TWO.with_spec(version="2.5.5")
BOTH = tuple(gen.read_pod(n).ready() for n in range(2))


def readers(*pods: gen.Pod) -> gen.World:
    return FINE.with_readers(gen.read_set(), *pods)


def raft(voters: int, others: int, reading: int) -> gen.Cluster:
    members = {"voters": voters, "nonVoters": others, "leader": "x-0", "readReplicas": reading}
    return TWO.with_status(adminOps={"raft": members})


ALL = readers(*BOTH)
FEATURE_ROWS |= {
    "read replicas wait for data": row(NEW, gen.world(), "ReadReplicasReady=False NotInitialized"),
    "both read replicas are ready, and this version forwards reads": row(
        TWO,
        ALL,
        "ReadReplicasReady=True AllReadReplicasReady",
        "ReadServingAvailable=False StandbyReadsNotServed",
    ),
    "one read replica is ready": row(
        TWO, readers(BOTH[0], gen.read_pod(1)), "ReadReplicasReady=False ReadReplicasNotReady"
    ),
    "no read replica is ready": row(
        TWO, readers(gen.read_pod(0)), "ReadReplicasReady=False NoReadyReadReplicas"
    ),
    "one read replica more than asked for": row(
        TWO, readers(*BOTH, gen.read_pod(2).ready()), "ReadReplicasReady=False ReadReplicasNotReady"
    ),
    "one that is not ready beside those asked for": row(
        TWO, readers(*BOTH, gen.read_pod(2)), "ReadReplicasReady=False ReadReplicasNotReady"
    ),
    "read replicas sleep": row(
        TWO.with_spec(hibernate=True), readers(), "ReadReplicasReady=False Hibernated"
    ),
    "a newer one answers reads": row(NEWER, ALL, "ReadServingAvailable=True ReadServingAvailable"),
    "a newer version without a ready read replica": row(
        NEWER, readers(gen.read_pod(0)), "ReadServingAvailable=False PodsNotServingReads"
    ),
    "read replicas have no vote": row(raft(3, 2, 2), ALL, "RaftMembershipReady=True AllVoters"),
    "one has not joined": row(raft(3, 1, 1), ALL, "RaftMembershipReady=False ReadReplicasMissing"),
    "one was promoted": row(raft(4, 1, 1), ALL, "RaftMembershipReady=False MembersUnexpected"),
    "a member without a vote that nobody asked for": row(
        raft(3, 3, 2), ALL, "RaftMembershipReady=False MembersUnexpected"
    ),
    "one voter is missing": row(raft(2, 2, 2), ALL, "RaftMembershipReady=False VotersMissing"),
    "a sealed read replica is a sealed server": row(
        TWO,
        readers(BOTH[0], BOTH[1].with_server_labels(sealed="true")),
        "OpenBaoSealed=True Sealed",
    ),
}

# sentence: (cluster, world, condition that is not reported)
UNSTATED: dict[str, tuple[gen.Cluster, gen.World, str]] = {
    "nobody asked for sleep": (OLD, FINE, "Hibernated"),
    "all are awake": (OLD, FINE.waking_for(timedelta(seconds=20)), "Hibernated"),
    "nobody asked for a fence": (OLD, FINE, "PodsFenced"),
    "nobody works on it": (OLD.with_spec(maintenance={"enabled": False}), FINE, "Maintenance"),
    "nobody asked for recovery keys": (OLD, FINE, "RecoveryKeysReady"),
    "the API server has all fields": (OLD, FINE, "SchemaOutdated"),
}
