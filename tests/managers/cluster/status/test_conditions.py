"""Which facts give which condition, and the invariants of all conditions."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from contracts.conditions.condition import TYPES
from contracts.records.environment import AdmissionFacts
from managers.certs.condition import REASONS as TLS_REASONS
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.cluster.status.conditions import ON_PURPOSE
from managers.cluster.status.schema_condition import SHOWN, schema_outdated
from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen
from tests.managers.cluster.condition_cases import FINE, LEADER, OLD, SECOND, pods, raft
from tests.managers.cluster.condition_cases import ROWS as CONDITION_ROWS
from tests.managers.cluster.feature_cases import FEATURE_ROWS, UNSTATED
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

WITHOUT_TOKEN = FINE.without_secrets("x-root-token")
ROWS: dict[str, Row] = {**CONDITION_ROWS, **FEATURE_ROWS}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_condition(row: Row) -> None:
    status = status_of(row.cluster, row.world, row.outcome)
    kinds = [expected.partition("=")[0] for expected in row.expected]
    assert row.expected == tuple(
        f"{kind}={' '.join(status_and_reason(status, kind))}" for kind in kinds
    )


@pytest.mark.parametrize("what", UNSTATED)
def test_unrequested_conditions_are_not_reported(what: str) -> None:
    cluster, world, kind = UNSTATED[what]
    assert kind not in {condition.type for condition in status_of(cluster, world).conditions}


def test_every_condition_has_rows() -> None:
    expected = {text for row in ROWS.values() for text in row.expected}
    assert {text.partition("=")[0] for text in expected} == {kind.name for kind in TYPES}


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
    "a pod that cannot run is named with the message of the kubelet": (
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
    "leaders are named": (pods(LEADER, SECOND.ready(leading=True)), Done(), "Degraded", "x-0, x-1"),
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


@pytest.mark.parametrize(("world", "outcome", "kind", "named"), MESSAGES.values(), ids=MESSAGES)
def test_message(world: gen.World, outcome: Outcome, kind: str, named: str) -> None:
    assert named in condition_of(status_of(OLD, world, outcome), kind).message


@pytest.mark.parametrize(("others", "told"), [(0, False), (1, True)])
def test_members_without_a_vote_are_reported(others: int, told: bool) -> None:
    condition = condition_of(status_of(raft(2, others), FINE), "RaftMembershipReady")
    assert ("without a vote" in condition.message) is told


@settings(deadline=None, max_examples=100)
@given(clusters(), worlds(), OUTCOMES)
def test_invariants_of_a_reconcile(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome
) -> None:
    this = a_pass(cluster, world, outcome)
    status = compute(this)
    # Each condition once, in the order of the table; test_cluster_status_law has the other laws.
    types = [condition.type for condition in status.conditions]
    assert types == [kind.name for kind in TYPES if kind.name in types]
    assert set(types) >= ALWAYS
    generations = {condition.observed_generation for condition in status.conditions}
    assert generations == {this.cluster.metadata.generation}
    if this.cluster.spec.paused:
        assert status_and_reason(status, "Ready") == ("Unknown", "Paused")
    elif isinstance(this.outcome, Blocked):
        assert status_and_reason(status, "Stalled") == ("True", this.outcome.reason)
        assert status_and_reason(status, "Ready") == ("False", this.outcome.reason)


# --- ProductionReady: the most severe cause first ---

KMS = {"type": "awskms"}
FIT = {"profile": "Hardened", "tls": {"mode": "External"}, "unseal": KMS}
# sentence: (cluster with one flaw, reason of ProductionReady)
BLOCKERS: dict[str, tuple[gen.World, dict[str, Any], str]] = {
    "a field has no effect": (FINE, {"reconcilePolicies": True, "tls": None}, "UnsupportedFields"),
    "the operator has the key of the CA": (
        FINE,
        {"tls": None, "unseal": None},
        "OperatorManagedTLS",
    ),
    "the unseal key is in the cluster": (FINE, {"unseal": None}, "StaticUnsealInUse"),
    "a root token in a Secret": (FINE, {"replicas": 4}, "RootTokenStored"),
    "one server too many or too few": (WITHOUT_TOKEN, {"replicas": 4}, "EvenReplicas"),
    "no flaw": (WITHOUT_TOKEN, {}, "ProductionReady"),
}
MISSING = AdmissionFacts(missing=("lock-managed-scale",))


def production_ready(
    world: gen.World, spec: dict[str, Any], admission: AdmissionFacts | None = None
) -> tuple[str, str]:
    cluster = OLD.with_spec(**{**FIT, **spec}).read()
    observed = replace(world.facts(), admission=admission)
    status = compute(ReconcileResult(cluster, observed, Done()))
    return status_and_reason(status, "ProductionReady")


@pytest.mark.parametrize(("world", "spec", "reason"), BLOCKERS.values(), ids=BLOCKERS)
def test_what_blocks_production(world: gen.World, spec: dict[str, Any], reason: str) -> None:
    status = "True" if reason == "ProductionReady" else "False"
    assert production_ready(world, spec) == (status, reason)


def test_admission_policies_count_last() -> None:
    for spec, admission, reason in (
        ({}, AdmissionFacts(), "ProductionReady"),
        ({}, MISSING, "AdmissionPoliciesMissing"),
        ({"replicas": 4}, MISSING, "EvenReplicas"),
    ):
        assert production_ready(WITHOUT_TOKEN, spec, admission)[1] == reason


def test_fields_that_an_older_schema_lacks_are_named_and_the_rest_is_counted() -> None:
    missing = tuple(f"OpenBaoCluster.status.f{number}" for number in range(SHOWN + 2))
    message = gen.present(schema_outdated(missing)).message
    assert "OpenBaoCluster.status.f0, " in message
    assert " and 2 more. Apply" in message
    assert missing[-1] not in message
