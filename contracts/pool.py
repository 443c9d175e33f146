"""The two sets of servers of a cluster: what tells the objects of one from those of the other.

Uses contracts.labels and contracts.names. Called by the builders of pods and StatefulSets.
"""

from collections.abc import Callable
from dataclasses import dataclass

from contracts import labels, names


@dataclass(frozen=True, slots=True)
class Pool:
    """One set of servers. Every function takes the name of the cluster."""

    stateful_set: Callable[[str], str]
    config_map: Callable[[str], str]
    selector: Callable[[str], labels.Labels]
    pod_labels: Callable[[str], labels.Labels]
    """A superset of the selector."""


VOTERS = Pool(names.stateful_set, names.config_map, labels.voters, labels.server_pod)
READ_REPLICAS = Pool(
    names.read_stateful_set, names.read_config_map, labels.read_replicas, labels.read_pod
)
