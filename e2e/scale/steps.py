"""Common steps of the scaling scenarios, and their invariants."""

import threading
from dataclasses import dataclass, field

from contracts.naming import names
from e2e.harness.bao import BaoError
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.kubernetes import Object
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import STATEFUL_SET

STEPS_SECONDS = 120.0


@dataclass(slots=True)
class Rules:
    """Watches, in a thread of its own, that never two servers are missed at a time.

    Of the members that the leader names, at most one may be without a ready pod, as long as no
    new ones are on their way; and a member is never without a pod because that was taken first.
    """

    cluster: Cluster
    broken: list[str] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)
    """Members and ready pods, whenever either changed."""
    looks: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Rules":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(30.0)

    def _run(self) -> None:
        token = ""
        while not self._stop.wait(0.1):
            try:
                token = token or operator_token(self.cluster)
                self._look(token)
            except (BaoError, OSError, KeyError, AssertionError, ValueError):
                token = ""

    def _look(self, token: str) -> None:
        # The members first: a pod may only vanish after its member.
        members = {str(one["node_id"]) for one in members_of(self.cluster, token)}
        pods = {str(pod["metadata"]["name"]): pod for pod in self.cluster.pods()}
        ready = {name for name, pod in pods.items() if is_ready(pod)}
        self.looks += 1
        if self.seen[-1:] != [(len(members), len(ready))]:
            self.seen.append((len(members), len(ready)))
        again = {str(one["node_id"]) for one in members_of(self.cluster, token)}
        bereft = (members & again) - pods.keys()
        if bereft:
            self.broken.append(f"{bereft} are members and have no pod")


def operator_token(cluster: Cluster) -> str:
    """Log in as the operator at the leader."""
    return cluster.operator_token(leading(cluster))


def leading(cluster: Cluster) -> int:
    """Return the ordinal of the leader."""
    leader = until("one server leads", cluster.leader, 30.0)
    ordinal = names.ordinal_of(cluster.name, leader["metadata"]["name"])
    assert ordinal is not None
    return ordinal


def members_of(cluster: Cluster, token: str) -> list[Object]:
    """Ask the leader for the members."""
    return cluster.server(leading(cluster)).members(token)


def scale(cluster: Cluster, replicas: int) -> Stopwatch:
    """Ask for another number, as `kubectl scale` does."""
    kubectl = cluster.api.rig.kubectl
    watch = Stopwatch()
    kubectl(
        "-n", cluster.namespace, "scale", "openbaoclusters.openbao.org", cluster.name,
        f"--replicas={replicas}",
    )  # fmt: skip
    return watch


def await_size(cluster: Cluster, replicas: int, seconds: float = STEPS_SECONDS) -> None:
    """Wait until the cluster has that many servers, and each of them is a voter."""
    cluster.await_available(seconds)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
    assert len(cluster.pods()) == replicas
    members = members_of(cluster, operator_token(cluster))
    assert sorted(one["node_id"] for one in members) == [
        f"{cluster.name}-{n}" for n in range(replicas)
    ]
    assert all(one["voter"] for one in members)


def replicas_of(cluster: Cluster) -> int:
    """Return the number in the StatefulSet."""
    live = cluster.api.get(STATEFUL_SET, cluster.namespace, cluster.name)
    return int(live["spec"]["replicas"])
