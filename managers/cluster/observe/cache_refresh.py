"""Keeps the caches of a cluster fresh: by watches, which need no action, or by polling.

The reconcilers are the same for both. `WatchCacheRefresher` is here; polling is
managers.cluster.observe.polling.
"""

from __future__ import annotations

import random
from typing import Protocol

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import StatefulSetFacts, is_leader_in_doubt
from managers.cluster.observe.secret_schedule import SecretSchedule
from managers.cluster.status.cluster_status import ReconcileResult
from runtime.apply.ownership import Owner
from runtime.clock import Clock
from runtime.outcome import Done
from runtime.types import ObjectKey

LEADER_RECHECK = 2.0


class CacheRefresher(Protocol):
    """Keeps the caches of one cluster as fresh as the mode allows."""

    def mark_new(self, owner: Owner) -> None:
        """Record that no object of this cluster can exist yet."""
        ...

    async def refresh(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Make the caches fresh enough for a reconcile. Raises the API's errors."""
        ...

    async def ensure_filled(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Make sure that the caches were filled once. Raises the API's errors."""
        ...

    async def refresh_for_deletion(self, owner: Owner, cluster: OpenBaoCluster | None) -> None:
        """Make the caches fresh enough for a deletion. Raises the API's errors.

        `cluster` is None when its spec cannot be read.
        """
        ...

    def secret_age(self, owner: Owner) -> float:
        """Return the maximum age of a cached Secret, in seconds."""
        ...

    def next_refresh(self, result: ReconcileResult) -> float | None:
        """Return the seconds until the next refresh is due; None: only an event triggers it."""
        ...

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of a deleted cluster."""
        ...


class WatchCacheRefresher:
    """Watches keep the caches fresh: only unwatched state needs a refresh.

    Secrets are not watched, and no event reports that the leader is no longer ambiguous.
    """

    def __init__(self, schedule: SecretSchedule) -> None:
        self._schedule = schedule

    def mark_new(self, owner: Owner) -> None:
        """Nothing to do."""

    async def refresh(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Nothing to do."""

    async def ensure_filled(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Nothing to do."""

    async def refresh_for_deletion(self, owner: Owner, cluster: OpenBaoCluster | None) -> None:
        """Nothing to do."""

    def secret_age(self, owner: Owner) -> float:
        """Return the age that the schedule allows."""
        return self._schedule.age(owner.key)

    def next_refresh(self, result: ReconcileResult) -> float | None:
        """Read Secrets again by the schedule, and sooner while the leader is ambiguous."""
        metadata, observed = result.cluster.metadata, result.observed
        key = ObjectKey(metadata.namespace, metadata.name)
        if result.applied is None:
            self._schedule.forget(key)
            return None
        facts = (metadata.generation, observed.secrets)
        well = is_ready(result)
        due = self._schedule.next(key, facts, len(observed.secrets), well=well)
        return due if well or not observed.leader_in_doubt else min(due, LEADER_RECHECK)

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of a deleted cluster."""
        self._schedule.forget(key)


def watch_refresher(
    clock: Clock, recheck: float, when_well: float = 0.0, rng: random.Random | None = None
) -> WatchCacheRefresher:
    """Make the refresher of a process that watches.

    `recheck`: seconds between two reads of the Secrets of a changing cluster. `when_well`: the
    minimum for a healthy cluster.
    """
    jitter = rng or random.Random()  # noqa: S311  jitter, not keys
    return WatchCacheRefresher(SecretSchedule(clock, jitter, recheck, when_well))


def is_ready(result: ReconcileResult) -> bool:
    """Report whether a reconcile has nothing left to do, and every server is ready."""
    observed = result.observed
    pods = observed.servers
    sets: tuple[StatefulSetFacts | None, ...] = (observed.stateful_set, observed.read.stateful_set)
    return (
        isinstance(result.outcome, Done)
        and result.applied is not None
        and len(pods) == result.cluster.spec.servers
        and all(pod.ready for pod in pods)
        and all(live is None or live.generation_observed for live in sets)
        and not is_leader_in_doubt(pods)
        and observed.quorum is None
    )
