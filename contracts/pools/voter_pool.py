"""The pools of servers: the names and labels of each StatefulSet.

Uses contracts.naming.names, contracts.naming.revisions and contracts.naming.labels. Called by all
code that names a server, its volume or its StatefulSet. Only this module decides which pool serves.

A cluster starts with a pool without a revision: StatefulSet `<cluster>`, pods `<cluster>-<n>`.
After a blue/green upgrade its pool has a revision: StatefulSet `<cluster>-<revision>`, and its pods
have the label openbao.org/revision. The read replicas are one pool, independent of the voters.
The names of all pools of all clusters are unique (docs/adr/20261122-sets-of-voters.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from contracts.api.cluster.read_replicas import READ_REPLICAS_MAX
from contracts.api.cluster.spec import VOTERS_MAX, OpenBaoCluster
from contracts.naming import labels, names, revisions

REVISION_DIGITS = 16
CLEANUP_PHASE: Final = "Cleanup"
"""Phase of a blue/green upgrade in which green serves, and blue is removed."""

_REVISION = re.compile(f"[0-9a-f]{{{REVISION_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class ServerPool:
    """One StatefulSet of servers of a cluster.

    `revision` is "" for voters without a revision and for read replicas, else 16 hexadecimal
    digits. Raises ValueError for another revision; every name here raises it for an invalid name of
    a cluster.
    """

    cluster: str
    revision: str = ""
    reads: bool = False
    """Its servers are the read replicas."""

    def __post_init__(self) -> None:
        """Validate the revision."""
        if self.revision and _REVISION.fullmatch(self.revision) is None:
            raise ValueError(f"not a revision: {self.revision[:80]!r}")

    @property
    def size_max(self) -> int:
        """The maximum number of servers in a spec."""
        return READ_REPLICAS_MAX if self.reads else VOTERS_MAX

    @property
    def stateful_set(self) -> str:
        """The StatefulSet."""
        if self.reads:
            return names.read_stateful_set(self.cluster)
        return revisions.server_stateful_set(self.cluster, self.revision)

    @property
    def config_map(self) -> str:
        """The ConfigMap with config.hcl."""
        if self.reads:
            return names.read_config_map(self.cluster)
        if not self.revision:
            return names.config_map(self.cluster)
        return f"{self.stateful_set}-config"

    def pod(self, ordinal: int) -> str:
        """Pod number `ordinal` (from 0), which is also the raft node id."""
        if self.reads:
            return names.read_pod(self.cluster, ordinal)
        return revisions.server_pod(self.cluster, self.revision, ordinal)

    def data_claim(self, ordinal: int) -> str:
        """The PersistentVolumeClaim of pod number `ordinal`."""
        return names.claim_of_pod(self.pod(ordinal))

    def pod_dns(self, namespace: str, ordinal: int) -> str:
        """The DNS name of a pod, by the headless Service of the cluster."""
        service = names.headless_service(self.cluster)
        return f"{self.pod(ordinal)}.{names.service_dns(service, namespace)}"

    def ordinal_of(self, pod_name: str) -> int | None:
        """The ordinal in the name of a pod; None if the pod is not in this pool."""
        return names.ordinal_in(self.stateful_set, pod_name)

    def claim_ordinal_of(self, claim_name: str) -> int | None:
        """The ordinal in the name of a data PVC; None if the PVC is not in this pool."""
        return names.claim_ordinal_in(self.stateful_set, claim_name)

    @property
    def selector(self) -> labels.Labels:
        """The selector of the pods.

        The selector of the pool without a revision matches the voters of all pools: it is
        immutable, and a StatefulSet only manages the pods that it created.
        """
        if self.reads:
            return labels.read_replicas(self.cluster)
        return labels.of_revision(labels.voters(self.cluster), self.revision)

    @property
    def pod_labels(self) -> labels.Labels:
        """The labels of a pod; a superset of the selector."""
        if self.reads:
            return labels.read_pod(self.cluster)
        return labels.of_revision(labels.server_pod(self.cluster), self.revision)


def takes_over(cluster: OpenBaoCluster) -> bool:
    """Return whether the status names a green pool, even if it does not exist yet."""
    status = cluster.status.blue_green
    return status is not None and bool(status.green_revision)


def serving_pool(cluster: OpenBaoCluster) -> ServerPool:
    """Return the serving pool; if the status names none, the pool without a revision.

    During a blue/green upgrade this is blue while a rollback to blue is possible.
    """
    return voter_pools(cluster)[0]


def voter_pools(cluster: OpenBaoCluster) -> tuple[ServerPool, ...]:
    """Return the pools that a cluster may have now: the serving pool, then the other one."""
    status = cluster.status.blue_green
    if status is None:
        return _first_alone(cluster.metadata.name)
    blue, green = (
        _pool_of_revision(cluster, revision)
        for revision in (status.blue_revision, status.green_revision)
    )
    if green.revision in ("", blue.revision):
        return (blue,)
    return (green, blue) if status.phase == CLEANUP_PHASE else (blue, green)


# A reconcile calls it many times, and most clusters have only this pool.
@lru_cache(maxsize=32)
def _first_alone(cluster: str) -> tuple[ServerPool, ...]:
    return (ServerPool(cluster),)


def _pool_of_revision(cluster: OpenBaoCluster, revision: str | None) -> ServerPool:
    """Return the pool of a revision of the untrusted status; an invalid one counts as none."""
    is_revision = revision is not None and _REVISION.fullmatch(revision) is not None
    return ServerPool(cluster.metadata.name, revision if is_revision and revision else "")
