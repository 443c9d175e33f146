"""The milestones of a cluster, from recorded watch events. Pure.

Times are those of the arrival of events: timestamps in objects have whole seconds only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contracts.naming import labels
from e2e.demo.journal import JournalEntry
from e2e.demo.objects import Object, condition, holds, is_ready, labels_of, name_of, status_of

Test = Callable[[Object], bool]
CLUSTERS = "openbaoclusters"
CHILDREN = frozenset({"statefulsets", "services", "configmaps", "serviceaccounts", "secrets"})


@dataclass(frozen=True, slots=True)
class Milestone:
    """A milestone, and the ``seconds`` from the start to it."""

    name: str
    seconds: float


def creation_time(entries: Sequence[JournalEntry], cluster: str) -> float | None:
    """Return when the cluster was first observed, as time.monotonic()."""
    return _first(entries, CLUSTERS, lambda obj: name_of(obj) == cluster)


def bring_up(
    entries: Sequence[JournalEntry], cluster: str, replicas: int, start: float
) -> list[Milestone]:
    """Return the reached milestones of a first boot, in order.

    Without an operator, the milestones that it reports are missing.
    """
    first_pod = f"{cluster}-0"

    def of(name: str, test: Test) -> Test:
        return lambda obj: name_of(obj) == name and test(obj)

    marks: list[tuple[str, float | None]] = [
        ("first child", _first_child(entries, cluster)),
        ("StatefulSet", _first(entries, "statefulsets", of(cluster, lambda _: True))),
        ("first pod scheduled", _first(entries, "pods", of(first_pod, _is_scheduled))),
        ("first pod runs", _first(entries, "pods", of(first_pod, _runs))),
        ("initialized", _first(entries, "pods", of(first_pod, _is_initialized))),
        ("first pod Ready", _first(entries, "pods", of(first_pod, is_ready))),
    ]
    if replicas > 1:
        resize = of(cluster, lambda obj: obj["spec"].get("replicas") == replicas)
        marks.append(("scaled out", _first(entries, "statefulsets", resize)))
        marks += [
            (f"pod {number} Ready", _first(entries, "pods", of(f"{cluster}-{number}", is_ready)))
            for number in range(1, replicas)
        ]
    marks += [
        (kind, _first(entries, CLUSTERS, of(cluster, _holds(kind))))
        for kind in ("Available", "RaftMembershipReady")
    ]
    return [Milestone(name, at - start) for name, at in marks if at is not None]


def seconds_to(milestones: Sequence[Milestone], name: str) -> float | None:
    """Return the seconds to a milestone."""
    return next((mark.seconds for mark in milestones if mark.name == name), None)


def _first(entries: Sequence[JournalEntry], kind: str, test: Test) -> float | None:
    for entry in entries:
        if entry.kind == kind and entry.change != "DELETED" and test(entry.object):
            return entry.at
    return None


def _first_child(entries: Sequence[JournalEntry], cluster: str) -> float | None:
    times = [
        entry.at
        for entry in entries
        if entry.kind in CHILDREN
        and entry.change != "DELETED"
        and labels_of(entry.object).get(labels.CLUSTER) == cluster
    ]
    return min(times, default=None)


def _holds(kind: str) -> Test:
    return lambda obj: holds(obj, kind)


def _is_scheduled(pod: Object) -> bool:
    pod_scheduled = condition(pod, "PodScheduled")
    return pod_scheduled is not None and pod_scheduled["status"] == "True"


def _runs(pod: Object) -> bool:
    containers = status_of(pod).get("containerStatuses") or ()
    return any("running" in (container.get("state") or {}) for container in containers)


def _is_initialized(pod: Object) -> bool:
    return labels.registration(labels_of(pod)).initialized is True
