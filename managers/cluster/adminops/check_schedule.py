"""Schedules the checks of the servers of healthy clusters, which share one budget.

A check opens TLS connections to all servers of a cluster. Used by
managers.cluster.adminops.reconcile.
"""

from __future__ import annotations

import zlib
from typing import Final

from managers.membership.decide import QUIET_RECHECK
from runtime.types import ObjectKey

BUDGET: Final = 4.0
"""Checks of healthy clusters per second; docs/adr/20261129-server-check-budget.md."""
JITTER: Final = 0.1


class CheckSchedule:
    """The healthy clusters, and the interval between two checks of one of them."""

    def __init__(self) -> None:
        self._healthy: set[ObjectKey] = set()

    def next(self, key: ObjectKey) -> float:
        """Return the seconds until the next check of a cluster that is healthy now."""
        self._healthy.add(key)
        interval = len(self._healthy) / BUDGET
        if interval <= QUIET_RECHECK:
            return QUIET_RECHECK
        # Clusters that were checked together must not always be checked together.
        share = zlib.crc32(str(key).encode()) / 2**32
        return max(QUIET_RECHECK, interval * (1.0 - JITTER + 2.0 * JITTER * share))

    def forget(self, key: ObjectKey) -> None:
        """Ignore a cluster that is deleted, paused or not healthy."""
        self._healthy.discard(key)
