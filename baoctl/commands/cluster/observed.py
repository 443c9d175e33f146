"""A cluster and its related objects, as read from the API server at one time.

Pure. Created by baoctl.commands.cluster.fetch, and for a list by baoctl.commands.cluster.status;
read by the checks and the views. The objects are not parsed as a whole, because a verb also has to
describe a cluster that violates a rule, or that an older or newer operator wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from baoctl.commands.cluster.rights import MissingRight
from contracts.naming import labels
from runtime.types import Object, key_of, labels_of

Part = Mapping[str, Any]
EMPTY_OBJECT: Final[Part] = MappingProxyType({})
LOG_MAX: Final = 4096
"""Maximum characters of the log of one container."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The objects that show whether the operator works."""

    namespace: str
    lease: Object | None = None
    deployment: Object | None = None
    policies: tuple[str, ...] | None = None
    """Names of the admission policies of the API server; None if they cannot be read."""
    bindings: tuple[str, ...] | None = None
    """Names of the policies with a binding; None if they cannot be read."""


@dataclass(frozen=True, slots=True)
class ClusterObservation:
    """One observation. `denied` lists the kinds that could not be read; their fields are empty."""

    now: datetime
    cluster: Object
    pods: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()
    stateful_sets: tuple[Object, ...] = ()
    secrets: tuple[str, ...] | None = None
    """Names of the Secrets of the namespace; None if they cannot be listed."""
    events: tuple[Object, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    """The last log lines of some servers, by pod; of a ready server, only recent lines."""
    lock_holder_exists: bool | None = None
    """Whether the object that holds the operation lock exists; None if unknown."""
    operator: Operator | None = None
    denied: tuple[str, ...] = ()
    missing_rights: tuple[MissingRight, ...] = ()
    """The rights that the failed reads require."""

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return key_of(self.cluster).name

    @property
    def namespace(self) -> str:
        """Namespace of the cluster."""
        return key_of(self.cluster).namespace

    @property
    def spec(self) -> Part:
        """Spec of the cluster."""
        return part(self.cluster, "spec")

    @property
    def status(self) -> Part:
        """Status of the cluster."""
        return part(self.cluster, "status")

    def condition(self, kind: str) -> Part:
        """Return the condition of a type; empty if there is none."""
        return next(
            (condition for condition in self.conditions if condition.get("type") == kind),
            EMPTY_OBJECT,
        )

    @property
    def conditions(self) -> tuple[Part, ...]:
        """Conditions of the cluster."""
        return parts(self.status, "conditions")

    @property
    def replicas(self) -> int:
        """Number of voters in the spec."""
        return number(self.spec.get("replicas"), 3)

    @property
    def voters(self) -> tuple[Object, ...]:
        """The pods of voters."""
        return tuple(pod for pod in self.pods if is_voter(pod))


def has_quorum(observed: ClusterObservation) -> bool:
    """Whether a majority of the voters is ready."""
    return sum(map(is_ready, observed.voters)) > members(observed) // 2


def members(observed: ClusterObservation) -> int:
    """Return the number of voters in raft, or in the spec if that of raft is unknown."""
    return number(part(observed.status, "adminOps", "raft").get("voters")) or observed.replicas


def part(obj: Any, *path: str) -> Part:
    """Return the mapping at a path; an empty one if there is none."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    return obj if isinstance(obj, Mapping) else EMPTY_OBJECT


def fenced_pods(cluster: Object) -> list[str]:
    """Return the pods in spec.fencedPods; they may not exist."""
    pods = part(cluster, "spec").get("fencedPods")
    return [str(pod) for pod in pods] if isinstance(pods, list) else []


def parts(obj: Any, *path: str) -> tuple[Part, ...]:
    """Return the mappings of the list at a path."""
    value = part(obj, *path[:-1]).get(path[-1])
    items = value if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, Mapping))


def text(obj: Any, *path: str) -> str:
    """Return the string at a path; "" if there is none."""
    value = part(obj, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def number(value: Any, default: int = 0) -> int:
    """Return an integer; the default for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def moment(obj: Any, *path: str) -> datetime | None:
    """Return the time at a path; None if there is none."""
    try:
        time = datetime.fromisoformat(text(obj, *path).replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def finalizers(obj: Object) -> list[str]:
    """Return the finalizers of an object."""
    names = part(obj, "metadata").get("finalizers")
    return [str(name) for name in names] if isinstance(names, list) else []


def is_voter(pod: Object) -> bool:
    """Whether a pod is a voter."""
    return labels_of(pod).get(labels.WORKLOAD_POOL) != labels.READ_REPLICA


def is_ready(pod: Object) -> bool:
    """Whether a pod is ready."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in parts(pod, "status", "conditions")
    )


def age(period: timedelta) -> str:
    """Return a duration in the format of kubectl: 45s, 12m, 5h, 3d."""
    seconds = max(0, int(period.total_seconds()))
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "m"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // unit}{name}"
    return f"{seconds // 86_400}d"
