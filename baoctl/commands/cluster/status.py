"""`baoctl status`: the status of a cluster as a value, which is printed as text or JSON.

Pure. Reads baoctl.commands.cluster.observed.ClusterObservation; printed by
baoctl.commands.cluster.status_screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from baoctl.commands.cluster.observed import (
    ClusterObservation,
    age,
    is_ready,
    is_voter,
    moment,
    number,
    part,
    parts,
    text,
)
from baoctl.exit_codes import ExitCode
from contracts.conditions.catalogue import REASONS, TYPES
from contracts.conditions.reason import NOTHING as NOTHING_TO_DO
from contracts.naming import labels
from runtime.types import Object, key_of, labels_of

SUMMARIES: Final = frozenset({"Ready", "Reconciling", "Degraded"})
"""Conditions that repeat others; Ready is the headline."""
ADVICE: Final = frozenset({"ProductionReady", "SecurityRisk"})
"""Conditions about the settings; they do not describe the health."""
_DESIRED: Final = {"good": "True", "bad": "False"}
_UNTIL: Final = re.compile(r"valid until (\d{4}-\d{2}-\d{2})")
_ENDED: Final = re.compile(r"(?:expired|ended) at (\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server."""

    pod: str
    ready: bool
    role: str
    voter: str
    sealed: str
    version: str
    restarts: int
    node: str
    age: str
    state: str
    """Why the pod is not ready, in one word; "" if it is ready."""


@dataclass(frozen=True, slots=True)
class Concern:
    """A condition that does not have its desired status."""

    condition: str
    reason: str
    message: str
    next_step: str


@dataclass(frozen=True, slots=True)
class StatusView:
    """Everything that the screen shows."""

    namespace: str
    name: str
    ready: bool
    reason: str
    message: str
    servers: str
    version: str
    target_version: str
    age: str
    leader: str
    voters: int | None
    seal: str
    sealed: str
    certificate: str
    days_left: int | None
    backup: str
    backup_age: str
    operation: str
    lock: str
    rows: tuple[ServerRow, ...]
    waits: tuple[Concern, ...]
    advice: tuple[Concern, ...]
    stale: bool
    denied: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """GOOD if the cluster is Ready, else NOT_READY."""
        return ExitCode.GOOD if self.ready else ExitCode.NOT_READY


def view_of(seen: ClusterObservation) -> StatusView:
    """Return the status of a cluster."""
    ready, status = seen.condition("Ready"), seen.status
    stale = number(status.get("observedGeneration")) < number(
        part(seen.cluster, "metadata").get("generation")
    )
    days = days_left(seen)
    return StatusView(
        namespace=seen.namespace,
        name=seen.name,
        ready=ready.get("status") == "True" and not stale,
        reason=text(ready, "reason") or "NoStatus",
        message=text(ready, "message") or "the operator has not written a status yet",
        servers=text(status, "ready") or f"0/{seen.replicas}",
        version=text(status, "currentVersion"),
        target_version=text(seen.spec, "version"),
        age=_since(seen, moment(seen.cluster, "metadata", "creationTimestamp")),
        leader=text(status, "activeLeader"),
        voters=_voters(seen),
        seal=text(seen.spec, "unseal", "type") or "static",
        sealed=text(status, "sealed") or "unknown",
        certificate=text(seen.condition("TLSReady"), "message"),
        days_left=days,
        backup=_backup(seen),
        backup_age=_since(seen, moment(status, "backup", "lastBackupTime")),
        operation=_operation(seen),
        lock=_lock(seen),
        rows=tuple(_row(seen, pod) for pod in seen.pods),
        waits=tuple(_concerns(seen, advice=False)),
        advice=tuple(_concerns(seen, advice=True)),
        stale=stale,
        denied=seen.denied,
    )


def days_left(seen: ClusterObservation) -> int | None:
    """Return the days until the certificate of the servers expires; None if unknown.

    0 on the last day, and less than 0 once it has expired.
    """
    message = text(seen.condition("TLSReady"), "message")
    if expired := _ENDED.search(message):
        return min(-1, (_day(expired[1]) - seen.now).days)
    if until := _UNTIL.search(message):
        return (_day(until[1]) + timedelta(days=1) - seen.now).days
    return None


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _since(seen: ClusterObservation, begun: datetime | None) -> str:
    return "" if begun is None else age(seen.now - begun)


def _voters(seen: ClusterObservation) -> int | None:
    raft = part(seen.status, "adminOps", "raft")
    return number(raft.get("voters")) if raft else None


