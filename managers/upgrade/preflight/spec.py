"""Preflight checks of the spec: the requested release, and everything else. Pure.

Each is one check of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from contracts import image_reference
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools import fenced_pods
from contracts.records.upgrade import Release
from contracts.spec_refusal import spec_refusal
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade import version_matrix
from managers.upgrade.preflight.inputs import Answer, PreflightInput, Warnings, wait
from runtime.memo import memoize
from runtime.outcome import Blocked

# --- the requested release ----------------------------------------------------------------------


def is_version(inputs: PreflightInput) -> Answer:
    if version_matrix.parse(inputs.target.version) is not None:
        return None
    return Blocked(
        "InvalidVersion",
        f"spec.version: {inputs.target.version!r} is not a semantic version: write "
        "MAJOR.MINOR.PATCH, as in 2.5.5",
    )


def is_newer(inputs: PreflightInput) -> Answer:
    versions = inputs.versions()
    if versions is None or versions[1] >= versions[0]:
        return None
    return Blocked(
        "DowngradeBlocked",
        f"spec.version: {inputs.target.version} is older than the accepted version {inputs.base}: "
        f"OpenBao cannot read newer data. Set it to {inputs.base} or newer, or restore a snapshot "
        "into a new cluster",
    )


def tag_agrees(inputs: PreflightInput) -> Answer:
    message = image_reference.mismatch(inputs.target.image, inputs.target.version)
    return Blocked("ImageVersionMismatch", message) if message else None


def pair_is_allowed(inputs: PreflightInput) -> Answer:
    versions = inputs.versions()
    if versions is None or versions[1] <= versions[0]:
        return None
    verdict = version_matrix.evaluate_pair(
        *versions, inputs.strategy, inputs.cluster.spec.unseal.type
    )
    if verdict.refusals:
        return Blocked(
            "VersionPairRefused",
            f"spec.version: {inputs.base} to {inputs.target.version}: "
            f"{'; '.join(verdict.refusals)}",
        )
    messages = tuple(
        f"{inputs.base} to {inputs.target.version}: {text}" for text in verdict.warnings
    )
    return Warnings(messages) if messages else None


def spec_fits(inputs: PreflightInput) -> Answer:
    """Validate the spec with the requested version, and with the accepted one.

    Until the new version is accepted, the servers are rendered with the accepted one.
    """
    if version_matrix.parse(inputs.target.version) is None:
        return None
    # `_with` memoizes one result per cluster: do not replace that of the accepted release.
    same = Release.requested(inputs.cluster) == inputs.target
    violation = spec_refusal(inputs.cluster if same else _with(inputs.cluster, inputs.target))
    accepted = Release.accepted(inputs.cluster)
    if violation is not None or accepted is None or accepted == inputs.target:
        return violation
    early_error = spec_refusal(_with(inputs.cluster, accepted))
    if early_error is None:
        return None
    return Blocked(
        early_error.reason,
        f"the spec is valid for {inputs.target} but not for {accepted}, which runs until the new "
        "version is accepted: change the version first, and the rest once status.release shows it "
        f"({early_error.message})",
    )


@memoize
def _with(cluster: OpenBaoCluster, release: Release) -> OpenBaoCluster:
    update = {"version": release.version, "image": release.image or None}
    return cluster.model_copy(update={"spec": cluster.spec.model_copy(update=update)})


# --- user settings and other operations that block an upgrade ------------------------------------


def is_initialized(inputs: PreflightInput) -> Answer:
    if inputs.cluster.status.initialized:
        return None
    return wait("NotInitialized", "status.initialized is false: the cluster has no data yet")


def is_not_hibernated(inputs: PreflightInput) -> Answer:
    if not inputs.cluster.spec.hibernate:
        return None
    return wait("Hibernated", "spec.hibernate is true: no server runs; set it to false to continue")


def none_fenced(inputs: PreflightInput) -> Answer:
    fenced = fenced_pods.effective_fences(inputs.cluster)
    if not fenced:
        return None
    message = f"spec.fencedPods keeps {', '.join(fenced)} from running; empty it to continue"
    return wait("PodsFenced", message)


def no_maintenance(inputs: PreflightInput) -> Answer:
    if not inputs.cluster.spec.in_maintenance:
        return None
    message = "spec.maintenance.enabled is true: no upgrade begins; set it to false to continue"
    return wait("Maintenance", message)


def no_restore(inputs: PreflightInput) -> Answer:
    lock = inputs.cluster.status.operation_lock
    if lock is None or lock.operation != "Restore":
        return None
    message = f"status.operationLock: {lock.holder} is restoring a snapshot; the upgrade waits"
    return wait("RestoreInProgress", message)


def lock_is_free(inputs: PreflightInput) -> Answer:
    lock = inputs.cluster.status.operation_lock
    if lock is None or lock.holder == UPGRADE_HOLDER or lock.operation == "Restore":
        return None
    message = f"status.operationLock: {lock.operation} of {lock.holder} holds it; the upgrade waits"
    return wait("OperationLockBlocked", message)


# --- warnings -----------------------------------------------------------------------------------


def is_no_outage(inputs: PreflightInput) -> Answer:
    if inputs.is_blue_green or inputs.size > 2:
        return None
    if inputs.size == 1:
        return Warnings(
            ("spec.replicas is 1: nothing can be read or written while its server restarts",)
        )
    return Warnings(
        ("spec.replicas is 2: nothing can be written while one of the servers restarts",)
    )


def has_snapshot(inputs: PreflightInput) -> Answer:
    upgrade = inputs.cluster.spec.upgrade
    blue_green = upgrade.blue_green if upgrade is not None and inputs.is_blue_green else None
    if upgrade is not None and (
        upgrade.pre_upgrade_snapshot or (blue_green and blue_green.pre_upgrade_snapshot)
    ):
        return None
    return Warnings(
        (
            "spec.upgrade.preUpgradeSnapshot is not set: without a snapshot you cannot return to "
            "an older version",
        )
    )
