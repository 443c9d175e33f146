"""Whether a cluster, and a token, are in a state to measure with. Pure.

Called by baoctl.commands.bench.run and baoctl.commands.bench.connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baoctl.commands.cluster.observed import number, part, parts, text
from runtime.types import Object


def obstacles(live: Object) -> Iterator[str]:
    """List what makes figures worthless, or a load harmful."""
    if text(live, "metadata", "deletionTimestamp"):
        yield "it is being deleted"
    conditions = parts(live, "status", "conditions")
    available = next((one for one in conditions if one.get("type") == "Available"), {})
    if available.get("status") != "True":
        yield f"it is not Available ({text(available, 'reason') or 'without a condition'})"
    lock = part(live, "status", "operationLock")
    if lock:
        yield f"{text(lock, 'operation') or 'an operation'} of {text(lock, 'holder')} runs"
    elif part(live, "status", "upgrade"):
        yield "a rolling upgrade runs or has failed"
    elif text(live, "status", "blueGreen", "phase") not in ("", "Idle"):
        yield "a blue/green upgrade runs"


def token_obstacle(data: Mapping[str, Any], seconds: float) -> str:
    """Return why a token cannot serve for so long, from what it reads of itself; "" if it can."""
    life, uses = number(data.get("ttl")), number(data.get("num_uses"))
    if uses:
        return f"the token may be used {uses} times; choose a role without token_num_uses"
    # 0 is for ever.
    if life and life < seconds:
        return (
            f"the token lives {life} s, and the run takes up to {seconds:g} s; choose a shorter "
            "--duration, or a role with a longer token_ttl"
        )
    return ""
