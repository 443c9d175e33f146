"""Names of the objects that a blue/green upgrade adds to a cluster.

Uses contracts.naming.names, whose rules apply here too: every function takes the name of the
OpenBaoCluster and raises ValueError for an invalid one.
"""

import hashlib
from functools import lru_cache
from typing import Final

from contracts.naming.names import stateful_set

_HOOK_DIGEST: Final = 12
_LABEL_MAX: Final = 63
# Limit of a label without the hash that Kubernetes adds to the name of a StatefulSet.
_SET_MAX: Final = _LABEL_MAX - 11


def hook_job(cluster: str, identity: str) -> str:
    """The Job that validates green in one upgrade; `identity` is unique for the run of the hook."""
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HOOK_DIGEST]
    start = f"upgrade-{stateful_set(cluster)}-validation-hook"[
        : _LABEL_MAX - _HOOK_DIGEST - 1
    ].rstrip("-")
    return f"{start}-{digest}"


@lru_cache(maxsize=4096)
def server_stateful_set(cluster: str, revision: str = "") -> str:
    """The StatefulSet of the voters of one revision; "" is the pool without a revision.

    Kubernetes writes the name and 11 more characters into a label of the pods, so the name of a
    cluster with a long name contains only a part of the revision.
    """
    if not revision:
        return stateful_set(cluster)
    return f"{stateful_set(cluster)}-{revision}"[:_SET_MAX]


def server_pod(cluster: str, revision: str, ordinal: int) -> str:
    """Pod number `ordinal` (from 0) of one revision, which is also the raft node id."""
    if ordinal < 0:
        raise ValueError(f"ordinal {ordinal}")
    return f"{server_stateful_set(cluster, revision)}-{ordinal}"
