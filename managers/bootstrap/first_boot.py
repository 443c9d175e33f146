"""Detects in the pod that the self-init of the first boot failed, for a record in the status. Pure.

Called by `managers.cluster.resolve.resolve` and `managers.cluster.status.cluster_status`. A volume
does not show whether all requests of the self-init ran, and a new pod with the same volume has no
restarts. So the record stays in the status until the volume is replaced.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import FailedFirstBoot
from contracts.naming import labels
from contracts.pools.voter_pool import serving_pool
from contracts.records.container_history import ContainerExit
from contracts.records.observed import Observed, PodFacts
from runtime.outcome import Blocked

# The last lines that a server logs when its self-init fails, and since OpenBao 2.5.3 at each later
# start (openbao pull request 2908): command/server.go.
_MESSAGES = ("failed to initialize", "self-initialization failed")


def failed_first_boot(cluster: OpenBaoCluster, observed: Observed) -> FailedFirstBoot | None:
    """Return the failed first boot of the current volume; None if there is none.

    Before OpenBao 2.5.3 the second start skips the remaining requests and the server becomes ready,
    so a server that is ready after a restart may have skipped requests. A newer server does the
    same if its first start failed after the initialization, for example because of an unreachable
    audit device.
    """
    if cluster.status.initialized:
        return None
    pool = serving_pool(cluster)
    volumes = {claim.name: claim.uid for claim in observed.claims}
    if observed.stateful_set is not None and observed.stateful_set.first_boot:
        for pod in observed.pods:
            # "" if the cache of the PVCs is behind that of the pods.
            volume = volumes.get(pool.data_claim(pod.ordinal), "")
            if pod.last_exit is not None and _failed(pod.last_exit, pod):
                return FailedFirstBoot(
                    pod=pod.name, volume_uid=volume, exit_code=pod.last_exit.code
                )
    recorded = cluster.status.failed_first_boot
    same_volume = recorded is not None and recorded.volume_uid in volumes.values()
    return recorded if same_volume else None


def self_init_failed(cluster: OpenBaoCluster, observed: Observed) -> Blocked | None:
    """Block a cluster whose first boot failed; then the plan creates no more objects."""
    failed = failed_first_boot(cluster, observed)
    if failed is None:
        return None
    pool = serving_pool(cluster)
    volume = pool.data_claim(pool.ordinal_of(failed.pod) or 0)
    namespace = cluster.metadata.namespace
    return Blocked(
        "SelfInitFailed",
        f"{failed.pod} exited with code {failed.exit_code} before it was initialized, so the "
        "self-init requests may be incomplete: read the log (`kubectl -n "
        f"{namespace} logs {failed.pod} --previous`), "
        "correct the failed request, then start again with an empty volume: `kubectl -n "
        f"{namespace} annotate pvc {volume} {labels.MAINTENANCE}=true`, `kubectl -n {namespace} "
        f"delete pvc {volume} --wait=false`, `kubectl -n {namespace} delete pod {failed.pod}`. The "
        "volume contains no user data yet. It is not enough to delete only the pod",
    )


def _failed(last_exit: ContainerExit, pod: PodFacts) -> bool:
    if pod.ready:
        return bool(pod.restarts)
    return last_exit.code != 0 and any(message in last_exit.message for message in _MESSAGES)
