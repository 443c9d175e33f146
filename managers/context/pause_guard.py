"""Write guard for a pause: a reconcile that began before the pause sends no write after it.

A reconciler reads spec.paused when it begins, and may run for seconds. So `PauseGuard` runs each
reconcile and keeps the clusters of its request, and every write calls `check` right before it is
sent: those to the API server and those to the servers of OpenBao, both through the guard of the
client. It costs one cache read. A reconcile that began during a pause is the concern of its
reconciler: it reports the pause in the status, once, and does no more.

A write that was on the wire already is not taken back. Deletion goes on: a cluster that is being
deleted is not paused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from runtime.outcome import Done, Outcome
from runtime.types import Object, ObjectKey, Request, is_terminating

if TYPE_CHECKING:
    # Jobs of upgrades take the client of OpenBao, and have no time to load that of the API server.
    from runtime.cache.cache import Cache
    from runtime.controller.controller import Reconciler

Held = Callable[[], bool]
About = Callable[[Request], Iterable[ObjectKey]]

_HELD: Final[ContextVar[Held | None]] = ContextVar("held", default=None)


class PausedMeanwhileError(Exception):
    """The cluster of a reconcile was paused after the reconcile began.

    It is no error of a request, so that no handler of those catches it and goes on.
    """


def check() -> None:
    """Raise PausedMeanwhileError if the running reconcile may write no more."""
    held = _HELD.get()
    if held is not None and held():
        raise PausedMeanwhileError


def is_paused(live: Object | None) -> bool:
    """Return whether a cluster object is paused."""
    if live is None or is_terminating(live):
        return False
    spec = live.get("spec")
    return isinstance(spec, dict) and spec.get("paused") is True


class PauseGuard:
    """Runs the reconciles of a reconciler; one that a pause stops is requeued at once."""

    def __init__(self, inner: Reconciler, clusters: Cache, about: About | None = None) -> None:
        """`about` maps a request to its clusters; by default the request names the cluster."""
        self._inner = inner
        self._clusters = clusters
        self._about: About = about or (lambda request: (request,))

    async def __call__(self, request: Request, /) -> Outcome:
        """Run a reconcile. Raises what it raises."""
        clusters = self._clusters
        running = [key for key in self._about(request) if not is_paused(clusters.get(key))]
        before = _HELD.set(lambda: any(is_paused(clusters.get(key)) for key in running))
        try:
            return await self._inner(request)
        except PausedMeanwhileError:
            return Done(0.0)
        finally:
            _HELD.reset(before)


def both(guard: Callable[[], None] | None) -> Callable[[], None]:
    """Combine a guard of a client with `check`."""
    if guard is None:
        return check

    def guarded() -> None:
        guard()
        check()

    return guarded
