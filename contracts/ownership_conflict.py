"""The message about an object of another owner whose name the operator needs.

No I/O. Called by the plans that read Secrets, and by the apply step for every other object.
"""

from __future__ import annotations

from runtime.outcome import Blocked

_LEFT_ALONE = (
    "the operator does not use or change it. Rename or delete it, or hand it over: set its "
    "annotation openbao.org/adopt to the name of the cluster"
)


def foreign(message: str) -> Blocked:
    """Return Blocked for an object of another owner; `message` names the object and its owner."""
    return Blocked("ForeignObject", f"{message}: {_LEFT_ALONE}")


def foreign_secret(name: str, owner: str) -> Blocked:
    """Return Blocked for a Secret of another owner whose name the operator needs."""
    return foreign(f"Secret {name} exists and belongs to {owner}")
