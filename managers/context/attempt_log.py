"""Records recent attempts, so that plans delay retries, and do not repeat a refused request.

The log is only in memory: a new process retries all requests.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contracts.records.observed import EffectAttempt

SIZE = 4096


class AttemptLog:
    """The last attempt of each effect on each object; drops the oldest beyond `size` entries."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._last: OrderedDict[tuple[str, str], EffectAttempt] = OrderedDict()

    def note(self, attempt: EffectAttempt) -> None:
        """Record an attempt; it replaces the previous one."""
        key = (attempt.effect, attempt.uid)
        self._last[key] = attempt
        self._last.move_to_end(key)
        while len(self._last) > self._size:
            self._last.popitem(last=False)

    def last(self, effect: str, uid: str) -> EffectAttempt | None:
        """Return the last attempt of an effect on an object."""
        return self._last.get((effect, uid))

    def of(self, uids: frozenset[str]) -> tuple[EffectAttempt, ...]:
        """Return the last attempts on these objects."""
        return tuple(attempt for (_, uid), attempt in self._last.items() if uid in uids)
