"""The violation of an object that is larger than the operator caches.

Uses runtime.limits.object_size. Called by contracts.api.api_object before it reads an object: a
part that the cache dropped must not be read as empty.
"""

from collections.abc import Mapping
from typing import Any

from contracts.api.violation import Violation
from runtime.limits.object_size import oversize_of

_NEXT = {
    "spec": (
        "make it smaller: write free data, policies and files when the servers run, and move long "
        "texts into Secrets"
    ),
    "status": (
        "another client wrote into it: remove its fields with kubectl edit --subresource=status, "
        "and keep the fields of the operator"
    ),
}


def oversize(obj: Mapping[str, Any]) -> Violation | None:
    """Return the violation of a cached object that is too large; None for a complete object."""
    large = oversize_of(obj)
    if large is None:
        return None
    step = _NEXT.get(large.member, "make it smaller")
    return Violation(large.member, "", "size", f"has {large.why}; {step}")
