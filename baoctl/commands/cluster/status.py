"""`baoctl status`: the status of a cluster as a value, which is printed as text, JSON or YAML.

Pure. Called by baoctl.commands.cluster.show; baoctl.commands.cluster.status_screen prints the value
as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from baoctl.commands.cluster.observed import (
    ClusterObservation,
    age,
    finalizers,
    is_ready,
    is_voter,
    moment,
    number,
    part,
    parts,
    text,
)
from baoctl.commands.cluster.rights import MissingRight
from baoctl.exit_codes import ExitCode
from contracts.conditions.catalog import REASONS, TYPES
from contracts.conditions.reason import NO_ACTION
from contracts.naming import labels
from runtime.types import Object, key_of, labels_of

SUMMARIES: Final = frozenset({"Ready", "Reconciling", "Degraded"})
"""Conditions that summarize others. The first line of the screen shows Ready."""
ADVICE: Final = frozenset({"ProductionReady", "SecurityRisk"})
"""Conditions about the settings, and not about the health."""
_DESIRED: Final = {"good": "True", "bad": "False"}
_VALID_UNTIL: Final = re.compile(r"valid until (\d{4}-\d{2}-\d{2})")
_EXPIRED_AT: Final = re.compile(r"(?:expired|ended) at (\d{4}-\d{2}-\d{2})")


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
class UnmetCondition:
    """A condition that does not have its desired status."""

    condition: str
    reason: str
    message: str
    next_step: str


@dataclass(frozen=True, slots=True)
class StatusView:
    """The values that the screen shows; with -o json its fields are the output."""

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
    pods: tuple[ServerRow, ...]
    waits: tuple[UnmetCondition, ...]
    advice: tuple[UnmetCondition, ...]
    stale: bool
    denied: tuple[str, ...] = ()
    missing_rights: tuple[MissingRight, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """GOOD if the cluster is Ready, else NOT_READY."""
        return ExitCode.GOOD if self.ready else ExitCode.NOT_READY


def view_of(observed: ClusterObservation) -> StatusView:
    """Return the status of a cluster."""
    ready, status = observed.condition("Ready"), observed.status
    deletion = deletion_of(observed)
    stale = not deletion and number(status.get("observedGeneration")) < number(
        part(observed.cluster, "metadata").get("generation")
    )
    days = days_left(observed)
    return StatusView(
        namespace=observed.namespace,
        name=observed.name,
        ready=ready.get("status") == "True" and not stale and not deletion,
        reason="Deleting" if deletion else text(ready, "reason") or "NoStatus",
        message=deletion or text(ready, "message") or "the operator has not written a status yet",
        servers=text(status, "ready") or f"0/{observed.replicas}",
        version=text(status, "currentVersion"),
        target_version=text(observed.spec, "version"),
        age=_since(observed, moment(observed.cluster, "metadata", "creationTimestamp")),
        leader=text(status, "activeLeader"),
        voters=_voters(observed),
        seal=text(observed.spec, "unseal", "type") or "static",
        sealed=text(status, "sealed") or "unknown",
        certificate=text(observed.condition("TLSReady"), "message"),
        days_left=days,
        backup=_backup(observed),
        backup_age=_since(observed, moment(status, "backup", "lastBackupTime")),
        operation=_operation(observed),
        lock=_lock(observed),
        pods=tuple(_row(observed, pod) for pod in observed.pods),
        waits=tuple(_unmet_conditions(observed, advice=False)),
        advice=tuple(_unmet_conditions(observed, advice=True)),
        stale=stale,
        denied=observed.denied,
        missing_rights=observed.missing_rights,
    )


def deletion_of(observed: ClusterObservation) -> str:
    """Return the age of a deletion, and the finalizers; "" if the cluster is not being deleted."""
    since = moment(observed.cluster, "metadata", "deletionTimestamp")
    if since is None:
        return ""
    waits = ", ".join(finalizers(observed.cluster))
    return f"deletion began {age(observed.now - since)} ago and waits for the finalizers: {waits}"


def days_left(observed: ClusterObservation) -> int | None:
    """Return the days until the certificate of the servers expires; None if unknown.

    0 on the last day, and less than 0 once it has expired.
    """
    message = text(observed.condition("TLSReady"), "message")
    if expired := _EXPIRED_AT.search(message):
        return min(-1, (_day(expired[1]) - observed.now).days)
    if until := _VALID_UNTIL.search(message):
        return (_day(until[1]) + timedelta(days=1) - observed.now).days
    return None


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _since(observed: ClusterObservation, start: datetime | None) -> str:
    return "" if start is None else age(observed.now - start)


def _voters(observed: ClusterObservation) -> int | None:
    raft = part(observed.status, "adminOps", "raft")
    return number(raft.get("voters")) if raft else None


def _row(observed: ClusterObservation, pod: Object) -> ServerRow:
    registration = labels.registration(labels_of(pod))
    containers = parts(pod, "status", "containerStatuses")
    ready, voter = is_ready(pod), is_voter(pod)
    name = key_of(pod).name
    is_leader = name == text(observed.status, "activeLeader")
    role = "leader" if is_leader else "standby" if voter else "read replica"
    voters = _voters(observed)
    has_vote = "unknown" if voters is None or voters < len(observed.voters) else "yes"
    return ServerRow(
        pod=name,
        ready=ready,
        role=role if ready or is_leader else "-",
        voter=has_vote if voter else "no",
        sealed={True: "yes", False: "no", None: "unknown"}[registration.sealed],
        version=registration.version or "",
        restarts=sum(number(container.get("restartCount")) for container in containers),
        node=text(pod, "spec", "nodeName"),
        age=_since(observed, moment(pod, "metadata", "creationTimestamp")),
        state="" if ready else state_of(pod),
    )


def state_of(pod: Object) -> str:
    """Return why a pod is not ready, in one word."""
    if text(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    for status in (
        *parts(pod, "status", "initContainerStatuses"),
        *parts(pod, "status", "containerStatuses"),
    ):
        waiting = text(status, "state", "waiting", "reason")
        ended = text(status, "state", "terminated", "reason")
        if waiting or (ended and ended != "Completed"):
            return waiting or ended
    for condition in parts(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return text(condition, "reason") or "Unschedulable"
    return "NotReady" if text(pod, "status", "phase") == "Running" else "Pending"


def _backup(observed: ClusterObservation) -> str:
    backup, schedule = part(observed.status, "backup"), text(observed.spec, "backup", "schedule")
    if not backup and not part(observed.spec, "backup"):
        return "not configured"
    last = moment(backup, "lastBackupTime")
    words = [f"last {age(observed.now - last)} ago" if last else "none yet"]
    if size := number(backup.get("lastBackupSize")):
        words.append(_size(size))
    if failures := number(backup.get("consecutiveFailures")):
        words.append(f"{failures} failed since ({text(backup, 'lastFailureReason')})")
    next_backup = moment(backup, "nextScheduledBackup")
    if next_backup:
        words.append(f"next in {age(next_backup - observed.now)}")
    elif schedule:
        words.append(f"schedule {schedule}")
    return ", ".join(words)


def _size(count: int) -> str:
    return f"{count / 2**10:.1f} KiB" if count < 2**20 else f"{count / 2**20:.1f} MiB"


def _operation(observed: ClusterObservation) -> str:
    operation, upgrade = part(observed.status, "operation"), part(observed.status, "upgrade")
    green = part(observed.status, "blueGreen")
    texts = []
    if operation:
        started = _since(observed, moment(operation, "startedAt"))
        texts.append(text(operation, "summary") + (f", started {started} ago" if started else ""))
    if upgrade:
        texts.append(_upgrade(upgrade, text(operation, "kind"), observed.replicas))
        if failure := text(upgrade, "failure", "message"):
            texts.append(f"failed: {failure}")
    if text(green, "phase") not in ("", "Idle"):
        texts.append(f"blue/green to {text(green, 'greenVersion')}, {text(green, 'phase')}")
    return "; ".join(filter(None, texts))


def _upgrade(upgrade: Mapping[str, Any], operation: str, replicas: int) -> str:
    """Describe an upgrade, without its progress if status.operation describes that."""
    path = f"upgrade {text(upgrade, 'fromVersion')} to {text(upgrade, 'targetVersion')}"
    phase = text(upgrade, "phase")
    if operation:
        return path if phase == operation else f"{path}, {phase}"
    return f"{path}, {phase}, {len(upgrade.get('completedPods') or ())}/{replicas} servers"


def _lock(observed: ClusterObservation) -> str:
    lock = part(observed.status, "operationLock")
    if not lock:
        return ""
    renewed = _since(observed, moment(lock, "renewedAt"))
    since = f", renewed {renewed} ago" if renewed else ""
    return f"{text(lock, 'operation')} by {text(lock, 'holder')}{since}"


def _unmet_conditions(observed: ClusterObservation, *, advice: bool) -> Iterator[UnmetCondition]:
    by_type = {condition.get("type"): condition for condition in observed.conditions}
    for kind in TYPES:
        condition, desired = by_type.get(kind.name), _DESIRED.get(kind.polarity)
        if condition is None or kind.name in SUMMARIES or (kind.name in ADVICE) is not advice:
            continue
        on_request = kind.name in ("Paused", "Hibernated", "PodsFenced", "Maintenance")
        if condition.get("status") == desired or (desired is None and not on_request):
            continue
        reason = text(condition, "reason")
        known = REASONS.get(reason)
        step = known.next_step if known and known.next_step != NO_ACTION else ""
        yield UnmetCondition(kind.name, reason, text(condition, "message"), step)


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


EXPIRY_WARNING_DAYS: Final = timedelta(days=14).days
"""A certificate that is valid for fewer days is highlighted."""
