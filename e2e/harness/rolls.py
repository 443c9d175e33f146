"""Rollouts: all pods of a cluster are replaced, one at a time, the leader last."""

from e2e.demo.objects import name_of
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.kubernetes import Object
from e2e.harness.upgrades import change
from e2e.harness.waiting import Stopwatch, until
from runtime.types import is_terminating, uid_of

ROLL_SECONDS = 240.0


def roll(cluster: Cluster, spec: Object) -> list[str]:
    """Change the spec, check that pods are replaced one at a time; return their names in order."""
    old = {uid_of(pod): name_of(pod) for pod in cluster.pods()}
    left, order, led = dict(old), list[str](), {leader_of(cluster)}
    watch = Stopwatch()
    change(cluster, spec)

    def all_new() -> bool:
        pods = cluster.pods()
        led.add(leader_of(cluster))
        assert sum(is_ready(pod) for pod in pods) >= 2, [name_of(pod) for pod in pods]
        assert sum(is_terminating(pod) for pod in pods) <= 1
        there = {uid_of(pod) for pod in pods if not is_terminating(pod)}
        order.extend(left.pop(uid) for uid in [uid for uid in left if uid not in there])
        return not left and len(ready_uids(cluster)) == 3

    first_leader = leader_of(cluster)
    until("all pods are new", all_new, ROLL_SECONDS, every=0.1)
    print(f"  {watch.seconds:.1f} s: all pods are new")
    assert sorted(order) == sorted(old.values())
    assert order[-1] == first_leader, (order, first_leader)
    assert len(led - {None}) >= 2
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return order


def log_of(cluster: Cluster, pod: str) -> str:
    """Return the log of the server in a pod."""
    return cluster.api.rig.kubectl("-n", cluster.namespace, "logs", pod, "-c", "openbao")


def leader_of(cluster: Cluster) -> str | None:
    """Return the name of the pod that is labeled as the leader."""
    leader = cluster.leader()
    return None if leader is None else name_of(leader)


def ready_uids(cluster: Cluster) -> set[str]:
    """Return the UIDs of the ready pods."""
    return {uid_of(pod) for pod in cluster.ready_pods()}
