"""Evaluates the recorded watch events of a blue/green upgrade. Pure.

Blue is the pool before the upgrade, green the one after it; each has a revision, "" for the first
pool of a cluster. Times are those of e2e.harness.upgrade_history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contracts.builders.validation_hook_job import OPERATION_ID
from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen_phases import DEMOTING, IDLE
from e2e.demo.journal import Moment, moment_of
from e2e.demo.objects import Object, labels_of, name_of, status_of, uid_of
from e2e.harness.upgrade_history import CLUSTERS, JOBS, PODS, Figures, History, Life

SERVICES, SETS = "services", "statefulsets"
VIEWS = (f"v1/{SERVICES}", f"apps/v1/{SETS}")
"""The watches in addition to those of every record."""
_OF_JOB = "batch.kubernetes.io/job-name"
_BEFORE = Moment(0, 0.0)
"""Before every event."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of status.blueGreen, and when it was first observed."""

    name: str
    at: Moment


@dataclass(frozen=True, slots=True)
class Selection:
    """The revisions that a Service selects, and since when."""

    revisions: frozenset[str]
    at: Moment


@dataclass(frozen=True, slots=True)
class TwoPools:
    """A cluster during a time span: its servers and Services at the start, and all watch events.

    The time span starts before the upgrade and ends after it.
    """

    history: History
    services: Sequence[Object]

    @property
    def blue(self) -> ServerPool:
        """The pool before the upgrade."""
        revision = next((status.get("blueRevision", "") for status in self._upgrade_statuses()), "")
        return ServerPool(self.history.cluster, revision)

    @property
    def green(self) -> ServerPool:
        """The first green pool; with revision "" if there was none."""
        revision = next(
            (
                green
                for status in self._upgrade_statuses()
                if (green := status.get("greenRevision"))
            ),
            "",
        )
        return ServerPool(self.history.cluster, revision)

    def phases(self) -> list[Phase]:
        """Return the phases in order, without Idle before the first."""
        phases: list[Phase] = []
        for entry in self.history.entries:
            if entry.kind != CLUSTERS or name_of(entry.object) != self.history.cluster:
                continue
            name = blue_green(entry.object).get("phase") or IDLE
            if name != (phases[-1].name if phases else IDLE):
                phases.append(Phase(name, entry.moment))
        return phases

    def began(self, phase: str) -> Moment | None:
        """Return when a phase first began."""
        return next((entry.at for entry in self.phases() if entry.name == phase), None)

    def lives(self, servers: ServerPool) -> list[Life]:
        """Return the pods of one pool."""
        pods = self.history.lives()
        return [life for life in pods if servers.ordinal_of(life.name) is not None]

    def selections(self, service: str) -> list[Selection]:
        """Return which revisions a Service selected, beginning with the first green server.

        Pods that are created later count as well: whether a selector matches does not depend on
        whether the pods exist.
        """
        start = min((life.created_at or _BEFORE for life in self.lives(self.green)), default=None)
        entries = [(moment_of(obj, 0.0), obj) for obj in self.services if name_of(obj) == service]
        entries += [
            (entry.moment, entry.object) for entry in self.history.entries
            if entry.kind == SERVICES and name_of(entry.object) == service
        ]  # fmt: skip
        selections: list[Selection] = []
        for at, live in entries:
            now = Selection(_selected_revisions(live, self._marks(at)), at)
            if selections and (start is None or at <= start):
                selections[-1] = now
            elif not selections or now.revisions != selections[-1].revisions:
                selections.append(now)
        return selections

    def jobs(self) -> dict[str, Object]:
        """Return the upgrade Jobs of the cluster by UID, as last observed, in order."""
        jobs: dict[str, Object] = {}
        for entry in self.history.entries:
            live = entry.object
            if entry.kind == JOBS and labels_of(live).get(labels.CLUSTER) == self.history.cluster:
                jobs[uid_of(live)] = live
        return jobs

    def actions(self) -> list[str]:
        """Return the actions of those Jobs, in the order of their creation."""
        actions = (notes_of(job).get(labels.UPGRADE_ACTION, "") for job in self.jobs().values())
        return [action for action in actions if action]

    def hook_runs(self, operation: str) -> dict[str, int]:
        """Return the validation hook Jobs of one upgrade, and the number of pods of each."""
        names = {
            name_of(job) for job in self.jobs().values()
            if notes_of(job).get(OPERATION_ID) == operation
        }  # fmt: skip
        pods = {
            (labels_of(entry.object).get(_OF_JOB, ""), uid_of(entry.object))
            for entry in self.history.entries if entry.kind == PODS
        }  # fmt: skip
        return {name: sum(job == name for job, _ in pods) for name in names}

    def stateful_sets(self, servers: ServerPool) -> list[Object]:
        """Return all observed versions of the StatefulSet of one pool."""
        return [
            entry.object for entry in self.history.entries
            if entry.kind == SETS and name_of(entry.object) == servers.stateful_set
        ]  # fmt: skip

    def timeline(self) -> str:
        """Return the duration of each phase, on one line."""
        phases = self.phases()
        ends = [phase.at for phase in phases[1:]]
        pairs = zip(phases, ends, strict=False)
        return ", ".join(f"{phase.name} {end - phase.at:.1f} s" for phase, end in pairs)

    def _upgrade_statuses(self) -> list[Object]:
        return [
            blue_green(entry.object) for entry in self.history.entries
            if entry.kind == CLUSTERS and name_of(entry.object) == self.history.cluster
        ]  # fmt: skip

    def _marks(self, at: Moment) -> list[Mapping[str, str]]:
        """The labels of all voters of both pools that existed at that time."""
        gone = {
            life.uid for life in self.history.lives() if life.deleted_at and life.deleted_at <= at
        }
        pods = {uid_of(pod): pod for pod in self.history.before}
        pods |= {
            uid_of(entry.object): entry.object
            for entry in self.history.entries
            if entry.kind == PODS
        }
        selector = labels.voters(self.history.cluster).items()
        voters = (pod for pod in pods.values() if selector <= labels_of(pod).items())
        return [labels_of(pod) for pod in voters if uid_of(pod) not in gone]


def blue_green(cluster: Object) -> Object:
    """Return status.blueGreen, {} if there is none."""
    status: Object = status_of(cluster).get("blueGreen") or {}
    return status


def notes_of(obj: Object) -> dict[str, str]:
    """Return metadata.annotations."""
    return obj["metadata"].get("annotations") or {}


def _selected_revisions(service: Object, marks: Sequence[Mapping[str, str]]) -> frozenset[str]:
    selector = (service["spec"].get("selector") or {}).items()
    return frozenset(
        pod_labels.get(labels.REVISION, "")
        for pod_labels in marks
        if selector <= pod_labels.items()
    )


def row(figures: Figures, sets: TwoPools) -> tuple[str, ...]:
    """Return the cells of the table of the cost of blue/green upgrades."""
    began = sets.phases()[0].at
    switched = sets.began(DEMOTING) or began
    return (
        figures.title,
        f"{figures.seconds:.1f} s",
        f"{switched - began:.1f} s",
        f"{figures.gap:.2f} s",
        f"{figures.failed} of {figures.writes}",
        str(figures.requests),
    )


HEADERS = ("upgrade", "finished", "clients at green", "longest gap", "failed", "requests")
