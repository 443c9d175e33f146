"""How a pass comes to see its cluster: by watches, which need nothing done, or by asking.

The reconcilers are the same for both. `WatchCacheRefresher` is here; who asks is
managers.cluster.observe.polling.
"""

from __future__ import annotations

from typing import Protocol

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import Observed, StatefulSetFacts
from managers.cluster.status.cluster_status import ReconcileResult
from runtime.apply.ownership import Owner
from runtime.outcome import Done
from runtime.types import ObjectKey

LEADER_RECHECK = 2.0


class CacheRefresher(Protocol):
    """Keeps the caches of one cluster as fresh as the mode allows."""

    def mark_new(self, owner: Owner) -> None:
        """Take note that no object of this very cluster can exist yet."""
        ...

    async def refresh(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Make the caches fresh enough for a pass. Raises the API's errors."""
        ...

    async def ensure_filled(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Make sure that the caches were filled once. Raises the API's errors."""
        ...

    async def refresh_for_deletion(self, owner: Owner, cluster: OpenBaoCluster | None) -> None:
        """Make the caches fresh enough to delete by. Raises the API's errors.

        `cluster` is None when its spec cannot be read.
        """
        ...

    def secret_age(self, owner: Owner) -> float:
        """Tell how old what is known of a Secret may be, in seconds."""
        ...

    def next_refresh(self, this: ReconcileResult) -> float | None:
        """Tell after how many seconds to look again, whatever happens; None: an event tells."""
        ...

    def forget(self, key: ObjectKey) -> None:
        """Drop what is known of a cluster that is gone."""
        ...


class WatchCacheRefresher:
    """The caches are told of everything: only what nobody watches needs another look.

    Nobody watches Secrets, and nobody tells when servers that cannot agree on a leader come to
    agree. Seconds between two looks at Secrets: of a cluster, and of one that is well.
    """

    def __init__(self, secret_recheck: float, when_well: float | None = None) -> None:
        self._recheck = secret_recheck
        self._when_well = secret_recheck if when_well is None else when_well
        self._well: set[ObjectKey] = set()

    def mark_new(self, owner: Owner) -> None:
        """Nothing to note."""

    async def refresh(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Nothing to do."""

    async def ensure_filled(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Nothing to do."""

    async def refresh_for_deletion(self, owner: Owner, cluster: OpenBaoCluster | None) -> None:
        """Nothing to do."""

    def secret_age(self, owner: Owner) -> float:
        """As the installation says."""
        return self._when_well if owner.key in self._well else self._recheck

    def next_refresh(self, this: ReconcileResult) -> float | None:
        """Look again at Secrets, and sooner where the leader is in doubt."""
        metadata = this.cluster.metadata
        key = ObjectKey(metadata.namespace, metadata.name)
        self._well.discard(key)
        if this.applied is None:
            return None
        if this.observed.leader_in_doubt:
            return LEADER_RECHECK
        if not is_well(this):
            return self._recheck
        self._well.add(key)
        return self._when_well

    def forget(self, key: ObjectKey) -> None:
        """Drop what is known of a cluster that is gone."""
        self._well.discard(key)


def is_well(this: ReconcileResult) -> bool:
    """Whether a pass found that nothing is left to do, and every server ready."""
    observed = this.observed
    return (
        isinstance(this.outcome, Done)
        and this.applied is not None
        and _all_ready(this.cluster.spec.servers, observed)
        and not observed.leader_in_doubt
        and observed.quorum is None
    )


def _all_ready(servers: int, observed: Observed) -> bool:
    sets: tuple[StatefulSetFacts | None, ...] = (observed.stateful_set, observed.read.stateful_set)
    return (
        len(observed.servers) == servers
        and all(pod.ready for pod in observed.servers)
        and all(live is None or live.settled for live in sets)
    )
