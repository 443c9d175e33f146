"""What is being done to a cluster, as `status.operation`. Pure."""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.status import OperationStatus
from contracts.records.desired import Operation


def operation_status(
    operation: Operation | None, previous: OperationStatus | None, now: datetime
) -> OperationStatus | None:
    """Tell what is done, how far it is, and since when; None when nothing is.

    It began when its kind was first told: steps that are added or fall away meanwhile are no new
    beginning. `now` is UTC; fractions of a second are cut, as the API server stores none.
    """
    if operation is None:
        return None
    same = previous is not None and previous.kind == operation.kind
    since = previous.started_at if same and previous is not None else None
    return OperationStatus(
        kind=operation.kind,
        done=operation.done,
        total=operation.total,
        summary=summary(operation),
        started_at=since or now.replace(microsecond=0),
    )


def summary(operation: Operation) -> str:
    """Say both in short, such as `Rolling 2/3`; the kind alone while nothing can be counted."""
    if not operation.total:
        return operation.kind
    return f"{operation.kind} {operation.done}/{operation.total}"
