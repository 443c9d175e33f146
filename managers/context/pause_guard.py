"""Write guard for a pause: a reconcile that began before the pause sends no write after it.

A reconciler reads spec.paused at its start, and may run for seconds. `PauseGuard` runs each
reconcile and records the clusters of its request. The clients of the API server and of OpenBao call
`check` immediately before each write. A check costs one cache read. A reconcile that starts during
a pause may write: its reconciler only reports the pause in the status, once.

A write that was already sent is not reverted. Deletion continues: a cluster that is being deleted
is not paused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from runtime.outcome import Done, Outcome
from runtime.types import Object, ObjectKey, Request, is_terminating

if TYPE_CHECKING:
    # Upgrade Jobs import the client of OpenBao, and must not load that of the API server.
    from runtime.cache.cache import Cache
    from runtime.controller.controller import Reconciler

PauseCheck = Callable[[], bool]
ClustersOf = Callable[[Request], Iterable[ObjectKey]]

_CHECK: Final[ContextVar[PauseCheck | None]] = ContextVar("pause_check", default=None)


class ClusterPausedError(Exception):
    """The cluster of a reconcile was paused after the reconcile began.

    Not a subclass of request errors, so that no handler of those catches it and continues.
    """


def check() -> None:
    """Raise ClusterPausedError if the current reconcile must not write any more."""
    is_any_paused = _CHECK.get()
    if is_any_paused is not None and is_any_paused():
        raise ClusterPausedError


def is_paused(live: Object | None) -> bool:
    """Return whether a cluster object is paused."""
    if live is None or is_terminating(live):
        return False
    spec = live.get("spec")
    return isinstance(spec, dict) and spec.get("paused") is True


class PauseGuard:
    """Runs a reconciler; a reconcile that a pause stops is requeued immediately."""

    def __init__(
        self, inner: Reconciler, clusters: Cache, clusters_of: ClustersOf | None = None
    ) -> None:
        """`clusters_of` maps a request to its clusters; default: the request names the cluster."""
        self._inner = inner
        self._clusters = clusters
        self._clusters_of: ClustersOf = clusters_of or (lambda request: (request,))

    async def __call__(self, request: Request, /) -> Outcome:
        """Run a reconcile. Raises the errors of the reconciler."""
        clusters = self._clusters
        unpaused = [key for key in self._clusters_of(request) if not is_paused(clusters.get(key))]
        token = _CHECK.set(lambda: any(is_paused(clusters.get(key)) for key in unpaused))
        try:
            return await self._inner(request)
        except ClusterPausedError:
            return Done(0.0)
        finally:
            _CHECK.reset(token)


def with_pause_check(guard: Callable[[], None] | None) -> Callable[[], None]:
    """Return a guard that calls the guard of a client and then `check`."""
    if guard is None:
        return check

    def guarded() -> None:
        guard()
        check()

    return guarded
