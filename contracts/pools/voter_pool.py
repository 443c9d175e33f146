"""The pools of servers: the names and labels that distinguish one StatefulSet from another.

Uses contracts.naming.names, contracts.naming.revisions and contracts.naming.labels. Called by
all code that names a server, its volume or their StatefulSet, so that no other line decides which
pool serves.

A cluster starts with a pool without a revision: StatefulSet `<cluster>`, pods `<cluster>-<n>`. A
blue/green upgrade leaves it with a pool that has one: `<cluster>-<revision>`, and its pods carry
the label openbao.org/revision. The read replicas are one pool, whichever voters they follow. No
name of one is a name of another, nor of another cluster's
(docs/adr/20261122-sets-of-voters.md).
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
NO_WAY_BACK: Final = "Cleanup"
"""Phase of a blue/green upgrade in which green serves, and blue is removed."""

_REVISION = re.compile(f"[0-9a-f]{{{REVISION_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class ServerPool:
    """One StatefulSet of servers of a cluster.

    `revision` is "" for the voters without one and for read replicas, else 16 hexadecimal digits;
    anything else raises ValueError, as every name here does when that of the cluster is none.
    """

    cluster: str
    revision: str = ""
    reads: bool = False
    """Its servers are the read replicas."""

    def __post_init__(self) -> None:
        """Refuse a revision that no name can be made of."""
        if self.revision and _REVISION.fullmatch(self.revision) is None:
            raise ValueError(f"not a revision: {self.revision[:80]!r}")

    @property
    def size_max(self) -> int:
        """As many servers as a spec may ask for."""
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
        """The DNS name of a pod, through the one headless Service of the cluster."""
        service = names.headless_service(self.cluster)
        return f"{self.pod(ordinal)}.{names.service_dns(service, namespace)}"

    def ordinal_of(self, pod_name: str) -> int | None:
        """The ordinal in a pod's name; None when the pod is not one of this pool."""
        return names.ordinal_in(self.stateful_set, pod_name)

    def claim_ordinal_of(self, claim_name: str) -> int | None:
        """The ordinal in a data claim's name; None when the claim is not one of this pool."""
        return names.claim_ordinal_in(self.stateful_set, claim_name)

    @property
    def selector(self) -> labels.Labels:
        """The selector of the pods.

        That of the pool without a revision takes in the voters of any: a StatefulSet keeps to the
        pods that it made, and its selector can never be changed.
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
    """Whether the status names a green pool, created already or not."""
    status = cluster.status.blue_green
    return status is not None and bool(status.green_revision)


def serving_pool(cluster: OpenBaoCluster) -> ServerPool:
    """Return the pool that counts as the cluster; if the status names none, the first one.

    During a blue/green upgrade this is blue, as long as a rollback to it is possible.
    """
    return voter_pools(cluster)[0]


def voter_pools(cluster: OpenBaoCluster) -> tuple[ServerPool, ...]:
    """Return every pool that a cluster may have now: the one that serves, then the other one."""
    status = cluster.status.blue_green
    if status is None:
        return _first_alone(cluster.metadata.name)
    blue, green = (
        _named(cluster, revision) for revision in (status.blue_revision, status.green_revision)
    )
    if green.revision in ("", blue.revision):
        return (blue,)
    return (green, blue) if status.phase == NO_WAY_BACK else (blue, green)


# A pass asks many times, and hardly any cluster has another answer.
@lru_cache(maxsize=32)
def _first_alone(cluster: str) -> tuple[ServerPool, ...]:
    return (ServerPool(cluster),)


def _named(cluster: OpenBaoCluster, revision: str | None) -> ServerPool:
    """The status is untrusted: what is no revision names no pool."""
    is_revision = revision is not None and _REVISION.fullmatch(revision) is not None
    return ServerPool(cluster.metadata.name, revision if is_revision and revision else "")
