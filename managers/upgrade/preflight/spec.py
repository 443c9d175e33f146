"""Checks before an upgrade of what people ask for: the release, and everything else. Pure.

Each answers one question of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from contracts import image_reference
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.api.rules.unsupported_fields import essential_unserved_fields
from contracts.pools import fenced_pods
from contracts.records.upgrade import Release
from managers.operation_lock.decide import UPGRADE_HOLDER
from managers.upgrade import version_matrix
from managers.upgrade.preflight.inputs import Answer, PreflightInput, Warnings, wait
from runtime.memo import memoize
from runtime.outcome import Blocked

# --- what is asked for --------------------------------------------------------------------------


def is_version(ask: PreflightInput) -> Answer:
    if version_matrix.parse(ask.target.version) is not None:
        return None
    return Blocked(
        "InvalidVersion",
        f"spec.version: {ask.target.version!r} is no semantic version: write "
        "MAJOR.MINOR.PATCH, as in 2.5.5",
    )


def is_newer(ask: PreflightInput) -> Answer:
    versions = ask.versions()
    if versions is None or versions[1] >= versions[0]:
        return None
    return Blocked(
        "DowngradeBlocked",
        f"spec.version: {ask.target.version} is older than {ask.base}, which was accepted: "
        f"OpenBao cannot read newer data. Set it to {ask.base} or newer, or restore a snapshot "
        "into a new cluster",
    )


def tag_agrees(ask: PreflightInput) -> Answer:
    told = image_reference.mismatch(ask.target.image, ask.target.version)
    return Blocked("ImageVersionMismatch", told) if told else None


def pair_is_known(ask: PreflightInput) -> Answer:
    versions = ask.versions()
    if versions is None or versions[1] <= versions[0]:
        return None
    found = version_matrix.judge(*versions, ask.strategy, ask.cluster.spec.unseal.type)
    if found.refusals:
        return Blocked(
            "VersionPairRefused",
            f"spec.version: {ask.base} to {ask.target.version}: {'; '.join(found.refusals)}",
        )
    told = tuple(f"{ask.base} to {ask.target.version}: {text}" for text in found.warnings)
    return Warnings(told) if told else None


def spec_fits(ask: PreflightInput) -> Answer:
    """Judge the spec with the version that is asked for, and with the one that it is rendered with.

    Until the new version is accepted the servers are rendered with the former one.
    """
    if version_matrix.parse(ask.target.version) is None:
        return None
    # Of each cluster one other release is remembered: that is the accepted one.
    same = Release.asked(ask.cluster) == ask.target
    broken = _objection(ask.cluster if same else _with(ask.cluster, ask.target))
    accepted = Release.accepted(ask.cluster)
    if broken is not None or accepted is None or accepted == ask.target:
        return broken
    early = _objection(_with(ask.cluster, accepted))
    if early is None:
        return None
    return Blocked(
        early.reason,
        f"the spec fits {ask.target} and not {accepted}, which runs until the new version is "
        "accepted: change the version first, and the rest once status.release shows it "
        f"({early.message})",
    )


@memoize
def _with(cluster: OpenBaoCluster, release: Release) -> OpenBaoCluster:
    update = {"version": release.version, "image": release.image or None}
    return cluster.model_copy(update={"spec": cluster.spec.model_copy(update=update)})


@memoize
def _objection(cluster: OpenBaoCluster) -> Blocked | None:
    broken = violations(cluster)
    if broken:
        return Blocked("InvalidSpec", "; ".join(map(str, broken)))
    unserved = essential_unserved_fields(cluster.spec)
    return Blocked("FieldsNotServed", "; ".join(unserved)) if unserved else None


# --- whether people or other work are in the way ------------------------------------------------


def is_initialized(ask: PreflightInput) -> Answer:
    if ask.cluster.status.initialized:
        return None
    return wait("NotInitialized", "status.initialized: there are no data yet; it waits for them")


def is_awake(ask: PreflightInput) -> Answer:
    if not ask.cluster.spec.hibernate:
        return None
    return wait("Hibernated", "spec.hibernate is true: no server runs; set it to false to go on")


def none_fenced(ask: PreflightInput) -> Answer:
    fenced = fenced_pods.heeded(ask.cluster)
    if not fenced:
        return None
    told = f"spec.fencedPods keeps {', '.join(fenced)} from running; empty it to go on"
    return wait("PodsFenced", told)


def no_maintenance(ask: PreflightInput) -> Answer:
    if not ask.cluster.spec.in_maintenance:
        return None
    told = "spec.maintenance.enabled is true: nothing that can wait is begun; set it to false"
    return wait("Maintenance", told)


def no_restore(ask: PreflightInput) -> Answer:
    lock = ask.cluster.status.operation_lock
    if lock is None or lock.operation != "Restore":
        return None
    told = f"status.operationLock: {lock.holder} puts data back; it waits for the end of that"
    return wait("RestoreInProgress", told)


def lock_is_free(ask: PreflightInput) -> Answer:
    lock = ask.cluster.status.operation_lock
    if lock is None or lock.holder == UPGRADE_HOLDER or lock.operation == "Restore":
        return None
    told = f"status.operationLock: {lock.operation} of {lock.holder} holds it; it waits for it"
    return wait("OperationLockBlocked", told)


# --- what is worth knowing ----------------------------------------------------------------------


def is_no_outage(ask: PreflightInput) -> Answer:
    if ask.strategy == "BlueGreen" or ask.size > 2:
        return None
    if ask.size == 1:
        return Warnings(
            ("spec.replicas is 1: nothing can be read or written while its server restarts",)
        )
    return Warnings(
        ("spec.replicas is 2: nothing can be written while one of the servers restarts",)
    )


def has_snapshot(ask: PreflightInput) -> Answer:
    wish = ask.cluster.spec.upgrade
    second = wish.blue_green if wish is not None and ask.strategy == "BlueGreen" else None
    if wish is not None and (wish.pre_upgrade_snapshot or (second and second.pre_upgrade_snapshot)):
        return None
    return Warnings(
        (
            "spec.upgrade.preUpgradeSnapshot is not set: without a snapshot there is no way back "
            "to an older version",
        )
    )
