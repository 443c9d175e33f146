"""The requests and clusters of the shard of this process.

A backup or restore belongs to the shard of the cluster that its spec names. That name never
changes, and the cluster need not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from managers.backup.caches import cluster_keys
from runtime.cache.cache import Cache, Lister, Objects
from runtime.controller.controller import Controller, Reconciler
from runtime.leader.shard import Shard
from runtime.types import Object, ObjectKey, Request, key_of

Owns = Callable[[Request], bool]


class MakeController(Protocol):
    """Builds a controller with a name and a reconciler."""

    def __call__(
        self, name: str, reconcile: Reconciler, /, *, owns: Owns | None = None, memo_keys: int = ...
    ) -> Controller:
        """Build a controller. `owns`: whether a request belongs to this process.

        If `owns` is None, each request names a cluster. `memo_keys` is an option of the controller.
        """
        ...


def owns_run(shard: Shard, runs: Cache) -> Owns:
    """Return the predicate for requests that name a backup or a restore.

    The predicate accepts an object that is not in the cache: its reconciler only drops its state.
    """

    def owns(request: Request) -> bool:
        live = None if shard.is_only else runs.get(request)
        return live is None or shard.owns(cluster_of_run(live))

    return owns


def cluster_of_run(run: Object) -> ObjectKey:
    """Return the cluster of a backup or a restore; its own key if it names none."""
    return next(iter(cluster_keys(run)), key_of(run))


class ClustersOfShard:
    """The clusters of the shard of this process, for its metrics."""

    def __init__(self, clusters: Lister, shard: Shard) -> None:
        self._clusters = clusters
        self._shard = shard

    def get(self, key: ObjectKey) -> Object | None:
        """Return the cluster from the cache; None if it belongs to another shard."""
        return self._clusters.get(key) if self._shard.owns(key) else None

    def list(self, namespace: str | None = None) -> Objects:
        """Return all clusters of the shard, or those of one namespace."""
        if self._shard.is_only:
            return self._clusters.list(namespace)
        owns = self._shard.owns
        return [live for live in self._clusters.list(namespace) if owns(key_of(live))]
