"""Guards of the deletion of the cluster that a restore created. Pure.

Guards return messages as in managers.restore.guards.
"""

from __future__ import annotations

from datetime import timedelta

from contracts.state_machine import APPLIES, GuardMessage
from managers.restore.inputs import RestoreFacts


def target_disposable(facts: RestoreFacts) -> GuardMessage | None:
    """The restore has ended, and the cluster is no longer needed."""
    done = facts.status.completion_time
    if not _is_disposable(facts) or done is None:
        return None
    # A pause does not restart cleanupAfterSeconds, unlike the deadlines.
    if facts.now - done < timedelta(seconds=facts.spec.cleanup_after_seconds):
        return None
    return GuardMessage(facts.status.message)


def disposable_exists(facts: RestoreFacts) -> GuardMessage | None:
    """The restore is being deleted, and its cluster with it."""
    return APPLIES if _is_disposable(facts) else None


def _is_disposable(facts: RestoreFacts) -> bool:
    """Whether this restore created the cluster, by the recorded UID: annotations can be copied."""
    recorded, target = facts.status.target, facts.target
    if facts.spec.target_lifecycle != "Disposable" or recorded is None or target is None:
        return False
    return facts.created_target and target.uid == recorded.uid and not target.terminating
