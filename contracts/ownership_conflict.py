"""The message about an object with a name of ours that is not ours: the same text everywhere.

No I/O. Called by the plans that read Secrets, and by the apply step for every other object.
"""

from __future__ import annotations

from runtime.outcome import Blocked

_LEFT_ALONE = (
    "it is neither used nor changed. Rename or delete it, or hand it over with the annotation "
    "openbao.org/adopt set to the name of the cluster"
)


def foreign(message: str) -> Blocked:
    """Stop because of an object; `said` tells which one it is, and whose."""
    return Blocked("ForeignObject", f"{message}: {_LEFT_ALONE}")


def foreign_secret(name: str, owner: str) -> Blocked:
    """Stop because of a Secret of one of our names."""
    return foreign(f"Secret {name} exists and belongs to {owner}")
