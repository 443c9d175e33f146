"""An operator that crashes before or after one of its writes, on a fake API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.builtin_kinds import EVENT
from runtime.errors import TransportError
from tests.gen.api import FakeApi

WRITES = ("create", "apply", "json_patch", "delete", "evict")


class Dying:
    """Makes the operator crash at one write, and counts all writes except events.

    A token request is no write: a crash leaves nothing of it.
    """

    def __init__(self, api: FakeApi, at: int, *, after: bool) -> None:
        self.count, self._at, self._after = 0, at, after
        for verb in WRITES:
            setattr(api, verb, self._spoilt(getattr(api, verb)))

    def _spoilt(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **more: Any) -> Any:
            if args[0] == EVENT or more.get("subresource") == "token":
                return await real(*args, **more)
            self.count += 1
            if self.count == self._at and not self._after:
                raise TransportError("the operator dies")
            answer = await real(*args, **more)
            if self.count == self._at:
                raise TransportError("the operator dies")
            return answer

        return call
