"""The brake of a pause: a pass that began before it sends no write once the pause is seen.

A reconciler looks at spec.paused when its pass begins, and may go on for seconds. So each pass is
run by `PauseGuard`, which remembers which clusters it is about, and every write asks `check` right
before it is sent: those to the API server and those to the servers of OpenBao, both through the
guard of the client. It costs a look into a cache. What a pass does that began under a pause is its
reconciler's own affair: it says so in a status, once, and no more.

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
    """The cluster that a pass is about was paused after the pass began.

    No error of a request, so that nobody on the way takes it for one and goes on.
    """


def check() -> None:
    """Raise PausedMeanwhileError if the running pass may write no more."""
    held = _HELD.get()
    if held is not None and held():
        raise PausedMeanwhileError


def is_paused(live: Object | None) -> bool:
    """Tell whether a cluster, as the API server has it, is paused."""
    if live is None or is_terminating(live):
        return False
    spec = live.get("spec")
    return isinstance(spec, dict) and spec.get("paused") is True


class PauseGuard:
    """Runs the passes of a reconciler; one that is stopped by a pause begins anew at once."""

    def __init__(self, inner: Reconciler, clusters: Cache, about: About | None = None) -> None:
        """`about` names the clusters that a request is about; by default it is one itself."""
        self._inner = inner
        self._clusters = clusters
        self._about: About = about or (lambda request: (request,))

    async def __call__(self, request: Request, /) -> Outcome:
        """Run a pass. Raises what it raises."""
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
    """Make one guard for a client: the given one, and `check`."""
    if guard is None:
        return check

    def guarded() -> None:
        guard()
        check()

    return guarded
