"""The measurements of one mode: a first boot, an idle period, a killed server."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog, Entry, refusals, tally, writes
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from managers.context.reads.served_schemas import DOCUMENT
from runtime.types import uid_of

SETTLED_SECONDS = 5.0
ONCE_PER_PROCESS = frozenset(
    {
        "customresourcedefinitions",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }
)
OWN_KINDS = frozenset({"openbaobackups", "openbaoclusters", "openbaorestores", "openbaotenants"})


@dataclass(frozen=True, slots=True)
class Observer:
    """The rig, and the account whose requests are measured."""

    rig: Rig
    api: Api
    audit: AuditLog
    account: Identity


@dataclass(frozen=True, slots=True)
class BringUp:
    """The time until Available, and the requests until then."""

    seconds: float
    own: float
    """The part of `seconds` in which only the operator had work to do."""
    requests: list[Entry]

    def __str__(self) -> str:
        seconds = f"{self.seconds:.1f} s, {self.own:.1f} of them the operator's"
        return f"{seconds}, {len(self.requests)} requests: {tally(self.requests)}"


def counted_requests(entries: list[Entry]) -> list[Entry]:
    """Omit Leases, watches, and the requests that a process makes once for all clusters."""
    left_out = {"leases", *ONCE_PER_PROCESS}
    return [
        e
        for e in entries
        if e.resource not in left_out and e.verb != "watch" and not e.uri.startswith(DOCUMENT)
    ]


def bring_up(
    observer: Observer, namespace: str, name: str, servers: int
) -> tuple[Cluster, BringUp]:
    """Create a cluster, and wait until it is Available."""
    mark, watch, begin = observer.audit.mark(), Stopwatch(), datetime.now(UTC)
    body = manifest(namespace, name, replicas=servers, selfInit=self_init(key_value_engine()))
    observer.api.create(CLUSTERS, body)
    cluster = Cluster(observer.api, namespace, name)
    cluster.await_available()
    seconds, end = watch.seconds, datetime.now(UTC)
    everything = observer.audit.since(mark)
    requests = counted_requests(
        [entry for entry in everything if entry.user == observer.account.user]
    )
    own = _own_seconds([entry for entry in everything if entry.namespace == namespace], begin, end)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster, BringUp(seconds, own, requests)


def _own_seconds(entries: list[Entry], begin: datetime, end: datetime) -> float:
    """Add up the waits for the operator: first server, other servers, and final status.

    The rest is the time of kubelet and servers, which varies with the machine.
    """
    sizes = [
        _time(entry)
        for entry in entries
        if (entry.verb, entry.resource) == ("patch", "statefulsets")
    ]
    kubelet = [
        _time(entry)
        for entry in entries
        if entry.user.startswith("system:node:")
        and (entry.resource, entry.subresource) == ("pods", "status")
    ]
    first, *others = sizes[:2]

    def wait_seconds(until: datetime) -> float:
        return (until - max(at for at in kubelet if at < until)).total_seconds()

    return (first - begin).total_seconds() + sum(map(wait_seconds, (*others, end)))


def _time(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.at)


def settle(observer: Observer) -> None:
    """Wait until the account writes nothing for SETTLED_SECONDS."""

    def silent() -> bool:
        mark = observer.audit.mark()
        time.sleep(SETTLED_SECONDS)
        return not writes(observer.audit.since(mark, observer.account.user))

    until(f"the operator writes nothing for {SETTLED_SECONDS:g} s", silent, 60.0)


def quiet(observer: Observer, seconds: float) -> list[Entry]:
    """Return all requests of `seconds` without any change."""
    mark = observer.audit.mark()
    time.sleep(seconds)
    return [e for e in observer.audit.since(mark, observer.account.user) if e.resource != "leases"]


def status_delay(observer: Observer, cluster: Cluster) -> tuple[float, float]:
    """Delete the pod of a standby; the node is cordoned until the status reports the loss.

    Returns the delay of the status behind the pods, for the loss and for the return.
    """
    leader = cluster.leader()
    assert leader is not None
    victim = next(pod for pod in cluster.pods() if uid_of(pod) != uid_of(leader))
    name, node = victim["metadata"]["name"], victim["spec"]["nodeName"]
    servers = len(cluster.pods())
    # Otherwise the pod would be ready again between two polls of the operator.
    observer.rig.kubectl("cordon", node)
    try:
        observer.rig.kubectl(
            "-n", cluster.namespace, "delete", "pod", name, "--grace-period=1", "--wait=false"
        )
        lost = _seconds_until_counted(cluster, servers - 1)
    finally:
        observer.rig.kubectl("uncordon", node)
    return lost, _seconds_until_counted(cluster, servers)


def _seconds_until_counted(cluster: Cluster, ready: int) -> float:
    latencies: list[float] = []

    def is_counted() -> bool:
        if not latencies and sum(map(is_ready, cluster.pods())) == ready:
            latencies.append(time.monotonic())
        return bool(latencies) and cluster.live()["status"].get("readyReplicas") == ready

    until(f"the status has readyReplicas {ready}", is_counted, 60.0, every=0.02)
    return time.monotonic() - latencies[0]


def refusals_since(observer: Observer, mark: int) -> str:
    """Return the refused requests since the mark, as lines."""
    return "\n".join(map(str, refusals(observer.audit.since(mark, observer.account.user))))


def watched_kinds(entries: list[Entry]) -> set[str]:
    """Return the kinds that were listed or watched."""
    return {entry.resource for entry in entries if entry.verb in ("list", "watch")}
