"""The effective names of spec.fencedPods: those of servers of the serving pool.

Uses contracts.pools.voter_pool. A blue/green upgrade changes the names of the servers, and a fence
of a former server must not block a rollout or count as an absent server. During such an upgrade no
pod is fenced.
"""

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.voter_pool import serving_pool, takes_over


def fenced_servers(cluster: OpenBaoCluster) -> tuple[str, ...]:
    """Return the names of servers of the serving pool, in their order."""
    fenced = cluster.spec.fenced_pods
    if not fenced:
        return ()
    serving = serving_pool(cluster)
    return tuple(name for name in fenced if serving.ordinal_of(name) is not None)


def effective_fences(cluster: OpenBaoCluster) -> tuple[str, ...]:
    """Return the names of the pods to fence now."""
    return () if takes_over(cluster) else fenced_servers(cluster)


def with_effective_fences(cluster: OpenBaoCluster) -> OpenBaoCluster:
    """Return the cluster with only these names in its spec; the same object if nothing changes."""
    fences = effective_fences(cluster)
    if fences == cluster.spec.fenced_pods:
        return cluster
    spec = cluster.spec.model_copy(update={"fenced_pods": fences})
    return cluster.model_copy(update={"spec": spec})
