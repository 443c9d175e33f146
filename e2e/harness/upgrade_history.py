"""Evaluates the recorded watch events of pods, leaders and Jobs during an upgrade. Pure.

Times have the order of the API server, and the seconds of the arrival of an event: timestamps in
objects have only whole seconds.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from contracts.naming import labels
from e2e.demo.journal import JournalEntry, Moment
from e2e.demo.objects import (
    Object,
    condition,
    holds,
    is_ready,
    is_terminating,
    labels_of,
    name_of,
    status_of,
    uid_of,
)

CLUSTERS, PODS, JOBS, BACKUPS = "openbaoclusters", "pods", "jobs", "openbaobackups"
_REVISION = "controller-revision-hash"
_SERVER = "openbao"


@dataclass(slots=True)
class Life:
    """One server pod. A time is None if it was not observed, or was before the start."""

    name: str
    uid: str
    image: str
    revision: str
    created_at: Moment | None = None
    ready_at: Moment | None = None
    terminating_at: Moment | None = None
    deleted_at: Moment | None = None
    restarts: int = 0
    """How often its server container was restarted."""


@dataclass(frozen=True, slots=True)
class StepDown:
    """A Job that requested a step-down."""

    name: str
    created_at: Moment
    ended_at: Moment | None
    """When it was observed as Complete or Failed."""
    succeeded: bool


@dataclass(frozen=True, slots=True)
class History:
    """One cluster during a time span: its server pods at the start, and all watch events."""

    cluster: str
    before: Sequence[Object]
    entries: Sequence[JournalEntry]

    def lives(self) -> list[Life]:
        """Return all server pods, in the order of their appearance."""
        pods = {uid_of(pod): _life(pod) for pod in self.before}
        for life, pod in zip(pods.values(), self.before, strict=True):
            life.restarts = _restarts(pod)
        for entry in self._pods():
            life = pods.setdefault(uid_of(entry.object), _life(entry.object, entry.moment))
            _live_on(life, entry)
        return list(pods.values())

    def replaced(self) -> list[str]:
        """Return the names of the deleted pods, in order."""
        ended = [
            (life.terminating_at, life.name)
            for life in self.lives()
            if life.terminating_at is not None
        ]
        return [name for _, name in sorted(ended)]

    def leaders(self) -> list[str]:
        """Return the pods that led, in order; a name twice means two pods of that name.

        A server that loses its leadership and regains it counts once: raft elects again when the
        leader gets no processor time, and no other server led meanwhile.
        """
        leads = {uid_of(pod): _leads(pod) for pod in self.before}
        elected = [(uid_of(pod), name_of(pod)) for pod in self.before if _leads(pod)]
        for entry in self._pods():
            pod, now = (uid_of(entry.object), name_of(entry.object)), _leads(entry.object)
            # The event of a deletion may show an outdated label.
            if now and not leads.get(pod[0]) and entry.change != "DELETED":
                elected.append(pod)
            leads[pod[0]] = now
        return [name for (_, name), _ in itertools.groupby(elected)]

    def step_downs(self) -> list[StepDown]:
        """Return the step-down Jobs in the order of their creation."""
        entries: dict[str, list[JournalEntry]] = {}
        for entry in self.entries:
            part = labels_of(entry.object).get(labels.COMPONENT)
            if entry.kind == JOBS and part == "upgrade" and self._ours(entry.object):
                entries.setdefault(uid_of(entry.object), []).append(entry)
        return [_step_down(job_entries) for job_entries in entries.values()]

    def first(self, kind: str, test: Callable[[Object], bool]) -> Moment | None:
        """Return when an object of a kind first passed the test."""
        for entry in self.entries:
            if entry.kind == kind and entry.change != "DELETED" and test(entry.object):
                return entry.moment
        return None

    def first_touch(self) -> Moment | None:
        """Return when the first server pod was terminating or deleted."""
        times = [
            at
            for life in self.lives()
            for at in (life.terminating_at, life.deleted_at)
            if at is not None
        ]
        return min(times, default=None)

    def _pods(self) -> list[JournalEntry]:
        return [
            entry for entry in self.entries
            if entry.kind == PODS and is_server(entry.object, self.cluster)
        ]  # fmt: skip

    def _ours(self, obj: Object) -> bool:
        return labels_of(obj).get(labels.CLUSTER) == self.cluster


def is_server(pod: Object, cluster: str) -> bool:
    """Whether a pod is a server of the cluster (voter or not), and not of a Job."""
    return labels.servers(cluster).items() <= labels_of(pod).items()


def image_of(pod: Object) -> str:
    """Return the image of the server in a pod, or in a template."""
    containers = pod["spec"]["containers"]
    return str(next(container["image"] for container in containers if container["name"] == _SERVER))


def is_complete(cluster: Object, version: str) -> bool:
    """Whether a cluster reports a version, and that the upgrade is complete."""
    status, upgrading = status_of(cluster), condition(cluster, "Upgrading")
    return (
        status.get("currentVersion") == version
        and (status.get("release") or {}).get("version") == version
        and not status.get("upgrade")
        and not status.get("operationLock")
        and (upgrading is None or (upgrading["status"], upgrading["reason"]) == ("False", "Idle"))
        and holds(cluster, "Ready")
    )


def _life(pod: Object, created: Moment | None = None) -> Life:
    revision = labels_of(pod).get(_REVISION, "")
    return Life(name_of(pod), uid_of(pod), image_of(pod), revision, created)


def _live_on(life: Life, entry: JournalEntry) -> None:
    pod = entry.object
    if entry.change == "DELETED":
        life.deleted_at = entry.moment
        return
    life.restarts = _restarts(pod)
    if life.ready_at is None and is_ready(pod):
        life.ready_at = entry.moment
    if life.terminating_at is None and is_terminating(pod):
        life.terminating_at = entry.moment


def _leads(pod: Object) -> bool:
    return labels.registration(labels_of(pod)).active is True


def _restarts(pod: Object) -> int:
    return sum(
        status.get("restartCount", 0) for status in status_of(pod).get("containerStatuses") or ()
    )


def _step_down(entries: Sequence[JournalEntry]) -> StepDown:
    ends = [(entry, _end_of(entry.object)) for entry in entries if _end_of(entry.object)]
    first = entries[0]
    ended, how = (ends[0][0].moment, ends[0][1]) if ends else (None, "")
    return StepDown(name_of(first.object), first.moment, ended, how == "Complete")


def _end_of(job: Object) -> str:
    return next((kind for kind in ("Complete", "Failed") if holds(job, kind)), "")


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of one upgrade, for the table and the budgets."""

    title: str
    seconds: float
    """From the change of the spec to the status of the completed upgrade."""
    writes: int
    failed: int
    gap: float
    """Seconds of the longest time without an acknowledged write."""
    requests: int
    """The requests of the operator to the API server during the upgrade."""
    replaced: Sequence[str] = field(default_factory=tuple)
    leaders: Sequence[str] = field(default_factory=tuple)

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        return (
            self.title,
            f"{self.seconds:.1f} s",
            f"{self.gap:.2f} s",
            f"{self.failed} of {self.writes}",
            str(self.requests),
            " ".join(name.rpartition("-")[2] for name in self.replaced),
            " > ".join(name.rpartition("-")[2] for name in self.leaders),
        )


HEADERS = ("upgrade", "finished", "longest gap", "failed", "requests", "order", "leaders")
