"""An operator that crashes at one write or at each of its writes, on a fake API server."""

from collections.abc import Callable
from typing import Any

import orjson

from runtime.builtin_kinds import EVENT
from runtime.errors import TransportError
from tests.gen.api import FakeApi

WRITES = ("create", "apply", "json_patch", "delete", "evict")


class CrashingOperator:
    """Makes the operator crash at one write, and counts all writes except events.

    A token request is no write: a crash leaves nothing of it.
    """

    def __init__(self, api: FakeApi, at: int, *, after: bool) -> None:
        self.count, self._at, self._after = 0, at, after
        for verb in WRITES:
            setattr(api, verb, self._spoiled(getattr(api, verb)))

    def _spoiled(self, real: Callable[..., Any]) -> Callable[..., Any]:
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


class OneWritePerLife:
    """Makes the operator crash after each write that changes an object, until `restarted`.

    A request that changes nothing is no progress, and costs no life.
    """

    def __init__(self, api: FakeApi) -> None:
        self._api = api
        self.crashed = False
        self.writes: list[str] = []
        for verb in WRITES:
            setattr(api, verb, self._deadly(getattr(api, verb)))

    def restarted(self) -> None:
        """Let the next operator send requests."""
        self.crashed = False

    def _deadly(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **more: Any) -> Any:
            if args[0] == EVENT:
                return await real(*args, **more)
            # A write in parallel to the last one is never sent.
            if self.crashed:
                raise TransportError("the operator is dead")
            before = _contents(self._api)
            answer = await real(*args, **more)
            if _contents(self._api) != before:
                self.writes.append(str(self._api.calls[-1]))
                self.crashed = True
                raise TransportError("the operator dies")
            return answer

        return call


def _contents(api: FakeApi) -> bytes:
    """All objects without their resource versions."""
    objects = [
        {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}}
        for (kind, _), obj in api.objects.items()
        if kind != EVENT
    ]
    return orjson.dumps(objects)
