"""The preflight checks of a release, in order, as one table. Pure.

A refusal needs a user: the spec requests something impossible. An obstacle passes by itself. A
warning stops nothing. `baoctl upgrade plan` prints the answer of each check, so it cannot differ
from what the operator does.
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
    """One entry of the table; `asks` is the question as text."""

    name: str
    asks: str
    judge: Callable[[PreflightInput], Answer]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check."""

    check: str
    asks: str
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
    """Check whether a cluster may be upgraded to a release. `cluster` is as its user wrote it.

    `resuming`: pods are being replaced already, so one of them may be absent.
    """
    inputs = PreflightInput(cluster, observed, target, base_version(cluster, observed), resuming)
    answers = [(entry, entry.judge(inputs)) for entry in CHECKS]
    return PreflightResult(
        refusal=next((one for _, one in answers if isinstance(one, Blocked)), None),
        obstacle=next((one for _, one in answers if isinstance(one, Wait)), None),
        warnings=tuple(
            text for _, one in answers if isinstance(one, Warnings) for text in one.messages
        ),
        results=tuple(_result(entry, one) for entry, one in answers),
    )


def base_version(cluster: OpenBaoCluster, observed: Observed) -> str:
    """Return the version that a new one must not be older than; "" when none is known.

    That of the release that was accepted last; while no server of it has led, the one before: only
    a leader writes, so the former version can still read all data.
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
    # Without exactly one leader that reports the former version, it is unknown.
    led_by = {pod.registration.version for pod in observed.leaders}
    return led_by != {upgrade.from_version} or len(upgrade.completed_pods) >= cluster.spec.replicas


def _result(entry: Check, answer: Answer) -> Result:
    match answer:
        case None:
            return Result(entry.name, entry.asks, "ok")
        case Warnings(messages):
            return Result(entry.name, entry.asks, "warn", messages=messages)
        case Wait(reason, message):
            return Result(entry.name, entry.asks, "wait", reason, (message,))
        case Blocked(reason, message):
            return Result(entry.name, entry.asks, "stop", reason, (message,))


CHECKS: tuple[Check, ...] = (
    Check("version", "is spec.version a version", spec_checks.is_version),
    Check("downgrade", "is it no older one", spec_checks.is_newer),
    Check("image", "does the tag of the image agree with it", spec_checks.tag_agrees),
    Check("pair", "may it follow what runs", spec_checks.pair_is_allowed),
    Check("spec", "does the spec fit that version", spec_checks.spec_fits),
    Check("initialized", "are there data", spec_checks.is_initialized),
    Check("hibernation", "do the servers run", spec_checks.is_awake),
    Check("fences", "is no server fenced", spec_checks.none_fenced),
    Check("maintenance", "is nobody at work on the cluster", spec_checks.no_maintenance),
    Check("restore", "are no data being put back", spec_checks.no_restore),
    Check("lock", "is the operation lock free", spec_checks.lock_is_free),
    Check("pods", "are all servers ready", server_checks.are_ready),
    Check("leader", "does exactly one lead", server_checks.has_one_leader),
    Check("quorum", "does the leader find all voters well", server_checks.quorum_is_well),
    Check("login", "can the operator and its Jobs log in", login_checks.can_log_in),
    Check("templates", "is no server to be replaced", bluegreen_checks.are_newest),
    Check("volumes", "are all volumes bound, and none grows", server_checks.volumes_are_bound),
    Check("read-replicas", "are all read replicas ready", server_checks.read_replicas_are_ready),
    Check("outage", "do enough servers stay", spec_checks.is_no_outage),
    Check("snapshot", "is a snapshot taken first", spec_checks.has_snapshot),
)
