"""The preflight checks of a release, in order, as one table. Pure.

A refusal requires a user: the spec requests something impossible. An obstacle resolves without user
action. A warning does not block. `baoctl upgrade plan` prints the answer of each check, so the plan
cannot differ from what the operator does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import managers.upgrade.preflight.bluegreen as bluegreen_checks
import managers.upgrade.preflight.login as login_checks
import managers.upgrade.preflight.servers as server_checks
import managers.upgrade.preflight.spec as spec_checks
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from managers.upgrade.preflight.inputs import Answer, PreflightInput, Warnings
from runtime.outcome import Blocked, Wait

State = Literal["ok", "warn", "wait", "stop"]


@dataclass(frozen=True, slots=True)
class Check:
    """One entry of the table; `requirement` is its condition as text."""

    name: str
    requirement: str
    evaluate: Callable[[PreflightInput], Answer]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check."""

    check: str
    requirement: str
    state: State
    reason: str = ""
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """The result of all checks: the first refusal, the first obstacle, and every warning."""

    refusal: Blocked | None = None
    obstacle: Wait | None = None
    warnings: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()

    @property
    def well(self) -> bool:
        """Report whether the upgrade may begin now."""
        return self.refusal is None and self.obstacle is None


def check(
    cluster: OpenBaoCluster, observed: Observed, target: Release, *, resuming: bool
) -> PreflightResult:
    """Check whether a cluster may be upgraded to a release. `cluster` is as the user wrote it.

    `resuming`: pods are being replaced already, so one of them may be absent.
    """
    inputs = PreflightInput(cluster, observed, target, base_version(cluster, observed), resuming)
    answers = [(entry, entry.evaluate(inputs)) for entry in CHECKS]
    return PreflightResult(
        refusal=next((answer for _, answer in answers if isinstance(answer, Blocked)), None),
        obstacle=next((answer for _, answer in answers if isinstance(answer, Wait)), None),
        warnings=tuple(
            text
            for _, answer in answers
            if isinstance(answer, Warnings)
            for text in answer.messages
        ),
        results=tuple(_result(entry, answer) for entry, answer in answers),
    )


def base_version(cluster: OpenBaoCluster, observed: Observed) -> str:
    """Return the oldest version that an upgrade may target; "" when it is unknown.

    It is the last accepted version. While no server of that version has been the leader, it is the
    previous one: only a leader writes, so the previous version can still read all data.
    """
    status = cluster.status
    accepted = Release.accepted(cluster)
    base = (accepted or Release.running(cluster)).version
    upgrade = status.upgrade
    if upgrade is None or base != upgrade.target_version or _has_led(cluster, observed):
        return base
    return upgrade.from_version


def _has_led(cluster: OpenBaoCluster, observed: Observed) -> bool:
    """Report whether a server of the target may have led."""
    upgrade = cluster.status.upgrade
    if upgrade is None or upgrade.last_step_down_time is not None:
        return True
    if cluster.spec.replicas == 1:
        # A server that never reported its version never wrote anything.
        versions = {pod.registration.version for pod in observed.pods}
        return (
            not versions
            or bool(upgrade.completed_pods)
            or not versions <= {None, upgrade.from_version}
        )
    # Unless exactly one leader reports the former version, it is unknown.
    led_by = {pod.registration.version for pod in observed.leaders}
    return led_by != {upgrade.from_version} or len(upgrade.completed_pods) >= cluster.spec.replicas


def _result(entry: Check, answer: Answer) -> Result:
    match answer:
        case None:
            return Result(entry.name, entry.requirement, "ok")
        case Warnings(messages):
            return Result(entry.name, entry.requirement, "warn", messages=messages)
        case Wait(reason, message):
            return Result(entry.name, entry.requirement, "wait", reason, (message,))
        case Blocked(reason, message):
            return Result(entry.name, entry.requirement, "stop", reason, (message,))


CHECKS: tuple[Check, ...] = (
    Check("version", "spec.version is a valid version", spec_checks.is_version),
    Check("downgrade", "the target is not older than the running version", spec_checks.is_newer),
    Check("image", "the image tag matches spec.version", spec_checks.tag_agrees),
    Check("pair", "the upgrade path is supported", spec_checks.pair_is_allowed),
    Check("spec", "the spec is valid for the target version", spec_checks.spec_fits),
    Check("initialized", "the cluster is initialized", spec_checks.is_initialized),
    Check("hibernation", "the cluster is not hibernated", spec_checks.is_not_hibernated),
    Check("fences", "no server is fenced", spec_checks.none_fenced),
    Check("maintenance", "the cluster is not in maintenance", spec_checks.no_maintenance),
    Check("restore", "no restore is in progress", spec_checks.no_restore),
    Check("lock", "the operation lock is free", spec_checks.lock_is_free),
    Check("pods", "all servers are ready", server_checks.are_ready),
    Check("leader", "exactly one server is the leader", server_checks.has_one_leader),
    Check("quorum", "the leader reports all voters as healthy", server_checks.quorum_is_healthy),
    Check("login", "the operator and its Jobs can log in", login_checks.can_log_in),
    Check("templates", "no server waits to be replaced", bluegreen_checks.are_newest),
    Check(
        "volumes",
        "all volumes are bound, and none is being resized",
        server_checks.volumes_are_bound,
    ),
    Check("read-replicas", "all read replicas are ready", server_checks.read_replicas_are_ready),
    Check("outage", "enough servers stay available", spec_checks.is_no_outage),
    Check("snapshot", "a snapshot is taken first", spec_checks.has_snapshot),
)
