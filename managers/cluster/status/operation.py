"""The current operation of a cluster, as `status.operation`. Pure."""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.status import OperationStatus
from contracts.records.desired import Operation


def operation_status(
    operation: Operation | None, previous: OperationStatus | None, now: datetime
) -> OperationStatus | None:
    """Return the operation, its progress, and its start; None when there is none.

    It began when its kind was first reported: steps that are added or dropped meanwhile do not
    restart it. `now` is UTC; fractions of a second are cut, as the API server stores none.
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
    """Return kind and progress, such as `Rolling 2/3`; the kind alone without a count."""
    if not operation.total:
        return operation.kind
    return f"{operation.kind} {operation.done}/{operation.total}"
