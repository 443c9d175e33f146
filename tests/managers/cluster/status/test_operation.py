"""managers.cluster.status.operation: the operation, its progress, and its start."""

from datetime import timedelta

import pytest

from contracts.api.cluster.status import OperationStatus
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Operation
from managers.cluster.plan.steps import merge_plans
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.cluster.status.operation import operation_status, summary
from runtime.outcome import Wait
from tests import gen
from tests.gen.worlds import digest_of
from tests.managers.cluster.passes import FINE

LATER = gen.NOW + timedelta(minutes=3)


def next_status(
    operation: Operation | None, previous: OperationStatus | None
) -> OperationStatus | None:
    return operation_status(operation, previous, LATER)


def test_the_start_is_the_first_report_of_the_kind() -> None:
    first = gen.present(operation_status(Operation("Rolling", 0, 3), None, gen.NOW))
    assert first.started_at == gen.NOW
    next_step = gen.present(next_status(Operation("Rolling", 1, 5), first))
    assert (next_step.started_at, next_step.summary) == (gen.NOW, "Rolling 1/5")
    assert gen.present(next_status(Operation("Scaling", 1, 2), first)).started_at == LATER


def test_a_finished_operation_is_not_reported() -> None:
    assert next_status(None, operation_status(Operation("Rolling", 2, 3), None, gen.NOW)) is None


@pytest.mark.parametrize(
    ("operation", "words"),
    [(Operation("Rolling", 2, 3), "Rolling 2/3"), (Operation("Waking", 0, 0), "Waking")],
)
def test_the_summary(operation: Operation, words: str) -> None:
    assert summary(operation) == words


def test_a_roll_is_an_operation_that_counts_new_pods() -> None:
    cluster = gen.cluster(runtime={"restartAt": "now"}).initialized()
    resolved = gen.resolved(cluster, FINE)
    digest = digest_of(cluster)
    live = gen.stateful_set().with_replicas(3).with_template(digest)
    first, second, third = FINE.pods
    world = FINE.with_set(live).with_pods(first, second, third.with_template(digest))
    desired = merge_plans(resolved, world.facts())
    assert desired.operation == Operation("Rolling", 1, 3)
    outcome = Wait("RollingOut", "2 of 3")
    applied = AppliedObjects(desired, ())
    result = ReconcileResult(cluster.read(), world.facts(), outcome, resolved, applied)
    status = compute(result)
    assert gen.present(status.operation).summary == "Rolling 1/3"
