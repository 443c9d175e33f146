"""The operations of the other tenant, and their durations."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contracts.api.group import CLUSTERS
from e2e.demo import table
from e2e.demo.objects import name_of
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADY, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.rolls import roll
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import POD

SERVERS = 3
SECONDS = 300.0
RESOURCES = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "1", "memory": "512Mi"},
}
RATIO_MAX = 1.5


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """Durations in the life cycle of one cluster, in seconds."""

    first_boot: float
    status: float
    """From the deletion of the leader to a status with another leader."""
    roll: float


def run_operations(api: Api, namespace: str, name: str) -> OperationTimes:
    """Create a cluster of three, delete its leader, restart its servers, and delete it."""
    watch = Stopwatch()
    init = self_init(key_value_engine())
    spec = {"replicas": SERVERS, "selfInit": init, "resources": RESOURCES, "configuration": STEADY}
    api.create(CLUSTERS, manifest(namespace, name, **spec))
    cluster = Cluster(api, namespace, name)
    cluster.await_available(SECONDS)
    first_boot = watch.seconds
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=SECONDS)
    status = _lose_leader(cluster)
    cluster.await_available(SECONDS)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=SECONDS)
    watch = Stopwatch()
    roll(cluster, {"runtime": {"restartAt": "now"}})
    rolled = watch.seconds
    api.delete(CLUSTERS, namespace, name)
    until(f"{name} is gone", lambda: cluster.find() is None, SECONDS)
    return OperationTimes(first_boot, status, rolled)


def _lose_leader(cluster: Cluster) -> float:
    leader = until("a server leads", cluster.leader, SECONDS)
    cluster.api.delete(POD, cluster.namespace, name_of(leader))
    watch = Stopwatch()

    def has_another() -> bool:
        active = cluster.live()["status"].get("activeLeader")
        return bool(active) and active != name_of(leader)

    until("the status has another leader", has_another, SECONDS, every=0.05)
    return watch.seconds


@dataclass(frozen=True, slots=True)
class Comparison:
    """One duration, without and under attack: medians in seconds."""

    what: str
    usual: float
    under_attack: float

    @property
    def ratio(self) -> float:
        """The duration under attack over the usual one."""
        return self.under_attack / self.usual


def compare(
    usual: Sequence[OperationTimes], attacked: Sequence[OperationTimes]
) -> tuple[Comparison, ...]:
    """Compare the medians of all figures."""

    figures: tuple[tuple[str, Callable[[OperationTimes], float]], ...] = (
        ("first boot", lambda pace: pace.first_boot),
        ("status after a lost leader", lambda pace: pace.status),
        ("roll", lambda pace: pace.roll),
    )
    return tuple(
        Comparison(
            what, statistics.median(map(figure, usual)), statistics.median(map(figure, attacked))
        )
        for what, figure in figures
    )


def as_text(figures: Sequence[Comparison]) -> str:
    """Show them as a table."""
    return table.plain(
        ("of the other tenant", "usual", "under attack", "ratio"),
        [
            (
                figure.what,
                f"{figure.usual:.1f} s",
                f"{figure.under_attack:.1f} s",
                f"{figure.ratio:.2f}",
            )
            for figure in figures
        ],
    )
