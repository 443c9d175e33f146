"""`baoctl upgrade plan`: the preflight checks, the steps and the duration of an upgrade.

It calls the functions of the operator with the cluster as it would be after the edit. It changes
nothing, and sends no request to a server. Called by baoctl.verbs.upgrade.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final, Literal

from baoctl.commands.upgrade.cluster_dump import (
    MALFORMED,
    ClusterDump,
    expect_status,
    objects_in,
    read_dump,
)
from baoctl.commands.upgrade.live_objects import DumpError, LiveCluster
from baoctl.commands.upgrade.steps import blue_green, in_place
from baoctl.exit_codes import ExitCode
from baoctl.yaml_text import json_as_yaml
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.upgrade import Strategy, Upgrade
from contracts.api.rules.cluster import violations
from contracts.records.upgrade import Release, blue_green_under_way
from managers.upgrade.bluegreen.facts import decides
from managers.upgrade.bluegreen.pool_guards import DEPLOY_DEADLINE, STEP_DEADLINE
from managers.upgrade.decide import decide_upgrade
from managers.upgrade.effective_spec import accepted_release
from managers.upgrade.messages import stored_progress_text
from managers.upgrade.preflight.checks import Result, check
from runtime.builtin_kinds import PVC
from runtime.clock import SystemClock
from runtime.outcome import Blocked, Wait

Answer = Literal["begins", "goes-on", "waits", "refused", "nothing"]
EXITS: Final[Mapping[Answer, ExitCode]] = {
    "begins": ExitCode.GOOD,
    "goes-on": ExitCode.GOOD,
    "nothing": ExitCode.GOOD,
    "waits": ExitCode.NOT_READY,
    "refused": ExitCode.REFUSED,
}
_CANCELABLE_PHASES: Final = ("Idle", "DeployingGreen", "JoiningMesh", "Syncing")
"""Phases in which a blue/green upgrade rolls back once the spec no longer requests it."""
_SIGNS: Final = {"ok": "ok", "warn": "warn", "wait": "wait", "stop": "STOP", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """The edit of the spec; None keeps the current value of a field."""

    version: str
    image: str | None = None
    strategy: Strategy | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One check and its result."""

    check: str
    requirement: str
    state: Literal["ok", "warn", "wait", "stop", "unknown"]
    reason: str
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The result of an upgrade plan."""

    cluster: str
    from_version: str
    to_version: str
    strategy: Strategy
    answer: Answer
    reason: str
    message: str
    checks: tuple[Line, ...]
    steps: tuple[str, ...]
    seconds: tuple[int, int]
    """The estimated duration: the minimum, and the usual maximum."""
    deadline_seconds: int
    """The upgrade stops after this time without progress of a server, or of the green pool."""

    @property
    def exit_code(self) -> int:
        """The exit status of the verb."""
        return EXITS[self.answer]


def plan_live(request: UpgradeRequest, live: LiveCluster, deadline: timedelta) -> Forecast:
    """Plan an upgrade of a cluster in the API server. Raises DumpError."""
    return forecast(read_dump(live.objects, live.key, SystemClock().now()), request, deadline)


def plan_dump(
    request: UpgradeRequest, dump: bytes, cluster: str | None, deadline: timedelta
) -> Forecast:
    """Plan an upgrade of a cluster in a dump, None for the only one. Raises DumpError."""
    try:
        return forecast(
            read_dump(objects_in(dump), cluster, SystemClock().now()), request, deadline
        )
    except MALFORMED as error:
        raise DumpError(
            f"an object in the dump is malformed ({type(error).__name__}: {error}): create the "
            "dump again with kubectl get -o yaml"
        ) from None


def forecast(dump: ClusterDump, request: UpgradeRequest, deadline: timedelta) -> Forecast:
    """Return the plan of a requested upgrade; `deadline` is the time for one server.

    Raises DumpError if the status does not show which version the servers run.
    """
    expect_status(dump)
    before = accepted_release(dump.cluster)
    cluster = apply_edit(dump.cluster, request)
    upgrade = cluster.status.upgrade
    resuming = upgrade is not None and upgrade.phase == "Rolling"
    verdict = check(cluster, dump.observed, Release.requested(cluster), resuming=resuming)
    spec_violations = violations(cluster, dump.cluster)
    answer, reason, message = _answer(dump, cluster, deadline)
    if spec_violations and answer != "refused":
        # The API server refuses the edit, so the upgrade does not begin.
        answer, reason, message = "refused", "InvalidSpec", "; ".join(map(str, spec_violations))
    is_blue_green = decides(cluster)
    steps = blue_green(cluster) if is_blue_green else in_place(cluster, dump.observed)
    limit = DEPLOY_DEADLINE if is_blue_green else deadline
    return Forecast(
        cluster=f"{cluster.metadata.namespace}/{cluster.metadata.name}",
        from_version=before.version,
        to_version=Release.requested(cluster).version,
        strategy="BlueGreen" if is_blue_green else "RollingUpdate",
        answer=answer,
        reason=reason,
        message=message,
        checks=tuple(_line(result, dump) for result in verdict.results),
        steps=steps.lines if answer not in ("nothing", "refused") else (),
        seconds=steps.seconds,
        deadline_seconds=int(limit.total_seconds()),
    )


def apply_edit(cluster: OpenBaoCluster, request: UpgradeRequest) -> OpenBaoCluster:
    """Return the cluster as it would be after the edit."""
    spec = cluster.spec
    update: dict[str, object] = {"version": request.version}
    if request.image is not None:
        update["image"] = request.image or None
    if request.strategy is not None:
        before = spec.upgrade or Upgrade()
        update["upgrade"] = before.model_copy(update={"strategy": request.strategy})
    return cluster.model_copy(update={"spec": spec.model_copy(update=update)})


def _answer(
    dump: ClusterDump, cluster: OpenBaoCluster, deadline: timedelta
) -> tuple[Answer, str, str]:
    """Return the first decision of the state machine of the operator."""
    idle = _idle(cluster)
    if idle is not None:
        return idle
    if blue_green_under_way(cluster.status.blue_green):
        return _in_progress(cluster)
    decision = decide_upgrade(cluster, dump.observed, deadline)
    begins = blue_green_under_way(decision.blue_green)
    match decision.outcome:
        case Blocked(reason, message):
            return "refused", reason, message
        case Wait() if begins:
            return "begins", "", "the upgrade would start immediately"
        case Wait(reason, message) if decision.upgrade is None:
            return "waits", reason, message
    if decision.upgrade is None and not begins:
        return "nothing", "", f"the servers run {decision.release}, or are being upgraded to it"
    if cluster.status.upgrade is not None:
        return "goes-on", "", "an upgrade is in progress and would continue with this request"
    return "begins", "", "the upgrade would start immediately"


def _idle(cluster: OpenBaoCluster) -> tuple[Answer, str, str] | None:
    """Return the answer for a paused or uninitialized cluster; None for any other."""
    if cluster.spec.paused:
        return "waits", "Paused", "spec.paused is true: the operator does nothing"
    if not cluster.status.initialized:
        release = Release.requested(cluster)
        return (
            "nothing",
            "",
            f"the cluster is not initialized: the first boot would use {release}",
        )
    return None


def _in_progress(cluster: OpenBaoCluster) -> tuple[Answer, str, str]:
    """Return the answer for a blue/green upgrade in progress; an edit takes effect after it.

    The state machine needs its Jobs and the raft members, and a dump contains neither.
    """
    status, break_glass = cluster.status.blue_green, cluster.status.break_glass
    progress = stored_progress_text(cluster)
    if break_glass is not None and break_glass.active:
        next_step = "follow status.breakGlass.steps, then set spec.breakGlassAck"
        return "waits", "BreakGlassRequired", f"{progress}: {break_glass.message}; {next_step}"
    requested = Release.requested(cluster)
    has_target = status is not None and bool(status.green_version)
    target = Release.green(status) if status else requested
    if (
        has_target
        and requested == accepted_release(cluster)
        and status is not None
        and status.phase in _CANCELABLE_PHASES
    ):
        return "goes-on", "", f"an upgrade is in progress: {progress}; it would be rolled back"
    if has_target and requested != target:
        return "goes-on", "", f"an upgrade is in progress: {progress}; it would complete first"
    return "goes-on", "", f"an upgrade is in progress: {progress}; it would continue"


def _line(result: Result, dump: ClusterDump) -> Line:
    unknown = {
        "quorum": "not checked: the operator asks the leader before the upgrade starts"
        if dump.observed.quorum is None
        else "",
        "volumes": "" if PVC.kind in dump.kinds else "the dump contains no PersistentVolumeClaim",
    }.get(result.check, "")
    if unknown and result.state == "ok":
        return Line(result.check, result.requirement, "unknown", "", (unknown,))
    return Line(result.check, result.requirement, result.state, result.reason, result.messages)


def as_json(report: Forecast) -> str:
    """Return a plan as JSON."""
    return json.dumps({**asdict(report), "nothingWasChanged": True}, indent=2) + "\n"


def as_yaml(report: Forecast) -> str:
    """Return a plan as YAML."""
    return json_as_yaml(as_json(report))


def as_text(report: Forecast) -> str:
    """Return a plan as text."""
    return "\n".join(_lines(report)) + "\n"


def _limits(report: Forecast) -> str:
    if report.strategy == "RollingUpdate":
        return f"It stops if a server is not ready within {report.deadline_seconds} s."
    step = int(STEP_DEADLINE.total_seconds())
    return (
        "It rolls back automatically if the new servers are not ready within "
        f"{report.deadline_seconds} s, or a later step takes more than {step} s, unless "
        "autoRollback disables this."
    )


def _lines(report: Forecast) -> Iterator[str]:
    yield f"{report.cluster}: {report.from_version} to {report.to_version}, {report.strategy}"
    yield "Nothing was changed. This is what the operator would do."
    yield ""
    yield "Preflight checks:"
    for line in report.checks:
        yield f"  {_SIGNS[line.state]:<5} {line.check:<14} {line.requirement}"
        yield from (f"{'':<23}{text}" for text in line.messages)
    yield ""
    if report.steps:
        yield "Steps:"
        yield from (f"  {number}. {step}" for number, step in enumerate(report.steps, start=1))
        yield ""
        first, last = report.seconds
        yield f"The upgrade takes about {first} to {last} s. {_limits(report)}"
    reason = f" ({report.reason})" if report.reason else ""
    yield f"Result: {report.answer}{reason}: {report.message}"
