"""`baoctl upgrade plan`: what an upgrade would do, in which order, and what could stop it.

Every answer is that of the operator's own functions, for the cluster as it would be once somebody
had made the edit. Nothing is changed, and nothing is asked of the servers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final, Literal

from baoctl.commands.api_client import AskError, connected
from baoctl.commands.upgrade.cluster_dump import (
    MALFORMED,
    ClusterDump,
    DumpError,
    expect_status,
    fetch,
    look,
    objects_in,
)
from baoctl.commands.upgrade.steps import by_second_set, in_place
from baoctl.settings import Settings, from_environment
from contracts.api.cluster.spec import VERSION_PATTERN, OpenBaoCluster
from contracts.api.cluster.upgrade import Strategy, Upgrade
from contracts.api.rules.cluster import violations
from contracts.records.upgrade import Release
from managers.upgrade import version_matrix
from managers.upgrade.bluegreen.facts import decides
from managers.upgrade.bluegreen.pool_guards import DEPLOY_DEADLINE, STEP_DEADLINE
from managers.upgrade.decide import accepted, decide_upgrade
from managers.upgrade.messages import goes_on, where_stored
from managers.upgrade.preflight.checks import Result, check
from runtime.builtin_kinds import PVC
from runtime.clock import Clock, SystemClock
from runtime.outcome import Blocked, Wait
from runtime.types import Object

Answer = Literal["begins", "goes-on", "waits", "refused", "nothing"]
VERSION: Final = "must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2"
VERSION_MAX: Final = 64
"""Characters, as the schema of the field says."""
REFUSED: Final = 3
"""Exit status when the operator would refuse it."""
_EARLY: Final = ("Idle", "DeployingGreen", "JoiningMesh", "Syncing")
"""Phases in which an upgrade by a second set is taken back as soon as nobody asks for it."""
_SIGNS: Final = {"ok": "ok", "warn": "warn", "wait": "wait", "stop": "STOP", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """What is asked for; None leaves a field of the spec as it is."""

    version: str
    image: str | None = None
    strategy: Strategy | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One check, and what it said."""

    check: str
    asks: str
    state: Literal["ok", "warn", "wait", "stop", "unknown"]
    reason: str
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would happen."""

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
    """How long it takes roughly, at least and in most cases at most."""
    deadline_seconds: int
    """After so long without progress of one server, or of a whole second set, it stops."""

    @property
    def exit_code(self) -> int:
        """0, or 3 when the operator would refuse it."""
        return REFUSED if self.answer == "refused" else 0


def is_version(text: str) -> bool:
    """Tell whether spec.version can be this text."""
    written = len(text) <= VERSION_MAX and re.fullmatch(VERSION_PATTERN, text)
    return bool(written) and version_matrix.parse(text) is not None


def plan(wish: UpgradeRequest, dump: bytes | None, cluster: str | None = None) -> Forecast:
    """Look at a dump, or without one at the cluster of $KUBECONFIG.

    Raises DumpError, and SettingError for settings that make no sense.
    """
    settings, clock = from_environment(), SystemClock()
    deadline = settings.installation.pod_deadline
    if dump is None:
        if cluster is None:
            raise DumpError("name the cluster with --cluster namespace/name, or a dump with -f")
        live = asyncio.run(_live(cluster, settings, clock))
        return forecast(look(live, cluster, clock.now()), wish, deadline)
    try:
        return forecast(look(objects_in(dump), cluster, clock.now()), wish, deadline)
    except MALFORMED as error:
        raise DumpError(
            f"an object in the dump is not as Kubernetes writes it ({type(error).__name__}: "
            f"{error}): take it anew with kubectl get -o yaml"
        ) from None


async def _live(cluster: str, settings: Settings, clock: Clock) -> tuple[Object, ...]:
    try:
        async with connected(settings, clock, "upgrade-plan") as client:
            return await fetch(client, cluster)
    except AskError as error:
        raise DumpError(str(error)) from None


def forecast(seen: ClusterDump, wish: UpgradeRequest, deadline: timedelta) -> Forecast:
    """Tell what would happen if somebody asked for it now. `deadline` is that for one server.

    Raises DumpError where the status does not tell what the servers run.
    """
    expect_status(seen)
    before = accepted(seen.cluster)
    cluster = edited(seen.cluster, wish)
    upgrade = cluster.status.upgrade
    resuming = upgrade is not None and upgrade.phase == "Rolling"
    verdict = check(cluster, seen.observed, Release.asked(cluster), resuming=resuming)
    broken = violations(cluster, seen.cluster)
    answer, reason, message = _answer(seen, cluster, deadline)
    if broken and answer != "refused":
        # It never comes so far: the API server refuses the edit.
        answer, reason, message = "refused", "InvalidSpec", "; ".join(map(str, broken))
    second = decides(cluster)
    steps = by_second_set(cluster) if second else in_place(cluster, seen.observed)
    patience = DEPLOY_DEADLINE if second else deadline
    return Forecast(
        cluster=f"{cluster.metadata.namespace}/{cluster.metadata.name}",
        from_version=before.version,
        to_version=Release.asked(cluster).version,
        strategy="BlueGreen" if second else "RollingUpdate",
        answer=answer,
        reason=reason,
        message=message,
        checks=tuple(_line(one, seen) for one in verdict.results),
        steps=steps.told if answer not in ("nothing", "refused") else (),
        seconds=steps.seconds,
        deadline_seconds=int(patience.total_seconds()),
    )


def edited(cluster: OpenBaoCluster, wish: UpgradeRequest) -> OpenBaoCluster:
    """Return the cluster as it would be after the edit."""
    spec = cluster.spec
    update: dict[str, object] = {"version": wish.version}
    if wish.image is not None:
        update["image"] = wish.image or None
    if wish.strategy is not None:
        before = spec.upgrade or Upgrade()
        update["upgrade"] = before.model_copy(update={"strategy": wish.strategy})
    return cluster.model_copy(update={"spec": spec.model_copy(update=update)})


def _answer(
    seen: ClusterDump, cluster: OpenBaoCluster, deadline: timedelta
) -> tuple[Answer, str, str]:
    """Ask the table of the operator for its first step."""
    still = _nothing_moves(cluster)
    if still is not None:
        return still
    if goes_on(cluster.status.blue_green):
        return _under_way(cluster)
    course = decide_upgrade(cluster, seen.observed, deadline)
    match course.outcome:
        case Blocked(reason, message):
            return "refused", reason, message
        case Wait() if course.second and goes_on(course.second.status):
            return "begins", "", "it would begin at once"
        case Wait(reason, message) if course.upgrade is None:
            return "waits", reason, message
    if course.upgrade is None and not (course.second and goes_on(course.second.status)):
        return "nothing", "", f"the servers were told to run {course.release} already"
    if cluster.status.upgrade is not None:
        return "goes-on", "", "an upgrade is under way; it would go on with this"
    return "begins", "", "it would begin at once"


def _nothing_moves(cluster: OpenBaoCluster) -> tuple[Answer, str, str] | None:
    """Tell of a cluster for which the table is not asked; None for any other."""
    if cluster.spec.paused:
        return "waits", "Paused", "spec.paused is true: the operator does nothing"
    if not cluster.status.initialized:
        release = Release.asked(cluster)
        return "nothing", "", f"there are no data yet: the first boot would run {release} at once"
    return None


def _under_way(cluster: OpenBaoCluster) -> tuple[Answer, str, str]:
    """Tell of an upgrade by a second set that goes on: an edit is heeded once it has ended.

    A dump holds neither its Jobs nor the members, so nothing more can be said of it.
    """
    status, glass = cluster.status.blue_green, cluster.status.break_glass
    told = where_stored(cluster)
    if glass is not None and glass.active:
        answered = "follow status.breakGlass.steps, then set spec.breakGlassAck"
        return "waits", "BreakGlassRequired", f"{told}: {glass.message}; {answered}"
    asked = Release.asked(cluster)
    known = status is not None and bool(status.green_version)
    target = Release(status.green_version or "", status.green_image or "") if status else asked
    if known and asked == accepted(cluster) and status is not None and status.phase in _EARLY:
        return "goes-on", "", f"an upgrade is under way: {told}; it would be taken back"
    if known and asked != target:
        return "goes-on", "", f"an upgrade is under way: {told}; it ends first"
    return "goes-on", "", f"an upgrade is under way: {told}; it would go on with this"


def _line(result: Result, seen: ClusterDump) -> Line:
    unknown = {
        "quorum": "only the operator can ask the leader; it does so before it begins"
        if seen.observed.quorum is None
        else "",
        "volumes": "" if PVC.kind in seen.kinds else "the dump holds no PersistentVolumeClaim",
    }.get(result.check, "")
    if unknown and result.state == "ok":
        return Line(result.check, result.asks, "unknown", "", (unknown,))
    return Line(result.check, result.asks, result.state, result.reason, result.messages)


def as_json(told: Forecast) -> str:
    """Print a forecast for programs."""
    return json.dumps({**asdict(told), "nothingWasChanged": True}, indent=2) + "\n"


def as_text(told: Forecast) -> str:
    """Print a forecast for people."""
    return "\n".join(_lines(told)) + "\n"


def _patience(told: Forecast) -> str:
    if told.strategy == "RollingUpdate":
        return f"A server that is not back within {told.deadline_seconds} s stops it."
    step = int(STEP_DEADLINE.total_seconds())
    return (
        f"It goes back by itself if the new servers are not ready within {told.deadline_seconds} "
        f"s, or a later step takes more than {step} s, unless autoRollback says otherwise."
    )


def _lines(told: Forecast) -> Iterator[str]:
    yield f"{told.cluster}: {told.from_version} to {told.to_version}, {told.strategy}"
    yield "Nothing was changed. This is what the operator would do."
    yield ""
    yield "What could stop it:"
    for line in told.checks:
        yield f"  {_SIGNS[line.state]:<5} {line.check:<14} {line.asks}"
        yield from (f"{'':<23}{text}" for text in line.messages)
    yield ""
    if told.steps:
        yield "In this order:"
        yield from (f"  {number}. {step}" for number, step in enumerate(told.steps, start=1))
        yield ""
        first, last = told.seconds
        yield f"It takes about {first} to {last} s. {_patience(told)}"
    reason = f" ({told.reason})" if told.reason else ""
    yield f"Answer: {told.answer}{reason}: {told.message}"
