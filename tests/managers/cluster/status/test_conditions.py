"""managers.cluster.status.conditions.

Which facts give which condition, and the invariants of all conditions.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from contracts.conditions.condition import TYPES
from managers.certs.condition import REASONS as TLS_REASONS
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.cluster.status.conditions import CONDITION_EVALUATORS, ON_PURPOSE
from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen
from tests.managers.cluster.access_rows import ACCESS_ROWS
from tests.managers.cluster.adoption_rows import ADOPTION_ROWS
from tests.managers.cluster.audit_rows import AUDIT_ROWS
from tests.managers.cluster.autopilot_rows import AUTOPILOT_ROWS
from tests.managers.cluster.backup_rows import BACKUP_ROWS
from tests.managers.cluster.image_rows import IMAGE_ROWS
from tests.managers.cluster.life_rows import LIFE_ROWS, UNSTATED
from tests.managers.cluster.passes import (
    OUTCOMES,
    SUMMARY,
    Row,
    a_pass,
    clusters,
    condition_of,
    status_and_reason,
    status_of,
    worlds,
)
from tests.managers.cluster.read_rows import READ_ROWS
from tests.managers.cluster.seal_rows import SEAL_ROWS
from tests.managers.cluster.server_rows import SERVER_ROWS, pods, raft, trouble
from tests.managers.cluster.storage_rows import STORAGE_ROWS
from tests.managers.cluster.upgrade_rows import UPGRADE_ROWS
from tests.managers.cluster.ways_rows import WAYS_ROWS

NEW = gen.cluster()
OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods


BLOCKED = Blocked("UnsealKeyMissing", "the key is gone")
ROLLING = Wait("RollingOut", "one goes")

ROWS: dict[str, Row] = {
    **ACCESS_ROWS,
    **ADOPTION_ROWS,
    **AUDIT_ROWS,
    **AUTOPILOT_ROWS,
    **BACKUP_ROWS,
    **IMAGE_ROWS,
    **LIFE_ROWS,
    **READ_ROWS,
    **SEAL_ROWS,
    **SERVER_ROWS,
    **STORAGE_ROWS,
    **UPGRADE_ROWS,
    **WAYS_ROWS,
    "all are ready": Row(OLD, FINE, "Ready=True AllReplicasReady"),
    "one is not ready": Row(OLD, pods(LEADER, SECOND), "Ready=False NotReady"),
    "all are ready and none leads": Row(
        OLD,
        pods(LEADER.with_server_labels(active="false"), SECOND, THIRD),
        "Ready=False LeaderUnknown",
    ),
    "a wait is not ready": Row(OLD, FINE, "Ready=False RollingOut", ROLLING),
    "a blocked pass is not ready": Row(OLD, FINE, "Ready=False UnsealKeyMissing", BLOCKED),
    "paused, nobody knows": Row(OLD.with_spec(paused=True), FINE, "Ready=Unknown Paused"),
    "a wait is progress": Row(OLD, FINE, "Reconciling=True RollingOut", ROLLING),
    "a blocked pass is no progress": Row(OLD, FINE, "Reconciling=False Ready", BLOCKED),
    "content is no progress": Row(OLD, FINE, "Reconciling=False Ready"),
    "a blocked pass waits for a person": Row(OLD, FINE, "Stalled=True UnsealKeyMissing", BLOCKED),
    "a wait waits for nobody": Row(OLD, FINE, "Stalled=False Ready", ROLLING),
    "serving is available whatever the pass says": Row(
        OLD, FINE, "Available=True AllReplicasReady", BLOCKED
    ),
    "some are ready": Row(OLD, pods(LEADER), "Available=False NotReady"),
    "none is ready": Row(OLD, pods(), "Available=False NoReplicasReady"),
    "paused, nobody looks": Row(OLD.with_spec(paused=True), FINE, "Available=Unknown Paused"),
    "nothing is wrong": Row(OLD, FINE, "Degraded=False Ready"),
    "a blocked pass is wrong": Row(OLD, FINE, "Degraded=True UnsealKeyMissing", BLOCKED),
    "a server that is lost is wrong": Row(
        OLD, pods(LEADER, SECOND), "Degraded=True NotReady", Wait("NotReady", "2 of 3")
    ),
    "a server that is replaced is not": Row(
        OLD, pods(LEADER, SECOND), "Degraded=False Ready", ROLLING
    ),
    "a roll that lasts too long is": Row(
        OLD, pods(LEADER, SECOND), "Degraded=True NotReady", Wait("RolloutStuck", "one to go")
    ),
    "servers that read their files again are none the worse": Row(
        OLD, FINE, "Degraded=False Ready", Wait("Reloading", "three")
    ),
    "a server that has no vote yet is on its way": Row(
        raft(2), pods(LEADER, SECOND), "Degraded=False Ready", Wait("NotReady", "2 of 3")
    ),
    "a voter that is lost is wrong": Row(
        raft(3), pods(LEADER, SECOND), "Degraded=True NotReady", Wait("NotReady", "2 of 3")
    ),
    "a cluster that never ran is not": Row(
        NEW, pods(), "Degraded=False Ready", Wait("FirstBoot", "it boots")
    ),
    "two leaders are wrong": Row(
        OLD, pods(LEADER, SECOND.ready(leading=True), THIRD), "Degraded=True MultipleLeaders"
    ),
    "two clusters are wrong": Row(
        raft(3, lastError=trouble("SplitBrain")), FINE, "Degraded=True SplitBrain"
    ),
    "a certificate is there": Row(OLD, FINE, "TLSReady=True Ready"),
    "no certificate is there": Row(
        OLD, FINE.without_secrets("x-tls-server"), "TLSReady=False TLSSecretMissing"
    ),
    "a certificate cannot be read": Row(
        OLD,
        FINE.with_secrets(gen.secret("x-tls-server", problem="garbage")),
        "TLSReady=False TLSSecretInvalid",
    ),
    "a certificate of somebody else is none of ours": Row(
        OLD,
        FINE.with_secrets(
            gen.secret("x-tls-server", of="Shop s (uid 1)", certificate=gen.certificate())
        ),
        "TLSReady=False ForeignObject",
        Blocked("UnsealKeyMissing", "another trouble comes first"),
    ),
    "the authority is gone": Row(
        OLD, FINE, "TLSReady=False CASecretMissing", Blocked("CASecretMissing", "gone")
    ),
    "data exists": Row(OLD, FINE, "OpenBaoInitialized=True Initialized"),
    "no data exists": Row(
        NEW, gen.world(), "OpenBaoInitialized=False NotInitialized", Wait("FirstBoot", "it boots")
    ),
    "the first boot failed": Row(
        NEW,
        FINE.with_set(gen.stateful_set().first_boot()).with_pods(gen.pod().ready().with_restarts()),
        "OpenBaoInitialized=False SelfInitFailed",
    ),
    "nobody is in the way": Row(OLD, FINE, "Conflict=False NoConflict"),
    "somebody is in the way": Row(
        OLD, FINE, "Conflict=True ForeignObject", Blocked("ForeignObject", "Secret x exists")
    ),
    "it is paused": Row(OLD.with_spec(paused=True), FINE, "Paused=True Paused"),
    "a field has no effect": Row(
        OLD.with_spec(reconcilePolicies=True), FINE, "UnsupportedFields=True UnsupportedFields"
    ),
    "the definitions are older": Row(
        OLD,
        replace(FINE, missing_fields=("OpenBaoCluster.status.unseal",)),
        "SchemaOutdated=True SchemaOutdated",
    ),
    "two leaders are not ready": Row(
        OLD, pods(LEADER, SECOND.ready(leading=True), THIRD), "Ready=False MultipleLeaders"
    ),
    "two clusters are not ready": Row(
        raft(3, lastError=trouble("SplitBrain")), FINE, "Ready=False SplitBrain"
    ),
    "Development is a risk": Row(
        OLD.with_spec(profile="Development"), FINE, "SecurityRisk=True DevelopmentProfile"
    ),
    "no profile is no advice taken": Row(OLD, FINE, "ProductionReady=False ProfileNotSet"),
    "Development is not production": Row(
        OLD.with_spec(profile="Development"), FINE, "ProductionReady=False DevelopmentProfile"
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_condition(row: Row) -> None:
    kind = row.expected.partition("=")[0]
    status = status_of(row.cluster, row.world, row.outcome)
    assert f"{kind}={' '.join(status_and_reason(status, kind))}" == row.expected


@pytest.mark.parametrize("what", UNSTATED)
def test_unrequested_conditions_are_not_reported(what: str) -> None:
    cluster, world, kind = UNSTATED[what]
    assert kind not in {condition.type for condition in status_of(cluster, world).conditions}


def test_every_condition_has_rows() -> None:
    assert {row.expected.partition("=")[0] for row in ROWS.values()} == {
        kind.name for kind in TYPES
    }


def test_there_is_one_judge_per_condition() -> None:
    assert len(CONDITION_EVALUATORS) == len(TYPES)


# The conditions of every cluster. The others are reported while the spec requests their feature.
ALWAYS = frozenset(
    {
        "Ready",
        "Reconciling",
        "Stalled",
        "Available",
        "Degraded",
        "TLSReady",
        "OpenBaoInitialized",
        "OpenBaoSealed",
        "OpenBaoLeader",
        "RaftMembershipReady",
        "AutopilotConfigured",
        "StorageConfigured",
        "UserAccessBootstrap",
        "OperatorLoginReady",
        "Conflict",
        "ProductionReady",
    }
)


def test_a_plain_cluster_has_only_the_basic_conditions() -> None:
    assert {condition.type for condition in status_of(OLD, FINE).conditions} == ALWAYS


def test_the_sets_of_reasons_are_reasons() -> None:
    assert set(SUMMARY) >= TLS_REASONS | ON_PURPOSE


# sentence: (world, outcome, condition, text in the message)
MESSAGES: dict[str, tuple[gen.World, Outcome, str, str]] = {
    "a conflict names the object and its owner": (
        FINE,
        Blocked("ForeignObject", "Secret x-tls-ca exists and belongs to Shop s"),
        "Conflict",
        "Secret x-tls-ca exists and belongs to Shop s",
    ),
    "a pod that cannot run is named with the kubelet's words": (
        pods(LEADER, gen.pod(1), gen.pod(2).waiting("ImagePullBackOff", "no such image")),
        Wait("NotReady", "1 of 3"),
        "Available",
        "x-2 waits: ImagePullBackOff: no such image",
    ),
    "a StatefulSet that cannot create its pods is named": (
        pods(LEADER, SECOND).with_set(gen.stateful_set().with_created(2)),
        Wait("NotReady", "2 of 3"),
        "Available",
        "2 of 3 servers are ready; StatefulSet x has not created 1 of its pods: the events of "
        "`kubectl describe statefulset x` have the cause",
    ),
    "the sealed server is named": (
        pods(LEADER, SECOND.with_server_labels(sealed="true")),
        Done(),
        "OpenBaoSealed",
        "x-1",
    ),
    "the leader is named": (FINE, Done(), "OpenBaoLeader", "x-0"),
    "two leaders are named": (
        pods(LEADER, SECOND.ready(leading=True)),
        Done(),
        "Degraded",
        "x-0, x-1",
    ),
    "the end of the certificate is named": (FINE, Done(), "TLSReady", "2030-10-28"),
}


@pytest.mark.parametrize(("created", "servers"), [(3, (LEADER, SECOND)), (0, (LEADER, SECOND))])
def test_a_pod_counts_as_created_if_it_exists_or_its_stateful_set_says_so(
    created: int, servers: tuple[gen.Pod, ...]
) -> None:
    """Both are read independently, and either may be late."""
    existing = (*servers, gen.pod(2)) if not created else servers
    there = pods(*existing).with_set(gen.stateful_set().with_created(created))
    message = condition_of(status_of(OLD, there, Wait("NotReady", "2 of 3")), "Available").message
    assert message == "2 of 3 servers are ready"


@pytest.mark.parametrize(
    ("world", "outcome", "kind", "named"), MESSAGES.values(), ids=MESSAGES.keys()
)
def test_message(world: gen.World, outcome: Outcome, kind: str, named: str) -> None:
    assert named in condition_of(status_of(OLD, world, outcome), kind).message


@pytest.mark.parametrize(("others", "told"), [(0, False), (1, True)])
def test_members_without_a_vote_are_reported(others: int, told: bool) -> None:
    condition = condition_of(status_of(raft(2, others), FINE), "RaftMembershipReady")
    assert ("without a vote" in condition.message) is told


@settings(deadline=None, max_examples=100)
@given(clusters(), worlds(), OUTCOMES)
def test_invariants_of_every_reconcile(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome
) -> None:
    this = a_pass(cluster, world, outcome)
    status = compute(this)
    # Each condition once, in the order of the table, with a message and the generation.
    types = [condition.type for condition in status.conditions]
    assert types == [kind.name for kind in TYPES if kind.name in types]
    assert set(types) >= ALWAYS
    for condition in status.conditions:
        assert condition.message
        assert condition.observed_generation == this.cluster.metadata.generation
        assert condition.last_transition_time is not None
    _kstatus_agrees(status.conditions, this)
    if this.cluster.spec.paused:
        assert status_and_reason(status, "Ready") == ("Unknown", "Paused")


def _kstatus_agrees(conditions: Any, this: ReconcileResult) -> None:
    """kstatus reports an object as current when Ready is True, and neither of the others is."""
    by_type = {condition.type: condition for condition in conditions}
    ready, moving, stuck = (by_type[kind] for kind in ("Ready", "Reconciling", "Stalled"))
    if ready.status == "True":
        assert (moving.status, stuck.status) == ("False", "False")
        assert (by_type["Available"].status, by_type["Degraded"].status) == ("True", "False")
    assert not (moving.status == "True" and stuck.status == "True")
    if stuck.status == "True":
        assert ready.status == "False"
        assert ready.reason == stuck.reason
    if isinstance(this.outcome, Blocked) and not this.cluster.spec.paused:
        assert stuck.status == "True"
        assert stuck.reason == this.outcome.reason
