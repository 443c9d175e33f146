"""managers.cluster.status.conditions.

Which facts give which condition, and what holds for all of them.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from contracts.conditions.condition import TYPES
from managers.certs.condition import REASONS as TLS_REASONS
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.cluster.status.conditions import JUDGES, ON_PURPOSE
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
    a_pass,
    clusters,
    condition_of,
    said,
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


Row = tuple[gen.Cluster, gen.World, Outcome, str, str]
BLOCKED = Blocked("UnsealKeyMissing", "the key is gone")
ROLLING = Wait("RollingOut", "one goes")

# sentence: (cluster, world, outcome of the pass, condition, "status reason")
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
    "all are ready": (OLD, FINE, Done(), "Ready", "True AllReplicasReady"),
    "one is not ready": (OLD, pods(LEADER, SECOND), Done(), "Ready", "False NotReady"),
    "all are ready and none leads": (
        OLD,
        pods(LEADER.saying(active="false"), SECOND, THIRD),
        Done(),
        "Ready",
        "False LeaderUnknown",
    ),
    "a wait is not ready": (OLD, FINE, ROLLING, "Ready", "False RollingOut"),
    "a blocked pass is not ready": (OLD, FINE, BLOCKED, "Ready", "False UnsealKeyMissing"),
    "paused, nobody knows": (OLD.wanting(paused=True), FINE, Done(), "Ready", "Unknown Paused"),
    "a wait is progress": (OLD, FINE, ROLLING, "Reconciling", "True RollingOut"),
    "a blocked pass is no progress": (OLD, FINE, BLOCKED, "Reconciling", "False Ready"),
    "content is no progress": (OLD, FINE, Done(), "Reconciling", "False Ready"),
    "a blocked pass waits for a person": (OLD, FINE, BLOCKED, "Stalled", "True UnsealKeyMissing"),
    "a wait waits for nobody": (OLD, FINE, ROLLING, "Stalled", "False Ready"),
    "serving is available whatever the pass says": (
        OLD,
        FINE,
        BLOCKED,
        "Available",
        "True AllReplicasReady",
    ),
    "some are ready": (OLD, pods(LEADER), Done(), "Available", "False NotReady"),
    "none is ready": (OLD, pods(), Done(), "Available", "False NoReplicasReady"),
    "paused, nobody looks": (OLD.wanting(paused=True), FINE, Done(), "Available", "Unknown Paused"),
    "nothing is wrong": (OLD, FINE, Done(), "Degraded", "False Ready"),
    "a blocked pass is wrong": (OLD, FINE, BLOCKED, "Degraded", "True UnsealKeyMissing"),
    "a server that is lost is wrong": (
        OLD,
        pods(LEADER, SECOND),
        Wait("NotReady", "2 of 3"),
        "Degraded",
        "True NotReady",
    ),
    "a server that is replaced is not": (
        OLD,
        pods(LEADER, SECOND),
        ROLLING,
        "Degraded",
        "False Ready",
    ),
    "a roll that lasts too long is": (
        OLD,
        pods(LEADER, SECOND),
        Wait("RolloutStuck", "one to go"),
        "Degraded",
        "True NotReady",
    ),
    "servers that read their files again are none the worse": (
        OLD,
        FINE,
        Wait("Reloading", "three"),
        "Degraded",
        "False Ready",
    ),
    "a server that has no vote yet is on its way": (
        raft(2),
        pods(LEADER, SECOND),
        Wait("NotReady", "2 of 3"),
        "Degraded",
        "False Ready",
    ),
    "a voter that is lost is wrong": (
        raft(3),
        pods(LEADER, SECOND),
        Wait("NotReady", "2 of 3"),
        "Degraded",
        "True NotReady",
    ),
    "a cluster that never ran is not": (
        NEW,
        pods(),
        Wait("FirstBoot", "it boots"),
        "Degraded",
        "False Ready",
    ),
    "two leaders are wrong": (
        OLD,
        pods(LEADER, SECOND.ready(leading=True), THIRD),
        Done(),
        "Degraded",
        "True MultipleLeaders",
    ),
    "two clusters are wrong": (
        raft(3, lastError=trouble("SplitBrain")),
        FINE,
        Done(),
        "Degraded",
        "True SplitBrain",
    ),
    "a certificate is there": (OLD, FINE, Done(), "TLSReady", "True Ready"),
    "no certificate is there": (
        OLD,
        FINE.without_secrets("x-tls-server"),
        Done(),
        "TLSReady",
        "False TLSSecretMissing",
    ),
    "a certificate cannot be read": (
        OLD,
        FINE.with_secrets(gen.secret("x-tls-server", problem="garbage")),
        Done(),
        "TLSReady",
        "False TLSSecretInvalid",
    ),
    "a certificate of somebody else is none of ours": (
        OLD,
        FINE.with_secrets(
            gen.secret("x-tls-server", of="Shop s (uid 1)", certificate=gen.certificate())
        ),
        Blocked("UnsealKeyMissing", "another trouble comes first"),
        "TLSReady",
        "False ForeignObject",
    ),
    "the authority is gone": (
        OLD,
        FINE,
        Blocked("CASecretMissing", "gone"),
        "TLSReady",
        "False CASecretMissing",
    ),
    "data exists": (OLD, FINE, Done(), "OpenBaoInitialized", "True Initialized"),
    "no data exists": (
        NEW,
        gen.world(),
        Wait("FirstBoot", "it boots"),
        "OpenBaoInitialized",
        "False NotInitialized",
    ),
    "the first boot failed": (
        NEW,
        FINE.with_set(gen.stateful_set().first_boot()).with_pods(gen.pod().ready().restarted()),
        Done(),
        "OpenBaoInitialized",
        "False SelfInitFailed",
    ),
    "nobody is in the way": (OLD, FINE, Done(), "Conflict", "False NoConflict"),
    "somebody is in the way": (
        OLD,
        FINE,
        Blocked("ForeignObject", "Secret x exists"),
        "Conflict",
        "True ForeignObject",
    ),
    "it is paused": (OLD.wanting(paused=True), FINE, Done(), "Paused", "True Paused"),
    "a field has no effect": (
        OLD.wanting(reconcilePolicies=True),
        FINE,
        Done(),
        "UnsupportedFields",
        "True UnsupportedFields",
    ),
    "the definitions are older": (
        OLD,
        replace(FINE, lacking_fields=("OpenBaoCluster.status.unseal",)),
        Done(),
        "SchemaOutdated",
        "True SchemaOutdated",
    ),
    "two leaders are not ready": (
        OLD,
        pods(LEADER, SECOND.ready(leading=True), THIRD),
        Done(),
        "Ready",
        "False MultipleLeaders",
    ),
    "two clusters are not ready": (
        raft(3, lastError=trouble("SplitBrain")),
        FINE,
        Done(),
        "Ready",
        "False SplitBrain",
    ),
    "Development is a risk": (
        OLD.wanting(profile="Development"),
        FINE,
        Done(),
        "SecurityRisk",
        "True DevelopmentProfile",
    ),
    "no profile is no advice taken": (OLD, FINE, Done(), "ProductionReady", "False ProfileNotSet"),
    "Development is not production": (
        OLD.wanting(profile="Development"),
        FINE,
        Done(),
        "ProductionReady",
        "False DevelopmentProfile",
    ),
}


@pytest.mark.parametrize(
    ("cluster", "world", "outcome", "kind", "expected"), ROWS.values(), ids=ROWS.keys()
)
def test_condition(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome, kind: str, expected: str
) -> None:
    assert " ".join(said(status_of(cluster, world, outcome), kind)) == expected


@pytest.mark.parametrize("what", UNSTATED)
def test_what_nobody_asked_for_is_not_stated(what: str) -> None:
    cluster, world, kind = UNSTATED[what]
    assert kind not in {told.type for told in status_of(cluster, world).conditions}


def test_every_condition_has_rows() -> None:
    assert {row[3] for row in ROWS.values()} == {kind.name for kind in TYPES}


def test_there_is_one_judge_per_condition() -> None:
    assert len(JUDGES) == len(TYPES)


# What every cluster has an answer to. The others stand while the spec asks for what they are about.
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


def test_a_plain_cluster_is_told_of_what_it_has_and_of_nothing_else() -> None:
    assert {found.type for found in status_of(OLD, FINE).conditions} == ALWAYS


def test_the_sets_of_reasons_are_reasons() -> None:
    assert set(SUMMARY) >= TLS_REASONS | ON_PURPOSE


# sentence: (world, outcome, condition, what its message names)
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
    "the sealed server is named": (
        pods(LEADER, SECOND.saying(sealed="true")),
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


@pytest.mark.parametrize(
    ("world", "outcome", "kind", "named"), MESSAGES.values(), ids=MESSAGES.keys()
)
def test_message(world: gen.World, outcome: Outcome, kind: str, named: str) -> None:
    assert named in condition_of(status_of(OLD, world, outcome), kind).message


@pytest.mark.parametrize(("others", "told"), [(0, False), (1, True)])
def test_members_without_a_vote_are_told(others: int, told: bool) -> None:
    found = condition_of(status_of(raft(2, others), FINE), "RaftMembershipReady")
    assert ("without a vote" in found.message) is told


@settings(deadline=None, max_examples=100)
@given(clusters(), worlds(), OUTCOMES)
def test_what_holds_for_every_pass(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome
) -> None:
    this = a_pass(cluster, world, outcome)
    status = compute(this)
    # Each condition once, in the order of the table, with words and the generation.
    told = [found.type for found in status.conditions]
    assert told == [kind.name for kind in TYPES if kind.name in told]
    assert set(told) >= ALWAYS
    for found in status.conditions:
        assert found.message
        assert found.observed_generation == this.cluster.metadata.generation
        assert found.last_transition_time is not None
    _kstatus_agrees(status.conditions, this)
    if this.cluster.spec.paused:
        assert said(status, "Ready") == ("Unknown", "Paused")


def _kstatus_agrees(conditions: Any, this: ReconcileResult) -> None:
    """kstatus calls an object current when Ready is True, and neither of the others is."""
    by_type = {found.type: found for found in conditions}
    ready, moving, stuck = (by_type[kind] for kind in ("Ready", "Reconciling", "Stalled"))
    if ready.status == "True":
        assert (moving.status, stuck.status) == ("False", "False")
        assert by_type["Available"].status == "True"
        assert by_type["Degraded"].status == "False"
    assert not (moving.status == "True" and stuck.status == "True")
    if stuck.status == "True":
        assert ready.status == "False"
        assert ready.reason == stuck.reason
    if isinstance(this.outcome, Blocked) and not this.cluster.spec.paused:
        assert stuck.status == "True"
        assert stuck.reason == this.outcome.reason
