"""`baoctl upgrade plan`: what an upgrade would do, in which order, and what could stop it.

Every answer is that of the operator's own functions, for the cluster as it would be once somebody
had made the edit. Nothing is changed, and nothing is asked of the servers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final, Literal

from baoctl.dump import DumpError, Seen, fetch, look, objects_in
from baoctl.settings import Settings, from_environment
from baoctl.wiring import credentials_of
from contracts.api.cluster import OpenBaoCluster
from contracts.api.rules import violations
from contracts.api.upgrade import Strategy, Upgrade
from contracts.upgrade import Release
from managers.upgrade.course import accepted, direct
from managers.upgrade.preflight import Result, check
from managers.upgrade.turns import asks_by_job
from managers.workload.forecast import replacements
from runtime.client import Client
from runtime.clock import Clock, SystemClock
from runtime.errors import TransportError
from runtime.outcome import Blocked, Wait
from runtime.resources import PVC
from runtime.types import Object

Answer = Literal["begins", "goes-on", "waits", "refused", "nothing"]
REFUSED: Final = 3
"""Exit status when the operator would refuse it."""
# One server of a small cluster on the test rig comes back within the first; the second is what a
# large volume or a slow registry may need.
_ONE_SERVER: Final = (10, 60)
_SNAPSHOT: Final = (5, 120)
_SIGNS: Final = {"ok": "ok", "warn": "warn", "wait": "wait", "stop": "STOP", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class Wish:
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
    """After so long without progress of one server it stops."""

    @property
    def exit_code(self) -> int:
        """0, or 3 when the operator would refuse it."""
        return REFUSED if self.answer == "refused" else 0


def plan(wish: Wish, text: str | None, cluster: str | None = None) -> Forecast:
    """Look at a dump, or without one at the cluster of $KUBECONFIG; raises DumpError."""
    try:
        settings, clock = from_environment(), SystemClock()
    except ValueError as error:
        raise DumpError(str(error)) from None
    if text is not None:
        found = objects_in(text)
    elif cluster is not None:
        found = asyncio.run(_live(cluster, settings, clock))
    else:
        raise DumpError("name the cluster with --cluster namespace/name, or a dump with -f")
    return forecast(look(found, cluster, clock.now()), wish, settings.installation.pod_deadline)


async def _live(cluster: str, settings: Settings, clock: Clock) -> tuple[Object, ...]:
    try:
        credentials = await credentials_of(settings, clock)
    except TransportError as error:
        raise DumpError(str(error)) from None
    client = Client(credentials, user_agent="baoctl/upgrade-plan", clock=clock)
    try:
        return await fetch(client, cluster)
    finally:
        await client.close()


def forecast(seen: Seen, wish: Wish, deadline: timedelta) -> Forecast:
    """Tell what would happen if somebody asked for it now. `deadline` is that for one server."""
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
    strategy: Strategy = cluster.spec.upgrade.strategy if cluster.spec.upgrade else "RollingUpdate"
    steps = tuple(_steps(seen, cluster)) if answer not in ("nothing", "refused") else ()
    return Forecast(
        cluster=f"{cluster.metadata.namespace}/{cluster.metadata.name}",
        from_version=before.version,
        to_version=Release.asked(cluster).version,
        strategy=strategy,
        answer=answer,
        reason=reason,
        message=message,
        checks=tuple(_line(one, seen) for one in verdict.results),
        steps=steps,
        seconds=_seconds(cluster, len(replacements(seen.observed, _done(cluster)))),
        deadline_seconds=int(deadline.total_seconds()),
    )


def edited(cluster: OpenBaoCluster, wish: Wish) -> OpenBaoCluster:
    """Return the cluster as it would be after the edit."""
    spec = cluster.spec
    update: dict[str, object] = {"version": wish.version}
    if wish.image is not None:
        update["image"] = wish.image or None
    if wish.strategy is not None:
        before = spec.upgrade or Upgrade()
        update["upgrade"] = before.model_copy(update={"strategy": wish.strategy})
    return cluster.model_copy(update={"spec": spec.model_copy(update=update)})


def _answer(seen: Seen, cluster: OpenBaoCluster, deadline: timedelta) -> tuple[Answer, str, str]:
    """Ask the table of the operator for its first step."""
    if cluster.spec.paused:
        return "waits", "Paused", "spec.paused is true: the operator does nothing"
    course = direct(cluster, seen.observed, deadline)
    match course.outcome:
        case Blocked(reason, message):
            return "refused", reason, message
        case Wait(reason, message) if course.upgrade is None:
            return "waits", reason, message
    if course.upgrade is None:
        return "nothing", "", f"the servers were told to run {course.release} already"
    if cluster.status.upgrade is not None:
        return "goes-on", "", "an upgrade is under way; it would go on with this"
    return "begins", "", "it would begin at once"


def _line(result: Result, seen: Seen) -> Line:
    unknown = {
        "quorum": "only the operator can ask the leader; it does so before it begins"
        if seen.observed.quorum is None
        else "",
        "volumes": "" if PVC.kind in seen.kinds else "the dump holds no PersistentVolumeClaim",
    }.get(result.check, "")
    if unknown and result.state == "ok":
        return Line(result.check, result.asks, "unknown", "", (unknown,))
    return Line(result.check, result.asks, result.state, result.reason, result.messages)


def _done(cluster: OpenBaoCluster) -> tuple[int, ...]:
    upgrade = cluster.status.upgrade
    same = upgrade is not None and upgrade.target_version == Release.asked(cluster).version
    return upgrade.completed_pods if upgrade is not None and same else ()


def _steps(seen: Seen, cluster: OpenBaoCluster) -> Iterator[str]:
    wish, asked = cluster.spec.upgrade, Release.asked(cluster)
    yield "take the operation lock, so that no backup or restore begins meanwhile"
    if wish is not None and wish.pre_upgrade_snapshot:
        yield "make an OpenBaoBackup, and go on once it is Completed; after three failures stop"
    yield f"render the servers with {asked}; no pod changes by that alone"
    job = asks_by_job(cluster)
    for turn in replacements(seen.observed, _done(cluster)):
        yield _told(turn.pod, leads=turn.leads, votes=turn.votes, job=job)
    yield f"once all servers run {asked.version} and the leader finds them well: free the lock"


def _told(pod: str, *, leads: bool, votes: bool, job: bool) -> str:
    if not votes:
        return f"replace {pod}, a read replica, and wait until it is ready"
    if not leads:
        return f"replace {pod}, and wait until it is ready and has caught up"
    asked = "a Job asks it to step down" if job else "it is asked to step down, or hands over"
    return f"{pod} leads now: {asked}; once another one leads, replace it"


def _seconds(cluster: OpenBaoCluster, servers: int) -> tuple[int, int]:
    first, last = (each * servers for each in _ONE_SERVER)
    if cluster.spec.upgrade is not None and cluster.spec.upgrade.pre_upgrade_snapshot:
        return first + _SNAPSHOT[0], last + _SNAPSHOT[1]
    return first, last


def as_json(told: Forecast) -> str:
    """Print a forecast for programs."""
    return json.dumps({**asdict(told), "nothingWasChanged": True}, indent=2) + "\n"


def as_text(told: Forecast) -> str:
    """Print a forecast for people."""
    return "\n".join(_lines(told)) + "\n"


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
        yield (
            f"It takes about {first} to {last} s. A server that is not back within "
            f"{told.deadline_seconds} s stops it."
        )
    reason = f" ({told.reason})" if told.reason else ""
    yield f"Answer: {told.answer}{reason}: {told.message}"
