"""Removes outdated snapshots of a cluster, only after a successful backup.

Uses store.store and the contracts of keys and manifests. Called by baoctl.jobs.backup.

Retention applies to a snapshot only if its key is directly below the prefix of the cluster, has no
tag (the key of a snapshot of an upgrade has one), and its manifest contains the UID of the cluster.
So two clusters with the same name in one bucket do not delete each other's snapshots. The cluster
id of OpenBao is not sufficient: a copy of the data that was restored elsewhere has the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.store import JobStore, ObjectTooLarge
from contracts.jobs.env import RetentionEnv
from contracts.jobs.snapshot_manifest import MANIFEST_MAX, ManifestError, read_manifest
from contracts.naming import snapshot_keys
from contracts.naming.snapshot_keys import BackupKey
from contracts.retention import RetentionCandidate, RetentionLimits, exceeded_limits
from runtime.clock import Clock, Deadline

CONCURRENT_READS = 8
TIMEOUT_SECONDS = 300.0
"""Time limit: the backup is complete, and its report waits for retention."""
FAILURES_MAX = 100
"""Failed deletions that end retention: without the permission, every deletion fails."""


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """The result of retention; `message` may be empty."""

    deleted: int = 0
    message: str = ""


def select_outdated(
    keys: Iterable[BackupKey], rules: RetentionEnv, now: datetime
) -> list[BackupKey]:
    """Return the snapshots to remove, oldest first; never the newest and never a protected one.

    A protected snapshot counts toward `max_count`.
    """
    newest_first = sorted(keys, key=lambda key: (key.at, key.id8), reverse=True)
    snapshots = [RetentionCandidate(key.at, key.text in rules.protected) for key in newest_first]
    limits = RetentionLimits(rules.max_count, timedelta(seconds=rules.max_age_seconds))
    exceeded = zip(newest_first, exceeded_limits(snapshots, limits, now), strict=True)
    return [key for key, limit in reversed(list(exceeded)) if limit]


def pair_keys(keys: Collection[str], of: BackupKey) -> tuple[list[BackupKey], list[BackupKey]]:
    """Return the snapshots with a manifest, and the snapshot keys of orphaned manifests."""
    present = set(keys)
    complete: list[BackupKey] = []
    orphans: list[BackupKey] = []
    for manifest in present:
        key = snapshot_keys.parse(snapshot_keys.snapshot_key(manifest) or "")
        if key is None or not key.may_delete_with(of):
            continue
        (complete if key.text in present else orphans).append(key)
    return complete, orphans


def retained_message(count: int) -> str:
    """Return the message about snapshots of this prefix that retention keeps; "" for none."""
    if not count:
        return ""
    return (
        f"{count} more snapshots of this name are kept: their manifests cannot be read, or name "
        "another OpenBaoCluster object (for example, one that was deleted and created again). "
        'Delete them manually: see docs/backup.md, "Retention"'
    )


def postdated_message(count: int) -> str:
    """Return the message about snapshots with a later time than the new one; "" for none."""
    if not count:
        return ""
    return (
        f"{count} snapshots are kept because their keys have a later time than this one: a clock "
        "was wrong. Delete them manually"
    )


def failures_message(failures: Sequence[str]) -> str:
    """Return the message about snapshots that the store did not delete; "" for none."""
    if not failures:
        return ""
    return (
        f"{len(failures)} outdated snapshots could not be deleted; the first error: {failures[0]}"
    )


def read_failures_message(failures: Sequence[str]) -> str:
    """Return the message about manifests that could not be read; "" for none."""
    if not failures:
        return ""
    return (
        f"{len(failures)} manifests cannot be read, so their snapshots are kept; the first error: "
        f"{failures[0]}"
    )


async def retain(
    store: JobStore, rules: RetentionEnv, just_stored: BackupKey, cluster_uid: str, clock: Clock
) -> RetentionResult:
    """Remove the outdated snapshots. Errors of the store are in the message and are not raised.

    Skips a snapshot that the store does not delete, for example because of a legal hold, and one
    whose manifest cannot be read, for example because it is archived.
    """
    if not rules.max_count and not rules.max_age_seconds:
        return RetentionResult()
    # The clocks of two jobs may differ: the snapshot with the newest key may not be the last one.
    rules = replace(rules, protected=(*rules.protected, just_stored.text))
    run = _RetentionRun(store, rules, just_stored, cluster_uid)
    # The clock of this machine may be ahead of that of the operator, which chose all keys.
    now = min(clock.now(), just_stored.at)
    try:
        async with Deadline(clock, TIMEOUT_SECONDS):
            await run.run(now)
    except JobFailure as error:
        return RetentionResult(run.deleted, f"stopped after {run.deleted}: {error}")
    except TimeoutError:
        timeout = f"stopped after {run.deleted}: took over {TIMEOUT_SECONDS:g} s"
        return RetentionResult(run.deleted, _join(timeout, *run.problems))
    return RetentionResult(run.deleted, run.message)


def _join(*messages: str) -> str:
    return "; ".join(filter(None, messages))


@dataclass(slots=True)
class _RetentionRun:
    store: JobStore
    rules: RetentionEnv
    just_stored: BackupKey
    cluster_uid: str
    deleted: int = 0
    message: str = ""
    failures: list[str] = field(default_factory=list)
    """Errors of deletions."""
    read_failures: dict[str, str] = field(default_factory=dict)
    """Errors of the store, by the key of the manifest that could not be read."""

    @property
    def problems(self) -> tuple[str, str]:
        """The messages about failed deletions, and about manifests that could not be read."""
        oldest_first = [self.read_failures[name] for name in sorted(self.read_failures)]
        return failures_message(self.failures), read_failures_message(oldest_first)

    async def run(self, now: datetime) -> None:
        prefix = snapshot_keys.list_prefix(
            self.just_stored.prefix, self.just_stored.namespace, self.just_stored.cluster
        )
        paired, orphans = pair_keys(await self.store.keys(prefix), self.just_stored)
        # A key from a clock that was ahead must not count as newer than later snapshots.
        complete = [key for key in paired if key.at <= self.just_stored.at]
        # If nothing is outdated even with all of them, no manifest has to be read.
        if not select_outdated(complete, self.rules, now) and not orphans:
            return
        own = await self._own(complete)
        # A snapshot whose manifest cannot be read may belong to another cluster, so it does not
        # count. This never removes more: with fewer snapshots, fewer exceed max_count.
        to_remove = select_outdated(own, self.rules, now)
        retention_messages = (
            retained_message(len(complete) - len(own) - len(self.read_failures)),
            postdated_message(len(paired) - len(complete)),
        )
        if self.rules.dry_run:
            names = ", ".join(key.text for key in to_remove)
            plan = f"dry run: would remove {len(to_remove)}{': ' if to_remove else ''}{names}"
            self.message = _join(plan, *self.problems, *retention_messages)
            return
        for key in to_remove:
            # The manifest last: if this run is interrupted, the next one can continue.
            if await self._delete(key.text) and await self._delete(key.manifest):
                self.deleted += 1
        for key in await self._own(orphans):
            # The list may be older than the snapshot.
            if await self.store.size(key.text) is None:
                await self._delete(key.manifest)
        self.message = _join(*self.problems, *retention_messages)

    async def _delete(self, key: str) -> bool:
        """Delete an object and return whether that succeeded.

        Raises JobFailure if further deletions would fail, too.
        """
        try:
            await self.store.delete(key)
        except JobFailure as error:
            if error.failure != "Storage":
                raise
            self.failures.append(str(error))
            if len(self.failures) >= FAILURES_MAX:
                raise JobFailure(error.failure, failures_message(self.failures)) from None
            return False
        return True

    async def _own(self, keys: Sequence[BackupKey]) -> list[BackupKey]:
        semaphore = asyncio.Semaphore(CONCURRENT_READS)

        async def is_own(key: BackupKey) -> bool:
            try:
                async with semaphore:
                    content = await self.store.read(key.manifest, MANIFEST_MAX)
                manifest = read_manifest(content or b"")
            except (ObjectTooLarge, ManifestError):
                return False
            except JobFailure as error:
                if error.failure != "Storage":
                    raise
                self.read_failures[key.manifest] = str(error)
                return False
            return manifest.cluster_uid == self.cluster_uid and manifest.key == key.text

        results = await asyncio.gather(*map(is_own, keys))
        return [key for key, own in zip(keys, results, strict=True) if own]
