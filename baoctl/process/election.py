"""The leader election of a process, for all clusters or for one shard of them."""

from __future__ import annotations

import random
from functools import partial

from baoctl.settings import Settings
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.events import Reporter
from runtime.leader.leader import LeaderElector, LeaseLock
from runtime.leader.shard_elector import (
    GROUP_OPTIONS,
    Election,
    GroupElector,
    ShardElector,
    group_lock,
    shard_lock,
)
from runtime.metrics.metrics import Metrics


def build_election(
    settings: Settings,
    client: Client,
    lease: str,
    reporter: Reporter,
    metrics: Metrics,
    clock: Clock,
) -> Election | None:
    """Build the elector; None if leader election is disabled.

    `client` must have no write guard, and is used only for the election.
    """
    if not settings.leader_election:
        return None
    lock = LeaseLock(settings.installation.namespace, lease, settings.identity, reporter)
    rng = random.Random()  # noqa: S311  jitter, not keys
    leader = partial(LeaderElector, client, clock=clock, rng=rng, metrics=metrics)
    if settings.shard.is_only:
        return leader(lock)

    def candidacy() -> tuple[GroupElector, LeaderElector]:
        group = GroupElector(
            client,
            group_lock(lock, settings.shard),
            clock=clock,
            rng=rng,
            metrics=metrics,
            options=GROUP_OPTIONS,
        )
        return group, leader(shard_lock(lock, settings.shard))

    return ShardElector(candidacy)
