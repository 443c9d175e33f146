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
class Invariants:
    """Checks, in a separate thread, that no pod is removed before its raft member.

    Use as a context manager. `violations` has the members that had no pod.
    """

    cluster: Cluster
    violations: list[str] = field(default_factory=list)
    samples: list[tuple[int, int]] = field(default_factory=list)
    """The numbers of members and of ready pods, at each change of either."""
    checks: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Invariants":
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
                self._check(token)
            except (BaoError, OSError, KeyError, AssertionError, ValueError):
                token = ""

    def _check(self, token: str) -> None:
        # The members before the pods: a pod may only be deleted after its member is removed.
        members = {str(member["node_id"]) for member in members_of(self.cluster, token)}
        pods = {str(pod["metadata"]["name"]): pod for pod in self.cluster.pods()}
        ready = {name for name, pod in pods.items() if is_ready(pod)}
        self.checks += 1
        if self.samples[-1:] != [(len(members), len(ready))]:
            self.samples.append((len(members), len(ready)))
        again = {str(member["node_id"]) for member in members_of(self.cluster, token)}
        without_pod = (members & again) - pods.keys()
        if without_pod:
            self.violations.append(f"{without_pod} are members and have no pod")


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
    """Read the members of the raft cluster from the leader."""
    return cluster.server(leading(cluster)).members(token)


def scale(cluster: Cluster, replicas: int) -> Stopwatch:
    """Change the number of replicas with `kubectl scale`."""
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
    assert sorted(member["node_id"] for member in members) == [
        f"{cluster.name}-{n}" for n in range(replicas)
    ]
    assert all(member["voter"] for member in members)


def replicas_of(cluster: Cluster) -> int:
    """Return the replicas of the StatefulSet."""
    live = cluster.api.get(STATEFUL_SET, cluster.namespace, cluster.name)
    return int(live["spec"]["replicas"])
