"""Guards between the restore of the data and the restart: replication to all servers. Pure.

managers.restore.server_recovery (evaluate_replication) evaluates the servers. Guards return
messages as in managers.restore.guards.
"""

from __future__ import annotations

from contracts.naming.labels import RESTORE_ACKNOWLEDGE
from contracts.state_machine import GuardMessage
from managers.restore.guards import recovering, required_annotation
from managers.restore.inputs import CONVERGENCE, RestoreFacts


def data_replicated(facts: RestoreFacts) -> GuardMessage | None:
    """All servers have the data, or all are sealed and cannot replicate."""
    verdict = facts.recovery
    if facts.marked or verdict is None or verdict.state not in ("Replicated", "Sealed"):
        return None
    return GuardMessage(f"{verdict.message}; requests a restart of the servers")


def replication_accepted(facts: RestoreFacts) -> GuardMessage | None:
    """A user accepts that a server may be lost.

    Only after the deadline: an earlier answer was given in state Unknown.
    """
    message = _late(facts)
    if message is None or facts.answer != "Resume":
        return None
    return GuardMessage(
        f"restarts the servers without verification, with {RESTORE_ACKNOWLEDGE}: {message}"
    )


def replication_blocked(facts: RestoreFacts) -> GuardMessage | None:
    """A server did not receive the data in time; replication takes seconds."""
    message = _late(facts)
    if message is None:
        return None
    return GuardMessage(
        f"{message}; a server that restarts without the data may never receive it: check its log "
        f"and its disk. Or {required_annotation(facts)}"
    )


def still_replicating(facts: RestoreFacts) -> GuardMessage | None:
    """A restore that is being deleted waits for replication, for a limited time."""
    execution = facts.execution
    if execution is None or not facts.same_target or facts.answer == "Abandon":
        return None
    if facts.marked or execution.terminal_result == "Failed":
        return None
    if facts.has_passed(execution.terminal_observed_at, CONVERGENCE):
        return None
    return recovering(facts)


def _late(facts: RestoreFacts) -> GuardMessage | None:
    """Return which servers still lack the data after the deadline."""
    verdict, execution = facts.recovery, facts.execution
    if facts.marked or verdict is None or execution is None or verdict.state != "Replicating":
        return None
    if not facts.has_passed(execution.terminal_observed_at, CONVERGENCE):
        return None
    return GuardMessage(verdict.message)
