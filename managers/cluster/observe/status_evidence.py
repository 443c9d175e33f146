"""Checks a stored status against evidence. Pure.

A status may be lost, edited, or restored from an old backup; the StatefulSet and the pods show what
runs. `with_corrected_status` returns the cluster with a status that matches them, before any
decision uses it; the reconcile then writes the same status. docs/status-evidence.md has the table
of all fields. Called by managers.cluster.observe.observer and managers.cluster.reconcile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_unseal import UnsealStatus
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.pools.voter_pool import serving_pool
from contracts.records.event import EventRecord
from contracts.records.observed import PoolFacts
from contracts.records.upgrade import Release, blue_green_under_way
from managers.bootstrap.seal.keys import ring_of_pods
from managers.cluster.observe.server_builds import (
    Build,
    Builds,
    builds_of,
    is_newer,
    name_of,
    order,
)
from runtime.memo import memoize

STATUS_CORRECTED = "StatusCorrected"
RELEASE_ASSUMED = "ReleaseAssumed"
_ID = 10


@memoize
def with_corrected_status(
    cluster: OpenBaoCluster, pool: PoolFacts, repository: str
) -> OpenBaoCluster:
    """Return the cluster with a status that matches its servers; the same object if it does.

    `pool`: the serving pool. `repository`: the default image repository of OpenBao.
    """
    changes = _changes(cluster, pool, repository)
    if not changes:
        return cluster
    return cluster.model_copy(update={"status": cluster.status.model_copy(update=dict(changes))})


def holds_data(cluster: OpenBaoCluster, pool: PoolFacts) -> bool:
    """Report whether a status without initialization must be wrong.

    Only the first server may initialize, alone. A template without the self-init, or a volume of
    another server, was therefore created later.
    """
    live = pool.stateful_set
    if live is not None and live.foreign is None:
        return not live.first_boot
    if live is not None:
        # The template of another operator does not show it.
        return False
    first = serving_pool(cluster).data_claim(0)
    return any(
        pvc.owner_uid == cluster.metadata.uid and pvc.name != first and not pvc.terminating
        for pvc in pool.claims
    )


def correction_events(
    before: OpenBaoCluster, after: OpenBaoCluster, pool: PoolFacts
) -> tuple[EventRecord, ...]:
    """Return the events about corrected fields of a status, and about an assumed release."""
    old, new = before.status, after.status
    events = [
        EventRecord(
            "Warning",
            STATUS_CORRECTED,
            f"status.{field} was {_text(getattr(old, field))}, but the StatefulSet and its pods "
            f"show {_text(getattr(new, field))}: the operator corrects it. Find out which other "
            "client writes the status",
        )
        for field in _FIELDS
        if _is_news(before, after, field)
    ]
    unknown = new.release is None and not new.current_version and not pool.stateful_set
    if new.initialized and unknown and not pool.pods and pool.claims:
        events.append(
            EventRecord(
                "Warning",
                RELEASE_ASSUMED,
                "No status, StatefulSet or pod shows which version wrote the volumes, so "
                f"spec.version {after.spec.version} is assumed. An older OpenBao cannot read the "
                "data of a newer one: set spec.version to the version that ran last",
            )
        )
    return tuple(events)


_FIELDS = ("release", "upgrade", "unseal")


def _is_news(before: OpenBaoCluster, after: OpenBaoCluster, field: str) -> bool:
    old, new = getattr(before.status, field), getattr(after.status, field)
    # An operator without this field writes such a status.
    harmless = old is None and Release.accepted(after) == Release.requested(after)
    return old != new and not (field == "release" and harmless)


def _text(value: object) -> str:
    match value:
        case None:
            return "absent"
        case UpgradeStatus():
            return f"{value.phase} {value.from_version} to {value.target_version}"
        case UnsealStatus():
            return value.keys
        case _:
            version = getattr(value, "version", None)
            image = getattr(value, "image", None)
            return str(Release(version, image or "")) if version else str(value).lower()


def _changes(cluster: OpenBaoCluster, pool: PoolFacts, repository: str) -> Mapping[str, object]:
    status = cluster.status
    if not status.initialized and not holds_data(cluster, pool):
        # Without data nothing is at risk, and the spec alone decides.
        return {}
    changes: dict[str, object] = {"initialized": True}
    builds = builds_of(pool)
    release = _release(cluster, builds, repository)
    if release is not None:
        changes["release"] = release.status()
        changes["upgrade"] = _upgrade(cluster, builds, release)
    if status.unseal is None and pool.stateful_set is None:
        changes["unseal"] = _keys(pool)
    return {name: value for name, value in changes.items() if getattr(status, name) != value}


# --- which release was accepted -----------------------------------------------------------------


def _release(cluster: OpenBaoCluster, builds: Builds, repository: str) -> Release | None:
    """Return the accepted release; None when neither status nor servers have one."""
    accepted = Release.accepted(cluster)
    if accepted is not None and _is_credible(cluster, accepted, builds):
        return _requested_if_running(cluster, accepted, builds, repository)
    build = builds.runs
    if accepted is not None and builds.may_be_newer_than(accepted.version):
        build = max(
            (candidate for candidate in (build, builds.newest) if candidate),
            key=lambda candidate: order(candidate.version),
            default=None,
        )
    return accepted if build is None else _release_of(cluster, build, repository) or accepted


def _is_credible(cluster: OpenBaoCluster, accepted: Release, builds: Builds) -> bool:
    if builds.may_be_newer_than(accepted.version):
        return False
    if _is_rolling(cluster.status.upgrade, accepted):
        # The release was just accepted: no pod, and perhaps no template, has it yet.
        return True
    template = builds.template.version if builds.template else ""
    ahead = is_newer(template, accepted.version)
    if builds.versions:
        # A rollout that the status does not record; or another writer changed the template.
        return accepted.version in builds.versions and not (ahead and template in builds.versions)
    return not ahead


def _is_rolling(upgrade: UpgradeStatus | None, release: Release) -> bool:
    """Report whether an upgrade to a release is rolling."""
    return upgrade is not None and upgrade.phase == "Rolling" and _target(upgrade) == release


def _target(upgrade: UpgradeStatus) -> Release:
    return Release(upgrade.target_version, upgrade.target_image or "")


def _requested_if_running(
    cluster: OpenBaoCluster, accepted: Release, builds: Builds, repository: str
) -> Release:
    """Return the release of the spec when its exact image runs."""
    requested, template = Release.requested(cluster), builds.template
    if template is None or requested == accepted or requested.version != accepted.version:
        return accepted
    if _is_rolling(cluster.status.upgrade, accepted) or template.is_of(accepted, repository):
        return accepted
    return requested if template.is_of(requested, repository) else accepted


def _release_of(cluster: OpenBaoCluster, build: Build, repository: str) -> Release | None:
    """Return the release of a build; None when its version is not known."""
    upgrade = cluster.status.upgrade
    candidates = [Release.requested(cluster)]
    if upgrade is not None:
        candidates += [Release(upgrade.from_version, upgrade.from_image or ""), _target(upgrade)]
    for release in candidates:
        if build.version == release.version and build.is_of(release, repository):
            return release
    if not build.version:
        return None
    usual = not build.image or name_of(build.image) == name_of(f"{repository}:{build.version}")
    return Release(build.version, "" if usual else build.image)


# --- how far an upgrade is ----------------------------------------------------------------------


def _upgrade(cluster: OpenBaoCluster, builds: Builds, release: Release) -> UpgradeStatus | None:
    """Return the upgrade to the accepted release, even if its status is lost."""
    stored = cluster.status.upgrade
    if stored is None or (stored.phase == "Rolling" and _is_behind(stored, release)):
        return _halfway(cluster, builds, release)
    if stored.phase == "Rolling" and stored.failure is None and _target(stored) != release:
        # The target of a rollout is accepted in the same write: this upgrade was never prepared.
        return stored.model_copy(update={"phase": "Preparing", "pod": None})
    return stored


def _is_behind(upgrade: UpgradeStatus, release: Release) -> bool:
    """Report whether an upgrade is obsolete: the servers run something newer."""
    return is_newer(release.version, upgrade.target_version)


def _halfway(cluster: OpenBaoCluster, builds: Builds, release: Release) -> UpgradeStatus | None:
    """Return the upgrade of a rollout that no status records; None when there is none."""
    template = builds.template
    older = [version for version in builds.versions if is_newer(release.version, version)]
    rolls = template is not None and template.version == release.version and bool(older)
    if not rolls or blue_green_under_way(cluster.status.blue_green):
        return None
    identity = f"{cluster.metadata.uid}|{release}|{cluster.metadata.generation}|halfway"
    return UpgradeStatus(
        id=hashlib.sha256(identity.encode()).hexdigest()[:_ID],
        phase="Rolling",
        target_version=release.version,
        target_image=release.image or None,
        from_version=min(older, key=order),
        current_partition=cluster.spec.replicas,
    )


# --- which keys of the static seal the servers know ---------------------------------------------


def _keys(pool: PoolFacts) -> UnsealStatus | None:
    """Read the keys from the pods, when all of them have the same."""
    ring = ring_of_pods(pool.pods)
    return None if ring is None else UnsealStatus(keys=str(ring), step="Settled")
