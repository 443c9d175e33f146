"""Effect handlers, as entries of a table by the type of the effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from contracts.records.effects import Effect
from managers.context.context import Context

Subject = TypeVar("Subject")
"""The cluster: an Owner before the resolve step, a Resolved after it."""
SomeEffect = TypeVar("SomeEffect", bound=Effect)

EffectHandler = Callable[[Context, Subject, SomeEffect], Awaitable[None]]
"""Runs the effects of one type. Raises errors of the API server."""


def handler(
    effect: type[SomeEffect], run: EffectHandler[Subject, SomeEffect]
) -> tuple[type[Effect], EffectHandler[Subject, Effect]]:
    """Return an entry of the table; the type checker verifies that function and type match."""
    return effect, cast("EffectHandler[Subject, Any]", run)
