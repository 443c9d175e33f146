"""Which facts give which conditions: the rows of status/test_conditions.

Each condition has a row; what a package proves of its own condition is not repeated here. With an
upgrade decision: tests/managers/upgrade/test_condition.py.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from runtime.outcome import Blocked, Wait
from tests import gen
from tests.contracts.api.cases_images import KEY
from tests.contracts.api.pgp import ALICE
from tests.managers.cluster.passes import Row, row

NEW = gen.cluster()
OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods
PAUSED = OLD.with_spec(paused=True)
BLOCKED = Blocked("UnsealKeyMissing", "the key is gone")
ROLLING = Wait("RollingOut", "one goes")
NOT_READY = Wait("NotReady", "2 of 3")


def pods(*states: gen.Pod) -> gen.World:
    return FINE.with_pods(*states)


def raft(voters: int, non_voters: int = 0, **more: Any) -> gen.Cluster:
    members = {"voters": voters, "nonVoters": non_voters, "leader": "x-0", "clusterID": "id"}
    return OLD.with_status(adminOps={"raft": members, **more})


SPLIT = raft(3, lastError={"reason": "SplitBrain", "message": "as adminops says"})
TWO_LEADERS = pods(LEADER, SECOND.ready(leading=True), THIRD)
TWO_READY = pods(LEADER, SECOND)

ROWS: dict[str, Row] = {
    "a new cluster": row(
        NEW,
        gen.world(),
        "OpenBaoInitialized=False NotInitialized",
        "OpenBaoSealed=Unknown NotInitialized",
        "OpenBaoLeader=False NotInitialized",
        "RaftMembershipReady=Unknown NotInitialized",
        "AutopilotConfigured=Unknown NotInitialized",
        "UserAccessBootstrap=False NotInitialized",
        "OperatorLoginReady=False NotInitialized",
        after=Wait("FirstBoot", "it boots"),
    ),
    "a healthy cluster whose leader was not queried yet": row(
        OLD,
        FINE,
        "Ready=True AllReplicasReady",
        "Reconciling=False Ready",
        "Degraded=False Ready",
        "TLSReady=True Ready",
        "OpenBaoInitialized=True Initialized",
        "OpenBaoSealed=False Unsealed",
        "OpenBaoLeader=True LeaderFound",
        "RaftMembershipReady=Unknown MembershipUnknown",
        "AutopilotConfigured=Unknown AutopilotUnknown",
        "UserAccessBootstrap=True RootTokenStored",
        "OperatorLoginReady=False Reconciling",
        "Conflict=False NoConflict",
        "ProductionReady=False ProfileNotSet",
    ),
    "a wait": row(
        OLD,
        FINE,
        "Ready=False RollingOut",
        "Reconciling=True RollingOut",
        "Stalled=False Ready",
        after=ROLLING,
    ),
    "a blocked reconcile with ready servers": row(
        OLD,
        FINE,
        "Ready=False UnsealKeyMissing",
        "Reconciling=False Ready",
        "Stalled=True UnsealKeyMissing",
        "Available=True AllReplicasReady",
        "Degraded=True UnsealKeyMissing",
        after=BLOCKED,
    ),
    "paused": row(
        PAUSED, FINE, "Ready=Unknown Paused", "Available=Unknown Paused", "Paused=True Paused"
    ),
    "Development": row(
        OLD.with_spec(profile="Development"),
        FINE,
        "SecurityRisk=True DevelopmentProfile",
        "ProductionReady=False DevelopmentProfile",
    ),
    "a field has no effect": row(
        OLD.with_spec(reconcilePolicies=True), FINE, "UnsupportedFields=True UnsupportedFields"
    ),
    "older CRDs": row(
        OLD,
        replace(FINE, missing_fields=("OpenBaoCluster.status.unseal",)),
        "SchemaOutdated=True SchemaOutdated",
    ),
    "an ownership conflict": row(
        OLD,
        FINE,
        "Conflict=True ForeignObject",
        after=Blocked("ForeignObject", "Secret x exists"),
    ),
    "the first boot failed": row(
        NEW,
        FINE.with_set(gen.stateful_set().first_boot()).with_pods(gen.pod().ready().with_restarts()),
        "OpenBaoInitialized=False SelfInitFailed",
    ),
    "an unverified image": row(
        OLD.with_spec(imageVerification={"enabled": True, "publicKey": KEY}),
        FINE,
        "ImageVerified=Unknown Unknown",
    ),
}

# Servers: ready, degraded, sealed, leading, members.
ROWS |= {
    "one server is unready": row(OLD, TWO_READY, "Ready=False NotReady"),
    "one server is ready": row(OLD, pods(LEADER), "Available=False NotReady"),
    "no server": row(
        OLD, pods(), "Available=False NoReplicasReady", "OpenBaoSealed=Unknown Unknown"
    ),
    "all servers are ready without a leader": row(
        OLD,
        pods(LEADER.with_server_labels(active="false"), SECOND, THIRD),
        "Ready=False LeaderUnknown",
        "OpenBaoLeader=Unknown LeaderUnknown",
    ),
    "several leaders": row(
        OLD,
        TWO_LEADERS,
        "Ready=False MultipleLeaders",
        "Degraded=True MultipleLeaders",
        "OpenBaoLeader=False MultipleLeaders",
    ),
    "the leader is unknown during the first boot": row(
        NEW, gen.world().with_pods(LEADER.unready()), "OpenBaoLeader=False NotInitialized"
    ),
    "members of two clusters": row(
        SPLIT,
        FINE,
        "Ready=False SplitBrain",
        "Degraded=True SplitBrain",
        "RaftMembershipReady=False SplitBrain",
    ),
    "a lost server": row(OLD, TWO_READY, "Degraded=True NotReady", after=NOT_READY),
    "a replaced server": row(OLD, TWO_READY, "Degraded=False Ready", after=ROLLING),
    "a stuck rollout": row(
        OLD, TWO_READY, "Degraded=True NotReady", after=Wait("RolloutStuck", "one to go")
    ),
    "servers reload": row(OLD, FINE, "Degraded=False Ready", after=Wait("Reloading", "three")),
    "a server without a vote": row(raft(2), TWO_READY, "Degraded=False Ready", after=NOT_READY),
    "a lost voter": row(raft(3), TWO_READY, "Degraded=True NotReady", after=NOT_READY),
    "never started": row(NEW, pods(), "Degraded=False Ready", after=Wait("FirstBoot", "it boots")),
    "one server is sealed": row(
        OLD,
        pods(LEADER, SECOND.with_server_labels(sealed="true"), THIRD),
        "OpenBaoSealed=True Sealed",
    ),
    "one server without a seal label": row(
        OLD, pods(LEADER, gen.pod(1)), "OpenBaoSealed=Unknown Unknown"
    ),
    "a terminating pod without a seal label": row(
        OLD,
        pods(LEADER, SECOND, THIRD.with_server_labels(sealed="true").terminating()),
        "OpenBaoSealed=False Unsealed",
    ),
    "all are voters": row(raft(3), FINE, "RaftMembershipReady=True AllVoters"),
    "a voter is missing": row(raft(2, 1), FINE, "RaftMembershipReady=False VotersMissing"),
    "one voter too many": row(raft(4), FINE, "RaftMembershipReady=False MembersUnexpected"),
}

# Hibernation, fenced pods and maintenance.
ASLEEP = raft(3).with_spec(hibernate=True)
EMPTIED = FINE.with_pods().with_set(gen.stateful_set().with_replicas(0))
FENCED = OLD.with_spec(fencedPods=["x-2"])
AT_THE_GATE = pods(LEADER, SECOND, gen.pod(2).with_gates())
MAINTAINED = OLD.with_spec(maintenance={"enabled": True})
FENCING = Wait("Fencing", "it stops")
ROWS |= {
    "asleep": row(
        ASLEEP,
        EMPTIED,
        "Hibernated=True Hibernated",
        "Ready=False Hibernated",
        "Available=False Hibernated",
        "Degraded=False Ready",
        "Reconciling=False Ready",
        "Stalled=False Ready",
        "OpenBaoSealed=Unknown Hibernated",
        "OpenBaoLeader=Unknown Hibernated",
        "RaftMembershipReady=Unknown Hibernated",
    ),
    "hibernated without its key": row(
        ASLEEP, EMPTIED, "Stalled=True UnsealKeyMissing", after=BLOCKED
    ),
    "hibernation in progress": row(
        ASLEEP,
        TWO_READY,
        "Hibernated=False Hibernating",
        "Reconciling=True Hibernating",
        "Degraded=False Ready",
        after=Wait("Hibernating", "they stop"),
    ),
    "no hibernation before the first boot": row(
        NEW.with_spec(hibernate=True),
        gen.world(),
        "Hibernated=False NotInitialized",
        after=Wait("FirstBoot", "the first server starts"),
    ),
    "waking": row(
        OLD,
        EMPTIED.waking_for(timedelta(seconds=2)),
        "Hibernated=False Waking",
        "Reconciling=True Waking",
        "Degraded=False Ready",
        after=Wait("Waking", "they come"),
    ),
    "fenced": row(
        FENCED,
        AT_THE_GATE,
        "PodsFenced=True PodsFenced",
        "Ready=False PodsFenced",
        "Available=False PodsFenced",
        "Degraded=False Ready",
        "OpenBaoSealed=False Unsealed",
    ),
    "a missing server next to a fenced one": row(
        FENCED,
        pods(LEADER, SECOND.unready(), gen.pod(2).with_gates()),
        "Degraded=True NotReady",
        "Available=False NotReady",
    ),
    "a fence that is not effective yet": row(
        FENCED, FINE, "PodsFenced=False Fencing", "Reconciling=True Fencing", after=FENCING
    ),
    "a terminating fenced pod": row(
        FENCED,
        pods(LEADER, SECOND, gen.pod(2).with_gates().terminating()),
        "PodsFenced=False Fencing",
        after=FENCING,
    ),
    "a refused fence": row(
        FENCED,
        FINE,
        "PodsFenced=False FencingRefused",
        "Stalled=True FencingRefused",
        after=Blocked("FencingRefused", "the others need it"),
    ),
    "a rollout held by a fence": row(
        FENCED, AT_THE_GATE, "Ready=False PodsFenced", after=Wait("PodsFenced", "a roll waits")
    ),
    "in maintenance": row(
        MAINTAINED, FINE, "Maintenance=True Maintenance", "Ready=True AllReplicasReady"
    ),
    "a rollout held by maintenance": row(
        MAINTAINED, FINE, "Reconciling=True Maintenance", after=Wait("Maintenance", "a roll waits")
    ),
}

# Upgrades without a decision, and servers that another operator created.
BEGUN = {"targetVersion": "2.5.5", "fromVersion": "2.4.0"}
ROLLED = {**BEGUN, "phase": "Rolling"}
FAILED = {"reason": "PodNotReady", "message": "x-2 is not back", "at": "2030-01-01T00:00:00Z"}
ROWS |= {
    "a paused upgrade": row(PAUSED.with_status(upgrade=ROLLED), FINE, "Upgrading=Unknown Paused"),
    "a failed upgrade": row(
        OLD.with_status(upgrade={**BEGUN, "failure": FAILED}),
        FINE,
        "Degraded=True PodNotReady",
    ),
    "an upgrade in progress": row(OLD.with_status(upgrade=ROLLED), FINE, "Degraded=False Ready"),
    "a server that is replaced by an upgrade": row(
        OLD.with_status(upgrade=ROLLED),
        TWO_READY,
        "Degraded=False Ready",
        after=Wait("UpgradeInProgress", "one of three"),
    ),
    "a missing server while an upgrade waits": row(
        OLD, TWO_READY, "Degraded=True NotReady", after=Wait("ClusterNotReady", "two of three")
    ),
    "servers of another operator": row(
        OLD, FINE.with_set(gen.stateful_set().of_another()), "Adopted=False AdoptionPending"
    ),
}

# Certificates, the seal, logins and recovery keys.
LOGIN = OLD.self_init(login=True)
RECIPIENTS = [{"name": "alice", "pgpPublicKey": ALICE}]
KEYS = {"initial": {"shares": 1, "threshold": 1, "recipients": RECIPIENTS}}
CLOUD = {"type": "awskms", "awskms": {"region": "r", "kmsKeyID": "k"}}
THEIRS = gen.secret("x-tls-server", of="Shop s (uid 1)", certificate=gen.certificate())


def login(of: gen.Cluster = LOGIN, **status: str) -> gen.Cluster:
    return of.with_status(adminOps={"operatorLogin": status})


def keys(**status: Any) -> gen.Cluster:
    return LOGIN.with_spec(recoveryKeys=KEYS).with_status(adminOps=status)


ROWS |= {
    "no certificate": row(
        OLD, FINE.without_secrets("x-tls-server"), "TLSReady=False TLSSecretMissing"
    ),
    "an unreadable certificate": row(
        OLD,
        FINE.with_secrets(gen.secret("x-tls-server", problem="garbage")),
        "TLSReady=False TLSSecretInvalid",
    ),
    "a foreign certificate after another problem": row(
        OLD, FINE.with_secrets(THEIRS), "TLSReady=False ForeignObject", after=BLOCKED
    ),
    "the CA is missing": row(
        OLD, FINE, "TLSReady=False CASecretMissing", after=Blocked("CASecretMissing", "gone")
    ),
    "a cloud seal without credentials": row(
        OLD.with_spec(unseal=CLOUD), FINE, "CloudUnsealIdentityReady=Unknown AmbientIdentityAssumed"
    ),
    "a cloud seal without its Secret": row(
        OLD.with_spec(unseal={**CLOUD, "credentialsSecretRef": {"name": "mine"}}),
        FINE,
        "CloudUnsealIdentityReady=False CredentialsSecretMissing",
    ),
    "a missing root token": row(
        OLD, FINE.without_secrets("x-root-token"), "UserAccessBootstrap=Unknown RootTokenMissing"
    ),
    "only the operator has a login with uncompared keys": row(
        LOGIN, FINE, "UserAccessBootstrap=False NoUserLogin", "OperatorLoginReady=Unknown Unknown"
    ),
    "no login": row(OLD.self_init(), FINE, "OperatorLoginReady=False OperatorLoginMissing"),
    "the keys of the operator's login are trusted": row(
        login(keys="k"), FINE, "OperatorLoginReady=True OperatorLoginTrusted"
    ),
    "the login was set up with the root token": row(
        login(OLD, rootTokenSecret="uid/1"), FINE, "OperatorLoginReady=True OperatorLoginTrusted"
    ),
    "the keys of the operator's login are outdated": row(
        login(keys="k", problem="denied"), FINE, "OperatorLoginReady=False OperatorLoginOutdated"
    ),
    "OpenBao refuses the login of the operator": row(
        login(reason="OperatorLoginRefused", problem="denied"),
        FINE,
        "OperatorLoginReady=False OperatorLoginRefused",
    ),
    "recovery keys before the first boot": row(
        NEW.self_init(login=True).with_spec(recoveryKeys=KEYS),
        gen.world(),
        "RecoveryKeysReady=False NotInitialized",
    ),
    "recovery keys whose shares were not fetched": row(
        keys(),
        FINE,
        "RecoveryKeysReady=False Reconciling",
        "UserAccessBootstrap=True RecoveryKeysOnly",
    ),
    "recovery keys were stored": row(
        keys(recoveryKeys={"stored": True}), FINE, "RecoveryKeysReady=True RecoveryKeysStored"
    ),
    "no copy of recovery keys": row(
        keys(recoveryKeys={"reason": "RecoveryKeysMissing"}),
        FINE,
        "RecoveryKeysReady=False RecoveryKeysMissing",
    ),
}
