"""An object of a user that is larger than the operator keeps, as a broken rule.

Uses runtime.limits.object_size. Called by the kinds of this API before they read an object: what
was left out of it must not look as if it had been empty.
"""

from collections.abc import Mapping
from typing import Any

from contracts.api.violation import Violation
from runtime.limits.object_size import oversize_of

_NEXT = {
    "spec": (
        "make it smaller: free data, policies and files can be written once the servers run, and "
        "long texts belong into Secrets"
    ),
    "status": (
        "somebody else wrote into it: take that away with kubectl edit --subresource=status, and "
        "nothing of what the operator wrote"
    ),
}


def oversize(obj: Mapping[str, Any]) -> Violation | None:
    """The rule that a cached object breaks by its size; None for an object that is whole."""
    large = oversize_of(obj)
    if large is None:
        return None
    step = _NEXT.get(large.member, "make it smaller")
    return Violation(large.member, "", "size", f"has {large.why}; {step}")
