"""The two kinds of pools of a cluster, voters and read replicas: how their objects differ.

Uses contracts.pools.voter_pool, contracts.naming.labels and contracts.naming.names. Called by the
builders of pods and StatefulSets.
"""

from collections.abc import Callable
from dataclasses import dataclass

from contracts.naming import labels, names
from contracts.pools.voter_pool import ServerPool


@dataclass(frozen=True, slots=True)
class PoolNaming:
    """One set of servers. Every function takes the set of voters that is meant."""

    stateful_set: Callable[[ServerPool], str]
    config_map: Callable[[ServerPool], str]
    selector: Callable[[ServerPool], labels.Labels]
    pod_labels: Callable[[ServerPool], labels.Labels]
    """A superset of the selector."""


VOTERS = PoolNaming(
    lambda voters: voters.stateful_set,
    lambda voters: voters.config_map,
    lambda voters: voters.selector,
    lambda voters: voters.pod_labels,
)
READ_REPLICAS = PoolNaming(
    lambda voters: names.read_stateful_set(voters.cluster),
    lambda voters: names.read_config_map(voters.cluster),
    lambda voters: labels.read_replicas(voters.cluster),
    lambda voters: labels.read_pod(voters.cluster),
)
"""One set, whichever voters it follows."""
