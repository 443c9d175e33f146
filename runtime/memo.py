"""Memoized results of pure functions, kept while their inputs are the same objects.

Standard library only. For values that are computed from an object that is reconciled often and
changes rarely. A result that a reconcile uses is kept until the end of the next reconcile of the
same key. The reconcile of a deleted object computes nothing, so no result of the object remains.
Reconciles of several controllers about one object share a result as long as one of them keeps it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

SIZE: Final = 64
"""Maximum number of first arguments, per function, whose last result is kept for calls outside of a
reconcile; the least recently used is dropped first."""
KEYS: Final = 256
"""Maximum number of keys, per controller, whose results are kept; the least recently reconciled is
dropped first."""
PASS_SIZE: Final = 4096
"""Maximum number of results that are kept of one reconcile."""

First = TypeVar("First")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


class _Entry:
    """The first argument, the other positional and keyword arguments, and the result."""

    __slots__ = ("__weakref__", "arguments", "first", "result")

    def __init__(
        self, first: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]], result: Any
    ) -> None:
        self.first = first
        self.arguments = arguments
        self.result = result


class _Pass:
    """The results of the current reconcile of a key, and those of the previous one."""

    __slots__ = ("before", "now", "size")

    def __init__(self, before: dict[Hashable, _Entry], size: int) -> None:
        self.before = before
        self.size = size
        self.now: dict[Hashable, _Entry] = {}

    def close(self) -> None:
        """Drop the results: connections and threads of the reconcile outlive it.

        asyncio copies the context, and so this object, into each callback of a connection.
        """
        self.before, self.now, self.size = {}, {}, 0


_pass: ContextVar[_Pass | None] = ContextVar("memo_pass", default=None)


class Memos:
    """The results that the reconciles of one controller keep, by key."""

    def __init__(self, keys: int = KEYS, size: int = PASS_SIZE) -> None:
        """Keep at most `keys` keys, and `size` results of each."""
        self._keys = keys
        self._size = size
        self._results: OrderedDict[Hashable, dict[Hashable, _Entry]] = OrderedDict()

    def __len__(self) -> int:
        """The number of keys with results."""
        return len(self._results)

    @contextmanager
    def during(self, key: Hashable) -> Iterator[None]:
        """Use the results of the last reconcile of the key in this block; keep its own for the
        next."""
        under_way = _Pass(self._results.pop(key, {}), self._size)
        token = _pass.set(under_way)
        try:
            yield
        finally:
            _pass.reset(token)
            if under_way.now:
                self._results[key] = under_way.now
            under_way.close()
            if len(self._results) > self._keys:
                self._results.popitem(last=False)


def memoize(
    function: Callable[Concatenate[First, Rest], Result],
    *,
    size: int = SIZE,
    slot: Callable[[First], Hashable] | None = None,
) -> Callable[Concatenate[First, Rest], Result]:
    """Keep the last result per first argument, which is compared by identity; the others by value.

    For functions that depend only on their arguments, with arguments that never change: frozen
    values, and objects of a cache. Callers share the result and must not change it. Exceptions are
    not kept. With a `slot`, all reconciles share the results: only the last first argument of each
    slot is kept, so that an object with its UID as slot replaces its former version, and `size` may
    be the number of all objects.
    """
    results: OrderedDict[Hashable, _Entry] = OrderedDict()
    # An entry keeps its first argument alive, so no other object can have its id.
    of_others: WeakValueDictionary[Hashable, _Entry] = WeakValueDictionary()
    place_of: Callable[[First], Hashable] = slot or id
    of_passes = slot is None

    @wraps(function)
    def memoized(first: First, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        key = place_of(first)
        under_way = _pass.get() if of_passes else None
        if under_way is not None and under_way.size:
            return in_pass(under_way, key, first, rest, named)
        # The first argument is kept with its result, so no other object can have its id.
        entry = results.get(key)
        if entry is not None and entry.first is first and entry.arguments == (rest, named):
            try:  # noqa: SIM105 - suppress() would double the time of a hit
                results.move_to_end(key)
            except KeyError:
                pass  # Another thread has dropped it.
            return entry.result  # type: ignore[no-any-return]  # the result of `function`
        result = function(first, *rest, **named)
        results[key] = _Entry(first, (rest, named), result)
        results.move_to_end(key)
        if len(results) > size:
            results.popitem(last=False)
        return result

    def in_pass(
        under_way: _Pass,
        key: Hashable,
        first: First,
        rest: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Result:
        call = (memoized, key)
        now = under_way.now
        entry = now.get(call) or under_way.before.get(call) or of_others.get(key)
        if entry is None or entry.first is not first or entry.arguments != (rest, named):
            entry = _Entry(first, (rest, named), function(first, *rest, **named))
            of_others[key] = entry
        if len(now) < under_way.size:
            now[call] = entry
        return entry.result  # type: ignore[no-any-return]  # the result of `function`

    return memoized
