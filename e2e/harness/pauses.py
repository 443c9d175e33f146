"""Pauses a cluster, and finds the writes during the pause."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog, Entry
from e2e.harness.clusters import Cluster
from e2e.harness.upgrades import Requests
from e2e.harness.waiting import until

# Requests that were sent before the watch reported the pause cannot be cancelled.
ON_THE_WIRE = timedelta(seconds=0.25)
_STATUSES = frozenset({"openbaoclusters", "openbaobackups", "openbaorestores"})


@dataclass(frozen=True, slots=True)
class Pause:
    """One pause of one cluster, beginning with the response of the API server."""

    cluster: Cluster
    requests: Requests
    mark: int
    began: str
    """When the change arrived at the API server, as the audit log writes times."""

    def writes(self) -> list[Entry]:
        """Return all writes in the namespace during the pause, without status updates."""
        start = str_of(datetime.fromisoformat(self.began) + ON_THE_WIRE)
        return [entry for entry in self._all() if entry.at > start and not _is_word(entry)]

    def status_updates(self) -> list[Entry]:
        """Return the status updates."""
        return [entry for entry in self._all() if _is_word(entry)]

    def _all(self) -> list[Entry]:
        home = self.cluster.namespace
        return [entry for entry in self.requests.writes_since(self.mark) if entry.namespace == home]


def pause(cluster: Cluster, requests: Requests) -> Pause:
    """Pause a cluster."""
    mark = requests.mark()
    change = {"spec": {"paused": True}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)
    began = until(
        "the pause is in the log", lambda: _pause_patched_at(requests.audit, mark, cluster), 10.0
    )
    return Pause(cluster, requests, mark, began)


def resume(cluster: Cluster) -> None:
    """End a pause."""
    change = {"spec": {"paused": False}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


def str_of(moment: datetime) -> str:
    """Format a time as in the audit log: UTC, microseconds, sorts as text."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _pause_patched_at(audit: AuditLog, mark: int, cluster: Cluster) -> str | None:
    for entry in audit.since(mark):
        request = ("patch", "openbaoclusters", "", cluster.namespace, cluster.name)
        if request == (entry.verb, entry.resource, entry.subresource, entry.namespace, entry.name):
            return entry.at
    return None


def _is_word(entry: Entry) -> bool:
    return entry.subresource == "status" and entry.resource in _STATUSES