def _row(seen: ClusterObservation, pod: Object) -> ServerRow:
    registered = labels.registration(labels_of(pod))
    containers = parts(pod, "status", "containerStatuses")
    ready, voter = is_ready(pod), is_voter(pod)
    name = key_of(pod).name
    leads = name == text(seen.status, "activeLeader")
    role = "leader" if leads else "standby" if voter else "read replica"
    voters = _voters(seen)
    has_vote = "unknown" if voters is None or voters < len(seen.voters) else "yes"
    return ServerRow(
        pod=name,
        ready=ready,
        role=role if ready or leads else "-",
        voter=has_vote if voter else "no",
        sealed={True: "yes", False: "no", None: "unknown"}[registered.sealed],
        version=registered.version or "",
        restarts=sum(number(one.get("restartCount")) for one in containers),
        node=text(pod, "spec", "nodeName"),
        age=_since(seen, moment(pod, "metadata", "creationTimestamp")),
        state="" if ready else state_of(pod),
    )


def state_of(pod: Object) -> str:
    """Return why a pod is not ready, in one word."""
    if text(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    for one in (
        *parts(pod, "status", "initContainerStatuses"),
        *parts(pod, "status", "containerStatuses"),
    ):
        waiting = text(one, "state", "waiting", "reason")
        ended = text(one, "state", "terminated", "reason")
        if waiting or (ended and ended != "Completed"):
            return waiting or ended
    for one in parts(pod, "status", "conditions"):
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return text(one, "reason") or "Unschedulable"
    return "NotReady" if text(pod, "status", "phase") == "Running" else "Pending"


def _backup(seen: ClusterObservation) -> str:
    backup, schedule = part(seen.status, "backup"), text(seen.spec, "backup", "schedule")
    if not backup and not part(seen.spec, "backup"):
        return "not configured"
    last = moment(backup, "lastBackupTime")
    words = [f"last {age(seen.now - last)} ago" if last else "none yet"]
    if size := number(backup.get("lastBackupSize")):
        words.append(_size(size))
    if failures := number(backup.get("consecutiveFailures")):
        words.append(f"{failures} failed since ({text(backup, 'lastFailureReason')})")
    following = moment(backup, "nextScheduledBackup")
    if following:
        words.append(f"next in {age(following - seen.now)}")
    elif schedule:
        words.append(f"schedule {schedule}")
    return ", ".join(words)


def _size(count: int) -> str:
    return f"{count / 2**10:.1f} KiB" if count < 2**20 else f"{count / 2**20:.1f} MiB"


def _operation(seen: ClusterObservation) -> str:
    operation, upgrade = part(seen.status, "operation"), part(seen.status, "upgrade")
    green = part(seen.status, "blueGreen")
    texts = []
    if operation:
        started = _since(seen, moment(operation, "startedAt"))
        texts.append(text(operation, "summary") + (f", started {started} ago" if started else ""))
    if upgrade:
        done = len(upgrade.get("completedPods") or ())
        path = f"{text(upgrade, 'fromVersion')} to {text(upgrade, 'targetVersion')}"
        texts.append(f"upgrade {path}, {text(upgrade, 'phase')}, {done}/{seen.replicas} servers")
        if failure := text(upgrade, "failure", "message"):
            texts.append(f"failed: {failure}")
    if text(green, "phase") not in ("", "Idle"):
        texts.append(f"blue/green to {text(green, 'greenVersion')}, {text(green, 'phase')}")
    return "; ".join(filter(None, texts))


def _lock(seen: ClusterObservation) -> str:
    lock = part(seen.status, "operationLock")
    if not lock:
        return ""
    renewed = _since(seen, moment(lock, "renewedAt"))
    since = f", renewed {renewed} ago" if renewed else ""
    return f"{text(lock, 'operation')} by {text(lock, 'holder')}{since}"


def _concerns(seen: ClusterObservation, *, advice: bool) -> Iterator[Concern]:
    by_type = {one.get("type"): one for one in seen.conditions}
    for kind in TYPES:
        stated, desired = by_type.get(kind.name), _DESIRED.get(kind.polarity)
        if stated is None or kind.name in SUMMARIES or (kind.name in ADVICE) is not advice:
            continue
        held = kind.name in ("Paused", "Hibernated", "PodsFenced", "Maintenance")
        if stated.get("status") == desired or (desired is None and not held):
            continue
        reason = text(stated, "reason")
        known = REASONS.get(reason)
        step = known.next_step if known and known.next_step != NOTHING_TO_DO else ""
        yield Concern(kind.name, reason, text(stated, "message"), step)


@dataclass(frozen=True, slots=True)
class ListRow:
    """One cluster of a list."""

    namespace: str
    name: str
    ready: bool
    servers: str
    version: str
    leader: str
    sealed: str
    operation: str
    backup_age: str
    days_left: int | None
    age: str
    reason: str


def list_row(cluster: Object, now: datetime) -> ListRow:
    """Return the line of a cluster in a list."""
    view = view_of(ClusterObservation(now, cluster))
    return ListRow(
        namespace=view.namespace,
        name=view.name,
        ready=view.ready,
        servers=view.servers,
        version=view.version,
        leader=view.leader,
        sealed=view.sealed,
        operation=view.operation,
        backup_age=view.backup_age,
        days_left=view.days_left,
        age=view.age,
        reason=view.reason,
    )


SOON: Final = timedelta(days=14).days
"""A certificate with fewer days left is highlighted."""
