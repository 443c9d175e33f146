"""Which requests and which clusters are for the shard of this process.

An object that is about a cluster belongs to the shard of its cluster, which the name in its spec
tells: that never changes, and the cluster need not be known.
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
    """Makes a controller of a name that calls a reconciler."""

    def __call__(
        self, name: str, reconcile: Reconciler, /, *, owns: Owns | None = None
    ) -> Controller:
        """Make it. `owns`: which requests are for this process; None: each names a cluster."""
        ...


def owns_run(shard: Shard, runs: Cache) -> Owns:
    """Make the predicate of requests that name a backup or a restore.

    True for one that is not in the cache: without an object its reconciler has nothing to do but
    to forget it.
    """

    def owns(request: Request) -> bool:
        live = None if shard.is_only else runs.get(request)
        return live is None or shard.owns(cluster_of_run(live))

    return owns


def cluster_of_run(run: Object) -> ObjectKey:
    """Return the key of the cluster that a backup or a restore is about; without one its own."""
    return next(iter(cluster_keys(run)), key_of(run))


class ClustersOfShard:
    """The clusters that are for this process: those that its metrics tell of."""

    def __init__(self, clusters: Lister, shard: Shard) -> None:
        self._clusters = clusters
        self._shard = shard

    def get(self, key: ObjectKey) -> Object | None:
        """Return the cluster as last seen; None also for that of another shard."""
        return self._clusters.get(key) if self._shard.owns(key) else None

    def list(self, namespace: str | None = None) -> Objects:
        """Return all clusters of the shard, or those of one namespace."""
        owns = self._shard.owns
        return [live for live in self._clusters.list(namespace) if owns(key_of(live))]
