"""Break glass: the operator enters it when a rollback failed, and only a user ends it. Pure.

The operator takes no action while it is active. The user must copy its random nonce to
spec.breakGlassAck, so the acknowledgement of an earlier failure, or one in advance, has no effect.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from contracts.api.cluster.status_backup import BreakGlass
from contracts.conditions.message import clean_message
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import ACTIONS, ROLLING_BACK

REPAIR_FAILED: Final = "RollbackConsensusRepairFailed"
REMOVAL_FAILED: Final = "RollbackCleanupPeerRemovalFailed"

_NONCE = 32


def break_glass_of(facts: BlueGreenFacts) -> BreakGlass:
    """Return the stored break glass status."""
    return facts.cluster.status.break_glass or BreakGlass()


def is_active(facts: BlueGreenFacts) -> bool:
    """Report whether break glass is active, acknowledged or not."""
    return break_glass_of(facts).active


def is_acknowledged(facts: BlueGreenFacts) -> bool:
    """Report whether break glass is active and its nonce is in spec.breakGlassAck."""
    break_glass = break_glass_of(facts)
    return (
        break_glass.active
        and bool(break_glass.nonce)
        and facts.cluster.spec.break_glass_ack == break_glass.nonce
    )


def enter(facts: BlueGreenFacts, message: str) -> BreakGlass:
    """Enter break glass; returns an active one unchanged.

    Raises ValueError without a nonce of 32 characters: a guessable nonce protects nothing.
    """
    before = break_glass_of(facts)
    if before.active:
        return before
    if len(facts.nonce) < _NONCE:
        raise ValueError("break glass needs a nonce of 32 hexadecimal digits")
    rolling_back = facts.status.phase == ROLLING_BACK
    return BreakGlass(
        active=True,
        reason=REPAIR_FAILED if rolling_back else REMOVAL_FAILED,
        message=clean_message(message),
        nonce=facts.nonce,
        entered_at=_timestamp(facts),
        steps=_steps(facts),
    )


def leave(facts: BlueGreenFacts) -> BreakGlass:
    """Leave break glass; keeps its reason and message."""
    return break_glass_of(facts).model_copy(
        update={"active": False, "acknowledged_at": _timestamp(facts)}
    )


def _timestamp(facts: BlueGreenFacts) -> datetime:
    return facts.now.replace(microsecond=0)


def _steps(facts: BlueGreenFacts) -> tuple[str, ...]:
    name, namespace = facts.cluster.metadata.name, facts.cluster.metadata.namespace
    selector = f"openbao.org/cluster={name}"
    patch = f'{{"spec":{{"breakGlassAck":"{facts.nonce}"}}}}'
    return (
        f"kubectl -n {namespace} logs job/{facts.job_name}",
        f"kubectl -n {namespace} get pods -l {selector} -L openbao.org/revision,openbao-active",
        f"bao operator raft list-peers   # on a server of {name}; blue must lead and vote",
        f"Complete the action {ACTIONS[facts.status.phase]}, or restore a snapshot.",
        f"kubectl -n {namespace} patch openbaocluster {name} --type merge -p '{patch}'",
    )
