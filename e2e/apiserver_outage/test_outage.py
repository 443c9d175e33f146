"""The API server is stopped while the operator runs; after its return there is drift to repair."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.types import uid_of

AWAY_SECONDS = 40.0
CATCHES_UP_WITHIN = 30.0


@contextmanager
def without_api_server(rig: Rig) -> Iterator[None]:
    """Stop the API server for the block; at the end start it, and wait until it is ready."""
    rig.stop("kube-apiserver")
    try:
        yield
    finally:
        rig.start("kube-apiserver")
        rig.wait_api()


@pytest.mark.timeout(400)
def test_the_operator_survives_an_outage_and_repairs_drift(
    rig: Rig, api: Api, launcher: Launcher, controller: Identity, namespace: str
) -> None:
    # With leader election it would exit, because it cannot renew its Lease.
    operator = launcher.start(controller, NO_ELECTION)
    api.create(CLUSTERS, manifest(namespace, "stays"))
    cluster = Cluster(api, namespace, "stays")
    cluster.await_available()
    (pod,) = cluster.pods()
    server = cluster.server()
    with without_api_server(rig):
        throughout(
            "the operator runs, and the server is unsealed",
            lambda: operator.alive and not server.health()["sealed"],
            AWAY_SECONDS,
            every=1.0,
        )
    watch = Stopwatch()
    config = api.get(CONFIG_MAP, namespace, names.config_map("stays"))
    api.delete(CONFIG_MAP, namespace, names.config_map("stays"))
    api.create(CLUSTERS, manifest(namespace, "later"))

    def is_repaired() -> bool:
        live = api.find(CONFIG_MAP, namespace, names.config_map("stays"))
        return live is not None and uid_of(live) != uid_of(config)

    # Not until the new cluster is Available: kubelet and scheduler need a minute to reconnect.
    until("the deleted ConfigMap is created again", is_repaired, CATCHES_UP_WITHIN)
    created = "the new cluster has its StatefulSet"
    until(created, lambda: api.find(STATEFUL_SET, namespace, "later"), CATCHES_UP_WITHIN)
    print(f"\nrepaired {watch.seconds:.1f} s after the API server was ready")
    assert operator.alive
    (same,) = cluster.pods()
    assert uid_of(same) == uid_of(pod)
    assert same["status"]["containerStatuses"][0]["restartCount"] == 0
