"""A first boot whose self-init failed: found on the pod, and remembered in the status. Pure.

Called by `managers.cluster.resolve.resolve` and `managers.cluster.status.cluster_status`. Nothing
in a volume shows whether all requests of the self-init ran, and a pod that replaces the first one
has no restarts: so the finding stands until the volume is another one.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import FailedFirstBoot
from contracts.naming import labels
from contracts.pools.voter_pool import serving_pool
from contracts.records.container_history import ContainerExit
from contracts.records.observed import Observed, PodFacts
from runtime.outcome import Blocked

# Last lines of the log of a server whose self-init fails, and of each later start from OpenBao
# 2.5.3 on (openbao pull request 2908): command/server.go.
_MESSAGES = ("failed to initialize", "self-initialization failed")


def failed_first_boot(cluster: OpenBaoCluster, observed: Observed) -> FailedFirstBoot | None:
    """Return the failed first boot of the present volume; None when there is none.

    Before OpenBao 2.5.3 the second start skips the remaining requests and becomes ready, so being
    ready after a restart no longer proves that all of them ran. So does a newer server whose first
    start failed after the initialization, as with an audit device that is not reachable.
    """
    if cluster.status.initialized:
        return None
    pool = serving_pool(cluster)
    volumes = {claim.name: claim.uid for claim in observed.claims}
    if observed.stateful_set is not None and observed.stateful_set.first_boot:
        for pod in observed.pods:
            # "" when the cache of the volumes is behind that of the pods.
            volume = volumes.get(pool.data_claim(pod.ordinal), "")
            if pod.last_exit is not None and _failed(pod.last_exit, pod):
                return FailedFirstBoot(
                    pod=pod.name, volume_uid=volume, exit_code=pod.last_exit.code
                )
    recorded = cluster.status.failed_first_boot
    stands = recorded is not None and recorded.volume_uid in volumes.values()
    return recorded if stands else None


def self_init_failed(cluster: OpenBaoCluster, observed: Observed) -> Blocked | None:
    """Block a cluster whose first boot failed; nothing more is created for it."""
    failed = failed_first_boot(cluster, observed)
    if failed is None:
        return None
    pool = serving_pool(cluster)
    volume = pool.data_claim(pool.ordinal_of(failed.pod) or 0)
    namespace = cluster.metadata.namespace
    return Blocked(
        "SelfInitFailed",
        f"{failed.pod} ended with code {failed.exit_code} before it was initialised, so its "
        f"requests may be incomplete: read `kubectl -n {namespace} logs {failed.pod} --previous`, "
        "correct the cause, then start again with an empty volume: `kubectl -n "
        f"{namespace} annotate pvc {volume} {labels.MAINTENANCE}=true`, `kubectl -n {namespace} "
        f"delete pvc {volume} --wait=false`, `kubectl -n {namespace} delete pod {failed.pod}`. The "
        "volume holds no data of users yet. Deleting the pod alone repairs nothing",
    )


def _failed(last_exit: ContainerExit, pod: PodFacts) -> bool:
    if pod.ready:
        return bool(pod.restarts)
    return last_exit.code != 0 and any(one in last_exit.message for one in _MESSAGES)
