"""The Prometheus metrics of clusters.

The gauges are computed at each scrape from the cached clusters, so no series contradicts another
and none outlives its cluster. Each reconcile updates two counters and the expiry of the
certificate. Only the leader exports them. Composed by `baoctl.process.wiring`; docs/status.md lists
them, and a test compares.

Labels are namespace, name and values of a fixed set (reliability T18): N clusters have at most
`SERIES_PER_CLUSTER` times N series, whatever their users write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, get_args

from contracts import tls_names
from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.status import OperationKind, Phase
from contracts.api.violation import InvalidClusterError
from managers.cluster.observe.from_objects import SecretReading
from managers.context.reads.secrets import SecretStore
from runtime.cache.cache import Lister
from runtime.controller.controller import Reconciler
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey, Request, key_of

PHASES: Final = frozenset(get_args(Phase))
OPERATIONS: Final = frozenset(get_args(OperationKind))
REPORTED_CONDITIONS: Final = frozenset(
    {
        "Ready",
        "Reconciling",
        "Stalled",
        "Available",
        "Degraded",
        "Paused",
        "TLSReady",
        "OpenBaoSealed",
        "OpenBaoLeader",
        "RaftMembershipReady",
        "BackupHealthy",
        "BackupProven",
        "Hibernated",
        "PodsFenced",
        "ProductionReady",
    }
)
STATUSES: Final = frozenset({"True", "False", "Unknown"})
_READ_REPLICAS: Final = ("desired", "ready", "registered", "healthy")
ABOUT: Final = ("namespace", "name")

Sample = tuple[tuple[str, ...], float]
"""Values of the labels after namespace and name, and the value of the series."""


@dataclass(frozen=True, slots=True)
class Family:
    """One family of gauges, read from the stored spec and status of a cluster."""

    name: str
    meaning: str
    read: Callable[[Object, Object], Iterable[Sample]]
    labels: tuple[str, ...] = ()


def _map(value: Any) -> Object:
    """Return a map; an unreadable status must not fail a scrape."""
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> Iterator[Sample]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield (), float(value)


def _phase(_: Object, status: Object) -> Iterator[Sample]:
    phase = status.get("phase")
    if isinstance(phase, str) and phase in PHASES:
        yield (phase,), 1.0


def _operation(_: Object, status: Object) -> Iterator[Sample]:
    kind = _map(status.get("operation")).get("kind")
    if isinstance(kind, str) and kind in OPERATIONS:
        yield (kind,), 1.0


def _conditions(_: Object, status: Object) -> Iterator[Sample]:
    conditions = status.get("conditions")
    reported: set[str] = set()
    for entry in conditions if isinstance(conditions, list) else ():
        kind, state = (_map(entry).get(field) for field in ("type", "status"))
        is_reported = isinstance(kind, str) and kind in REPORTED_CONDITIONS and kind not in reported
        if is_reported and isinstance(state, str) and state in STATUSES:
            reported.add(str(kind))
            yield (str(kind), state.lower()), 1.0


def _ready(_: Object, status: Object) -> Iterator[Sample]:
    return _number(status.get("readyReplicas", 0))


def _desired(spec: Object, _: Object) -> Iterator[Sample]:
    return _number(spec.get("replicas"))


def _read_replica_count(field: str) -> Callable[[Object, Object], Iterator[Sample]]:
    def read(_: Object, status: Object) -> Iterator[Sample]:
        return _number(_map(status.get("readReplicas")).get(f"{field}Replicas"))

    return read


FAMILIES: Final = (
    Family("openbao_cluster_phase", "1 for the current phase of a cluster.", _phase, ("phase",)),
    Family("openbao_cluster_ready_replicas", "Servers that are ready.", _ready),
    Family("openbao_cluster_desired_replicas", "Servers that the spec requests.", _desired),
    Family(
        "openbao_cluster_condition",
        "1 for the current status of a condition.",
        _conditions,
        ("type", "status"),
    ),
    Family(
        "openbao_cluster_operation",
        "1 for the current operation of a cluster; no series without an operation.",
        _operation,
        ("kind",),
    ),
    *(
        Family(
            f"openbao_cluster_read_replicas_{field}",
            f"Read replicas: {field}.",
            _read_replica_count(field),
        )
        for field in _READ_REPLICAS
    ),
)
EXPIRY: Final = "openbao_tls_cert_expiry_timestamp"
EXPIRY_MEANING: Final = "Expiry of the server certificate as a Unix timestamp, by spec.tls.mode."
ROTATIONS: Final = "openbao_tls_rotation_total"
ROTATIONS_MEANING: Final = "Replacements of the server certificate; the first one is not counted."
LEADER_CHANGES: Final = "openbao_cluster_leader_changes_total"
LEADER_CHANGES_MEANING: Final = "Observed changes of the leader."
# Phase, two numbers, conditions, an operation, read replicas, one certificate, two counters.
SERIES_PER_CLUSTER: Final = 1 + 2 + len(REPORTED_CONDITIONS) + 1 + len(_READ_REPLICAS) + 1 + 2


@dataclass(frozen=True, slots=True)
class _Certificate:
    """A server certificate, and the spec.tls.mode of its cluster."""

    fingerprint: str
    expiry: datetime
    mode: str


@dataclass(slots=True)
class _Previous:
    """The values of the last reconcile of a cluster."""

    fingerprint: str = ""
    """Fingerprint of the last certificate that was read; "" for none."""
    certificate: _Certificate | None = None
    """None if none was read."""
    leader: str = ""
    """Name of the last leader; "" for none."""


class ClusterMetrics:
    """The families of all clusters that this process reconciles."""

    def __init__(
        self,
        metrics: Metrics,
        clusters: Lister,
        secrets: SecretStore[SecretReading],
    ) -> None:
        self._clusters = clusters
        self._secrets = secrets
        self._previous: dict[ObjectKey, _Previous] = {}
        for family in FAMILIES:
            metrics.read_gauge(
                family.name, family.meaning, (*ABOUT, *family.labels), self._reader(family)
            )
        metrics.read_gauge(EXPIRY, EXPIRY_MEANING, (*ABOUT, "type"), self._expiries)
        self._rotations = metrics.object_counter(ROTATIONS, ROTATIONS_MEANING)
        self._changes = metrics.object_counter(LEADER_CHANGES, LEADER_CHANGES_MEANING)

    def record(self, key: ObjectKey) -> None:
        """Count what changed since the last reconcile of that cluster."""
        live = self._clusters.get(key)
        if live is None:
            self._previous.pop(key, None)
            self._rotations.forget(key)
            self._changes.forget(key)
            return
        previous = self._previous.get(key)
        if previous is None:
            previous = self._previous[key] = _Previous()
            self._rotations.start(key)
            self._changes.start(key)
        leader = _map(live.get("status")).get("activeLeader")
        if isinstance(leader, str) and leader not in ("", previous.leader):
            if previous.leader:
                self._changes.inc(key)
            previous.leader = leader
        certificate = previous.certificate = self._certificate(live)
        if certificate is not None and certificate.fingerprint != previous.fingerprint:
            if previous.fingerprint:
                self._rotations.inc(key)
            previous.fingerprint = certificate.fingerprint

    def _reader(self, family: Family) -> Callable[[], Iterator[Reading]]:
        def read() -> Iterator[Reading]:
            for live in self._clusters.list():
                key = key_of(live)
                for labels, value in family.read(_map(live.get("spec")), _map(live.get("status"))):
                    yield (*key, *labels), value

        return read

    def _expiries(self) -> Iterator[Reading]:
        # Only a reconcile reads Secrets. To parse every spec here would block the event loop.
        for key, previous in self._previous.items():
            certificate = previous.certificate
            if certificate is not None and self._clusters.get(key) is not None:
                yield (*key, certificate.mode), certificate.expiry.timestamp()

    def _certificate(self, live: Object) -> _Certificate | None:
        """Return the server certificate as last read; None if it is unread."""
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            return None
        secret = tls_names.server_secret(cluster)
        if secret is None:
            return None
        reading = self._secrets.last_facts(ObjectKey(cluster.metadata.namespace, secret))
        certificate = reading.content.certificate if reading is not None else None
        if certificate is None:
            return None
        return _Certificate(certificate.fingerprint, certificate.not_after, cluster.spec.tls.mode)


def count_reconciles(reconcile: Reconciler, metrics: ClusterMetrics) -> Reconciler:
    """Wrap a reconciler so that each reconcile is counted, whatever its outcome."""

    async def count(request: Request, /) -> Outcome:
        try:
            return await reconcile(request)
        finally:
            metrics.record(request)

    return count
