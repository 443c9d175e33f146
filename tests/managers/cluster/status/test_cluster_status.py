"""managers.cluster.status.cluster_status: the status of a cluster after a reconcile."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.conditions.condition import MESSAGE_MAX
from contracts.records.applied_objects import AppliedObjects
from managers.cluster.plan.steps import merge_plans
from managers.cluster.status.cluster_status import ReconcileResult, compute, deleting, failing
from runtime.apply.apply_result import Applied
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.verdict import Verdict
from tests import gen
from tests.managers.cluster.passes import (
    OUTCOMES,
    a_pass,
    carry_over,
    clusters,
    condition_of,
    status_and_reason,
    status_of,
    worlds,
)

Tell = Callable[[OpenBaoCluster, str, datetime], ClusterStatus]
NEW = gen.cluster()
OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods


def types(status: ClusterStatus) -> set[str]:
    return {condition.type for condition in status.conditions}


@settings(deadline=None, max_examples=60)
@given(clusters(), worlds(), OUTCOMES)
def test_time_alone_changes_nothing(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome
) -> None:
    """The phase may depend on the first status; after that, nothing changes."""
    first = compute(a_pass(cluster, world, outcome))
    assert compute(a_pass(cluster, world, outcome)) == first
    second = carry_over(cluster, compute(a_pass(carry_over(cluster, first), world, outcome)))
    third = compute(a_pass(second, world.at(gen.LATER), outcome))
    written = third.to_object()
    written.pop("adminOps", None)
    assert {**second.status, "adminOps": 0} == {**written, "adminOps": 0}


@settings(deadline=None, max_examples=60)
@given(clusters(), worlds(), OUTCOMES)
def test_what_is_written_is_readable(
    cluster: gen.Cluster, world: gen.World, outcome: Outcome
) -> None:
    status = compute(a_pass(cluster, world, outcome))
    assert ClusterStatus.model_validate(status.to_object()) == status


class Row(NamedTuple):
    cluster: gen.Cluster
    world: gen.World
    field: str
    value: Any


FIELDS = {
    "ready servers are counted": Row(OLD, FINE.with_pods(LEADER, SECOND), "ready", "2/3"),
    "pods are counted": Row(OLD, FINE.with_pods(LEADER, gen.pod(1)), "replicas", 2),
    "one leader is named": Row(OLD, FINE, "activeLeader", "x-0"),
    "no leader during the first boot": Row(
        NEW, gen.world().with_pods(LEADER.unready()), "activeLeader", ""
    ),
    "no leader of two": Row(
        OLD, FINE.with_pods(LEADER, SECOND.ready(leading=True)), "activeLeader", ""
    ),
    "the version that all servers report": Row(OLD, FINE, "currentVersion", "2.4.0"),
    "two versions keep the former one": Row(
        OLD, FINE.with_pods(LEADER, SECOND.ready(version="2.4.1")), "currentVersion", "2.4.0"
    ),
    "the newer version when all servers report it": Row(
        OLD.with_spec(version="2.4.1"),
        FINE.with_pods(LEADER.ready(version="2.4.1"), SECOND.unready()),
        "currentVersion",
        "2.4.1",
    ),
    "without ready servers the version is kept": Row(
        OLD, FINE.with_pods(), "currentVersion", "2.4.0"
    ),
    "a ready cluster is Running": Row(NEW, FINE, "phase", "Running"),
    "an initialized cluster is Running": Row(OLD, FINE.with_pods(), "phase", "Running"),
    "a cluster with one ready server is Initializing": Row(
        NEW, gen.world().with_set(gen.stateful_set()).with_pods(LEADER), "phase", "Initializing"
    ),
    "a new cluster is Initializing": Row(NEW, gen.world(), "phase", "Initializing"),
    "a failed first boot is Failed": Row(
        NEW,
        FINE.with_set(gen.stateful_set().first_boot()).with_pods(gen.pod().ready().with_restarts()),
        "phase",
        "Failed",
    ),
    "no server is sealed": Row(OLD, FINE, "sealed", "false"),
    "one is sealed": Row(
        OLD, FINE.with_pods(LEADER, SECOND.with_server_labels(sealed="true")), "sealed", "true"
    ),
    "one server without a seal label": Row(
        OLD, FINE.with_pods(LEADER, gen.pod(1)), "sealed", "unknown"
    ),
    "no seal labels": Row(OLD, FINE.with_pods(), "sealed", "unknown"),
    "no pods": Row(NEW, gen.world(), "sealed", "unknown"),
    "an uninitialized server is not sealed": Row(
        NEW,
        gen.world().with_pods(gen.pod(0).with_server_labels(sealed="true")),
        "sealed",
        "unknown",
    ),
    "data exists": Row(OLD, FINE, "initialized", True),
    "it did not initialize itself": Row(OLD, FINE, "selfInitialized", False),
    "it initialized itself": Row(OLD.self_init(), FINE, "selfInitialized", True),
    "the observed generation": Row(OLD.with_metadata(generation=7), FINE, "observedGeneration", 7),
    "kubectl scale finds the pods": Row(
        OLD,
        FINE,
        "selector",
        "app.kubernetes.io/instance=x,app.kubernetes.io/managed-by=openbao-operator,"
        "app.kubernetes.io/name=openbao,openbao.org/cluster=x,openbao.org/workload-pool=voter",
    ),
}


@pytest.mark.parametrize(("cluster", "world", "field", "value"), FIELDS.values(), ids=FIELDS)
def test_field(cluster: gen.Cluster, world: gen.World, field: str, value: Any) -> None:
    assert status_of(cluster, world).to_object().get(field) == value


def test_a_paused_or_lost_status_is_computed_from_the_observation() -> None:
    paused = status_of(OLD.with_spec(paused=True), gen.world())
    assert (paused.initialized, paused.phase) == (True, "Running")
    lost = status_of(NEW, FINE)
    assert (lost.initialized, lost.phase, lost.current_version) == (True, "Running", "2.4.0")


BLOCKED = Blocked("UnsealKeyMissing", "the key is gone")
# A spec may break many rules at once; the API server takes 1024 characters.
ENDLESS = Blocked("InvalidSpec", "a rule is broken\n" * 500)


@pytest.mark.parametrize("error", [BLOCKED, ENDLESS], ids=["short", "truncated"])
def test_the_last_error_has_its_start(error: Blocked) -> None:
    first = status_of(OLD, FINE, error)
    assert first.workload is not None
    assert gen.present(first.workload.last_error).at == gen.NOW
    assert len(gen.present(first.workload.last_error).message) <= MESSAGE_MAX
    again = status_of(carry_over(OLD, first), FINE.at(gen.LATER), error)
    assert again.workload == first.workload
    other = Blocked("UnsealKeyMissing", "another key is gone")
    after = status_of(carry_over(OLD, first), FINE.at(gen.LATER), other)
    assert after.workload is not None
    assert gen.present(after.workload.last_error).at == gen.LATER


@pytest.mark.parametrize("outcome", [Done(), Wait("RollingOut", "one goes")], ids=type)
def test_the_last_error_is_cleared_when_nothing_is_blocked(outcome: Outcome) -> None:
    first = status_of(OLD, FINE, BLOCKED)
    workload = status_of(carry_over(OLD, first), FINE, outcome).workload
    assert workload is None or workload.last_error is None
    assert (workload is None) is isinstance(outcome, Done)


def test_a_foreign_object_is_reported_even_after_another_problem() -> None:
    resolved = gen.resolved(OLD, FINE)
    desired = merge_plans(resolved, FINE.facts())
    intent = desired.foundation[0]
    foreign = Applied(intent, Verdict.FOREIGN, None, f"{intent} exists and belongs to Shop s")
    applied = AppliedObjects(desired, (foreign,))
    outcome = Blocked("UnsealKeyMissing", "the key is gone")
    status = compute(ReconcileResult(OLD.read(), FINE.facts(), outcome, resolved, applied))
    assert status_and_reason(status, "Stalled") == ("True", "UnsealKeyMissing")
    assert status_and_reason(status, "Conflict") == ("True", "ForeignObject")
    assert "ConfigMap ns/x-config" in condition_of(status, "Conflict").message


class TestFailing:
    @pytest.mark.parametrize(
        ("tell", "changes"),
        [
            (failing, ["Ready Unknown", "Reconciling True", "Stalled False"]),
            (deleting, ["Ready False", "Reconciling True", "Stalled False", "Available False"]),
        ],
    )
    def test_only_the_reported_conditions_change(self, tell: Tell, changes: list[str]) -> None:
        before = status_of(OLD, FINE)
        after = tell(carry_over(OLD, before).read(), "etcd is away", gen.LATER)
        assert "etcd is away" in condition_of(after, "Reconciling").message
        pairs = zip(before.conditions, after.conditions, strict=True)
        assert [f"{new.type} {new.status}" for old, new in pairs if old != new] == changes
        bare = {"conditions": ()}
        assert after.model_copy(update=bare) == before.model_copy(update=bare)

    def test_a_cluster_without_a_status_gets_its_first_conditions(self) -> None:
        after = failing(NEW.read(), "no", gen.NOW)
        assert [each.type for each in after.conditions] == ["Ready", "Reconciling", "Stalled"]

    @pytest.mark.parametrize(
        ("tell", "reason"), [(failing, "TransientError"), (deleting, "Deleting")]
    )
    def test_conditions_of_other_writers_are_no_crash(self, tell: Tell, reason: str) -> None:
        """A former cluster of another operator; its deletion must complete, too."""
        foreign = {"type": "Upgraded", "status": "True", "reason": "Theirs", "message": "m"}
        cluster = OLD.with_status(conditions=[foreign])
        after = tell(cluster.read(), "no", gen.NOW)
        assert status_and_reason(after, "Reconciling") == ("True", reason)
        assert "Upgraded" not in {condition.type for condition in after.conditions}


def test_an_unknown_or_equal_volume_size_does_not_differ() -> None:
    bare = replace(gen.stateful_set(), claim_size="")
    assert "UnsupportedFields" not in types(status_of(OLD, FINE.with_set(bare)))
    for size in ("1Gi", "1024Mi"):
        assert "UnsupportedFields" not in types(
            status_of(OLD.with_spec(storage={"size": size}), FINE)
        )


def test_an_unreadable_status_is_computed_anew() -> None:
    spoiled = gen.expect(OpenBaoCluster, OLD.with_status(conditions="none").read())
    resolved = gen.resolved(NEW, FINE)
    status = compute(ReconcileResult(spoiled, FINE.facts(), Done(), resolved))
    assert status_and_reason(status, "Ready") == ("True", "AllReplicasReady")
