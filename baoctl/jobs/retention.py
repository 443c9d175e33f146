"""Which snapshots of a cluster are removed, and their removal: only after a successful backup.

Uses store.store and the contracts of keys and manifests. Called by baoctl.jobs.backup. A key counts
when it has the shape that schedules and users create (no tag: snapshots of upgrades are kept),
directly below the cluster's prefix, with a manifest that names this cluster by its UID: two
clusters of one name in one bucket keep each other's snapshots. An equal id of OpenBao is no
evidence: a copy of the data that was restored elsewhere has the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.store import JobStore
from contracts.jobs.env import RetentionEnv
from contracts.jobs.snapshot_manifest import MANIFEST_MAX, ManifestError, read_manifest
from contracts.naming import snapshot_keys
from contracts.naming.snapshot_keys import BackupKey
from runtime.clock import Clock, Deadline

READS_AT_A_TIME = 8
SECONDS = 300.0
"""How long a job may spend on it: the backup itself is done and waits to be reported."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What retention did; `message` is empty when there is nothing to say."""

    deleted: int = 0
    message: str = ""


def outdated(keys: Iterable[BackupKey], rules: RetentionEnv, now: datetime) -> list[BackupKey]:
    """Which of a cluster's snapshots go, oldest first; never the newest and never a protected one.

    A snapshot that is protected counts among those that are kept.
    """
    newest_first = sorted(keys, key=lambda one: (one.at, one.id8), reverse=True)
    stays = set(rules.protected) | {one.text for one in newest_first[:1]}
    oldest = now - timedelta(seconds=rules.max_age_seconds) if rules.max_age_seconds else None
    return [
        one
        for index, one in reversed(list(enumerate(newest_first)))
        if one.text not in stays
        and ((rules.max_count and index >= rules.max_count) or (oldest and one.at < oldest))
    ]


def listed(keys: Collection[str], of: BackupKey) -> tuple[list[BackupKey], list[BackupKey]]:
    """Which snapshots have a manifest, and which manifests have no snapshot."""
    present = set(keys)
    whole: list[BackupKey] = []
    left_over: list[BackupKey] = []
    for manifest in present:
        key = snapshot_keys.parse(snapshot_keys.snapshot_key(manifest) or "")
        if key is None or not key.may_go_with(of):
            continue
        (whole if key.text in present else left_over).append(key)
    return whole, left_over


def left_alone(count: int) -> str:
    """The message about snapshots with the same prefix that are never removed; "" for none."""
    if not count:
        return ""
    return (
        f"{count} more of this name stay: their manifests name another OpenBaoCluster object, as "
        "after it was deleted and made anew, or cannot be read. They go by hand alone: "
        'docs/backup.md, "What goes"'
    )


async def retain(
    store: JobStore, rules: RetentionEnv, just_stored: BackupKey, cluster_uid: str, clock: Clock
) -> Removed:
    """Remove what the rules say. Never raises for a store that refuses: that is in the message."""
    if not rules.max_count and not rules.max_age_seconds:
        return Removed()
    # Clocks of two jobs may differ, so that the newest by its key need not be the last one made.
    rules = replace(rules, protected=(*rules.protected, just_stored.text))
    work = _Work(store, rules, just_stored, cluster_uid)
    try:
        async with Deadline(clock, SECONDS):
            await work.run(clock.now())
    except JobFailure as error:
        return Removed(work.deleted, f"stopped after {work.deleted}: {error}")
    except TimeoutError:
        return Removed(work.deleted, f"stopped after {work.deleted}: took over {SECONDS:g} s")
    return Removed(work.deleted, work.message)


@dataclass(slots=True)
class _Work:
    store: JobStore
    rules: RetentionEnv
    just_stored: BackupKey
    cluster_uid: str
    deleted: int = 0
    message: str = ""

    async def run(self, now: datetime) -> None:
        prefix = snapshot_keys.list_prefix(
            self.just_stored.prefix, self.just_stored.namespace, self.just_stored.cluster
        )
        whole, left_over = listed(await self.store.keys(prefix), self.just_stored)
        # As if all were ours, which is the rule: then manifests need not be read at all.
        if not outdated(whole, self.rules, now) and not left_over:
            return
        own = await self._own(whole)
        going = outdated(own, self.rules, now)
        if self.rules.dry_run:
            names = ", ".join(one.text for one in going)
            would = f"dry run: {len(going)} would go{': ' if going else ''}{names}"
            self.message = "; ".join(filter(None, (would, left_alone(len(whole) - len(own)))))
            return
        for one in going:
            # The manifest last: as long as it is there, the next run finishes what this one began.
            await self.store.delete(one.text)
            await self.store.delete(one.manifest)
            self.deleted += 1
        for one in await self._own(left_over):
            await self.store.delete(one.manifest)
        self.message = left_alone(len(whole) - len(own))

    async def _own(self, keys: Sequence[BackupKey]) -> list[BackupKey]:
        gate = asyncio.Semaphore(READS_AT_A_TIME)

        async def is_own(key: BackupKey) -> bool:
            async with gate:
                content = await self.store.read(key.manifest, MANIFEST_MAX)
            try:
                manifest = read_manifest(content or b"")
            except ManifestError:
                return False
            return manifest.cluster_uid == self.cluster_uid and manifest.key == key.text

        verdicts = await asyncio.gather(*map(is_own, keys))
        return [key for key, own in zip(keys, verdicts, strict=True) if own]
