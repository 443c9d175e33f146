"""docs/day-2.md, "Recovery by hand": a snapshot is restored while the cluster is paused."""

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import PORT
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.pauses import pause, resume
from e2e.harness.upgrades import Requests
from e2e.harness.waiting import throughout
from e2e.rig import images
from e2e.rig.versions import OPENBAO
from runtime.builtin_kinds import SECRET

NAME = "byhand"
KEPT, LATER = "value=kept", "value=later"


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """One server whose root token is in a Secret."""
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, NAME))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available(120.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


@pytest.fixture(scope="module")
def environment(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables that the page exports."""
    api, home = cluster.api, cluster.namespace
    authority = tmp_path_factory.mktemp("authority") / "ca.crt"
    secret = api.get(SECRET, home, names.tls_ca_secret(NAME))["data"]["ca.crt"]
    authority.write_bytes(base64.b64decode(secret))
    token = api.get(SECRET, home, names.root_token_secret(NAME))["data"]["token"]
    leader = cluster.leader()
    assert leader is not None
    return {
        "BAO_ADDR": f"https://{leader['status']['podIP']}:{PORT}",
        "BAO_CACERT": str(authority),
        "BAO_TLS_SERVER_NAME": names.raft_server_name(NAME),
        "BAO_TOKEN": base64.b64decode(token).decode(),
    }


@pytest.mark.timeout(400)
def test_a_snapshot_is_restored_manually_during_a_pause(
    cluster: Cluster, requests: Requests, environment: Mapping[str, str], tmp_path: Path
) -> None:
    file = str(tmp_path / "by-hand.snap")

    def bao(*words: str) -> str:
        return run_bao(cluster, environment, *words)

    bao("secrets", "enable", "-path=secret", "-version=1", "kv")
    bao("kv", "put", "secret/one", KEPT)
    bao("operator", "raft", "snapshot", "save", file)
    bao("kv", "put", "secret/one", LATER)
    requests.settle(cluster)
    pods = cluster.pod_uids()

    held = pause(cluster, requests)
    cluster.await_condition("Paused", "True", seconds=10.0)
    bao("operator", "raft", "snapshot", "restore", file)
    throughout(
        "the operator replaces no pod",
        lambda: cluster.pod_uids() == pods,
        5.0,
    )
    assert not (writes := held.writes()), "\n".join(map(str, writes))
    assert "kept" in bao("kv", "get", "-field=value", "secret/one")
    resume(cluster)
    requests.settle(cluster)
    assert "kept" in bao("kv", "get", "-field=value", "secret/one")
    assert len(cluster.cluster_ids()) == 1


def run_bao(cluster: Cluster, environment: Mapping[str, str], *words: str) -> str:
    """Run the command line of OpenBao in the network of the pods."""
    rig = cluster.api.rig
    binary = images.openbao_binary(rig.cache, OPENBAO, rig.progress)
    done = subprocess.run(
        rig.inside(str(binary), *words),
        env={**os.environ, **environment, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    assert done.returncode == 0, f"bao {' '.join(words)}: {done.stderr.strip()}"
    return done.stdout
