"""Runs blue/green upgrades, and inspects the pools.

For clusters with strategy BlueGreen. The recorded events are evaluated by e2e.harness.two_pools.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen_phases import DEMOTING, IDLE
from e2e.demo.objects import Object, name_of, status_of
from e2e.harness.audit import tally
from e2e.harness.clusters import Cluster
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.two_pools import SERVICES, VIEWS, TwoPools, blue_green
from e2e.harness.upgrade_history import Figures
from e2e.harness.upgrades import Record, Requests, record_events
from e2e.harness.waiting import ExpectationError, until
from e2e.rig.versions import OPERATOR_IMAGE
from runtime.builtin_kinds import EVENT, PVC, STATEFUL_SET

PHASE_SECONDS = 90.0


def with_blue_green(**settings: object) -> Object:
    """Return spec.upgrade for strategy BlueGreen with these settings."""
    return {"strategy": "BlueGreen", "blueGreen": settings}


@dataclass(slots=True)
class Takeover:
    """One or several blue/green upgrades, during its context."""

    record: Record
    _services: list[Object]

    @property
    def cluster(self) -> Cluster:
        """The cluster of the servers."""
        return self.record.cluster

    @property
    def pools(self) -> TwoPools:
        """The events so far."""
        return TwoPools(self.record.history, self._services)

    def await_phase(self, phase: str, seconds: float = PHASE_SECONDS) -> Object:
        """Wait until an upgrade is in a phase and return status.blueGreen."""

        def there() -> Object | None:
            live_status = blue_green(self.cluster.live())
            return live_status if (live_status.get("phase") or IDLE) == phase else None

        return self.await_state(f"phase {phase}", there, seconds)

    def await_idle(self, seconds: float = PHASE_SECONDS) -> Object:
        """Wait until no upgrade is in progress and the lock is free; return the cluster."""

        def over() -> Object | None:
            live = self.cluster.live()
            free = "operationLock" not in status_of(live)
            return live if free and is_idle(self.cluster) else None

        return self.await_state("the upgrade has ended", over, seconds)

    def await_state(self, what: str, look: Callable[[], Object | None], seconds: float) -> Object:
        """Wait for a state, and for its events; a failure has all recorded events."""
        try:
            result = until(what, look, seconds)
            self.record.catch_up()
            return result
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None

    def describe(self) -> str:
        """Return the progress, for the message of a failure."""
        phases = [phase.name for phase in self.pools.phases()]
        return f"  phases: {phases}, {self.pools.timeline()}\n{self.record.describe()}"


@contextmanager
def taking_over(cluster: Cluster) -> Iterator[Takeover]:
    """Watch all objects of a blue/green upgrade until the end of the context."""
    with record_events(cluster, *VIEWS) as record:
        yield Takeover(record, record.alive(SERVICES))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an upgrade under load, and the recorded events."""

    figures: Figures
    pools: TwoPools


def await_cost(
    takeover: Takeover, writer: ServiceWriter, requests: Requests, mark: int, title: str
) -> Cost:
    """Wait until the version of the spec is reached and writes have stopped; print the cost."""
    cluster = takeover.cluster
    version = str(cluster.live()["spec"]["version"])
    try:
        seconds = takeover.record.await_finished(version)
    except ExpectationError as error:
        raise ExpectationError(f"{error}\n{takeover.describe()}") from None
    entries = requests.since(mark)
    requests.settle(cluster)
    pools = takeover.pools
    figures = Figures(
        title, seconds, len(writer.writes), len(writer.failed), writer.longest_gap, len(entries)
    )
    print(f"\n  {title}: {seconds:.1f} s: {pools.timeline()}\n  {writer.describe()}")
    print(f"  {len(entries)} requests: {tally(entries)}")
    return Cost(figures, pools)


def serving_pool(cluster: Cluster) -> ServerPool:
    """Return the serving pool, from the status."""
    return ServerPool(cluster.name, blue_green(cluster.live()).get("blueRevision", ""))


def green_pool(cluster: Cluster) -> ServerPool:
    """Return the green pool, from the status."""
    return ServerPool(cluster.name, blue_green(cluster.live())["greenRevision"])


def members(cluster: Cluster) -> dict[str, bool]:
    """Return the raft peers, and whether each is a voter, as reported by the leader."""
    leader = until("a server leads", cluster.leader, 20.0)
    pod = name_of(leader)
    peers = cluster.server(pod).members(cluster.operator_token(pod))
    return {str(member["node_id"]): bool(member["voter"]) for member in peers}


def pod_names(servers: ServerPool, size: int) -> set[str]:
    """Return the names of the pods of a pool."""
    return {servers.pod(ordinal) for ordinal in range(size)}


def stateful_sets(cluster: Cluster) -> set[str]:
    """Return the names of the StatefulSets of voters."""
    selector = labels.selector_text(labels.base(cluster.name))
    sets = cluster.api.list(STATEFUL_SET, cluster.namespace, selector)
    pools = (
        (stateful_set["spec"]["selector"]["matchLabels"], name_of(stateful_set))
        for stateful_set in sets
    )
    return {name for chosen, name in pools if labels.voters(cluster.name).items() <= chosen.items()}


def claims_of(cluster: Cluster, servers: ServerPool) -> set[str]:
    """Return the names of the existing data PVCs of a pool."""
    pvcs = map(name_of, cluster.api.list(PVC, cluster.namespace))
    return {name for name in pvcs if servers.claim_ordinal_of(name) is not None}


def events(cluster: Cluster, reason: str) -> list[str]:
    """Return the notes of the events of the cluster with this reason."""
    live_events = cluster.api.list(EVENT, cluster.namespace)
    return [str(event["note"]) for event in live_events if event["reason"] == reason]


def is_idle(cluster: Cluster) -> bool:
    """Whether no blue/green upgrade is in progress."""
    upgrade = blue_green(cluster.live())
    return upgrade.get("phase", IDLE) == IDLE and not upgrade.get("greenRevision")


def blue_before_cleanup(cluster: Cluster) -> Object | None:
    """Return status.blueGreen while green leads and blue is kept."""
    upgrade = blue_green(cluster.live())
    return upgrade if upgrade.get("phase") == DEMOTING and upgrade.get("completedJob") else None


def hook(code: int, seconds: float = 0.0) -> Object:
    """Return a hook that exits with a code after a delay, with an image that the node has."""
    script = f"import sys, time; time.sleep({seconds}); print('judged'); sys.exit({code})"
    command = ["python3", "-c", script]
    return {"image": OPERATOR_IMAGE, "command": command, "timeoutSeconds": 60}
