"""Records the Kubernetes event of an effect about the object that owns it."""

from __future__ import annotations

from managers.context.context import Context
from runtime.apply.ownership import Owner


def record_normal(context: Context, owner: Owner, reason: str, text: str) -> None:
    """Record an event of type Normal."""
    context.events.event(owner.identity(), "Normal", reason, text)


def record_warning(context: Context, owner: Owner, reason: str, text: str) -> None:
    """Record an event of type Warning."""
    context.events.event(owner.identity(), "Warning", reason, text)
