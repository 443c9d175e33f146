"""Whether a cluster and a token are suitable for a measurement. Pure.

Called by baoctl.commands.bench.run and baoctl.commands.bench.connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baoctl.commands.cluster.observed import number, part, parts, text
from runtime.types import Object


def obstacles(live: Object) -> Iterator[str]:
    """Yield the reasons not to measure: the figures would be useless, or the load harmful."""
    if text(live, "metadata", "deletionTimestamp"):
        yield "it is being deleted"
    conditions = parts(live, "status", "conditions")
    available = next(
        (condition for condition in conditions if condition.get("type") == "Available"), {}
    )
    if available.get("status") != "True":
        yield f"it is not Available ({text(available, 'reason') or 'it has no such condition'})"
    lock = part(live, "status", "operationLock")
    if lock:
        operation = text(lock, "operation") or "an operation"
        yield f"{operation} of {text(lock, 'holder')} is in progress"
    elif part(live, "status", "upgrade"):
        yield "a rolling upgrade is in progress or has failed"
    elif text(live, "status", "blueGreen", "phase") not in ("", "Idle"):
        yield "a blue/green upgrade is in progress"


def token_obstacle(data: Mapping[str, Any], seconds: float) -> str:
    """Return why a token cannot be used for `seconds`; "" if it can.

    `data` is the response to GET auth/token/lookup-self.
    """
    ttl, uses = number(data.get("ttl")), number(data.get("num_uses"))
    if uses:
        return f"the token can be used only {uses} times; use a role without token_num_uses"
    # A TTL of 0 means that the token does not expire.
    if ttl and ttl < seconds:
        return (
            f"the token expires in {ttl} s, and the run takes up to {seconds:g} s; use a shorter "
            "--duration, or a role with a longer token_ttl"
        )
    return ""
