"""A cluster with external certificates from the first boot, and with invalid certificates."""

import dataclasses
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness import certificates
from e2e.harness.certificates import SignedCertificate, data, secret
from e2e.harness.clusters import Cluster
from e2e.harness.handshake import served_serial
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from runtime.builtin_kinds import SECRET
from runtime.types import uid_of

NAME = "own"
SERVER_NAME = names.raft_server_name(NAME)


@dataclass(frozen=True, slots=True)
class Pki:
    """A root CA, an intermediate CA, and the server certificate."""

    root: SignedCertificate
    between: SignedCertificate
    served: SignedCertificate

    def files(self) -> dict[str, bytes]:
        """The entries of the server's Secret."""
        return {
            "tls_crt": self.served.pem + self.between.pem,
            "tls_key": self.served.key_pem,
            "ca_crt": self.root.pem,
        }

    def renew(self, *more: str) -> "Pki":
        """The same CA with a new server certificate."""
        return dataclasses.replace(
            self, served=certificates.leaf(self.between, (SERVER_NAME, *more))
        )


def pki() -> Pki:
    root = certificates.authority("Example Root")
    between = certificates.authority("Example Issuing", root)
    return Pki(root, between, certificates.leaf(between, (SERVER_NAME,)))


def lives(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """UID and restarts of each pod."""
    return {
        pod["metadata"]["name"]: (
            uid_of(pod),
            pod["status"]["containerStatuses"][0]["restartCount"],
        )
        for pod in cluster.pods()
    }


def serials(cluster: Cluster) -> set[int]:
    """The serial numbers that the pods serve; empty while one of them does not answer."""
    try:
        return {served_serial(pod["status"]["podIP"], SERVER_NAME) for pod in cluster.pods()}
    except (OSError, KeyError):
        return set()


@pytest.mark.timeout(600)
def test_external_certificates_are_installed_and_invalid_ones_refused(
    api: Api, reloading_operator: Operator, namespace: str
) -> None:
    server_secret, ca_secret = names.tls_server_secret(NAME), names.tls_ca_secret(NAME)
    first = pki()
    nameless = certificates.leaf(first.between, ("bao.example.com",))
    bad = dataclasses.replace(first, served=nameless)
    api.create(SECRET, secret(namespace, ca_secret, ca_crt=first.root.pem))
    api.create(SECRET, secret(namespace, server_secret, **bad.files()))
    init = self_init(key_value_engine())
    body = manifest(namespace, NAME, tls={"mode": "External"}, selfInit=init)
    api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    condition = cluster.await_condition("TLSReady", "False", "TLSSecretInvalid")
    assert SERVER_NAME in condition["message"]
    assert not cluster.pods()

    api.patch(SECRET, namespace, server_secret, {"data": data(**first.files())})
    cluster.await_available()
    cluster.await_condition("TLSReady", "True")
    assert serials(cluster) == {first.served.serial}
    born = lives(cluster)

    # B-27: an invalid certificate is not installed, and no pod is restarted.
    other = certificates.authority("Other Authority")
    stranger = dataclasses.replace(first, served=certificates.leaf(other, (SERVER_NAME,)))
    api.patch(SECRET, namespace, server_secret, {"data": data(**stranger.files())})
    condition = cluster.await_condition("TLSReady", "False", "TLSSecretInvalid")
    assert "Other Authority" in condition["message"]
    assert lives(cluster) == born
    assert serials(cluster) == {first.served.serial}

    newer = first.renew("bao.example.com")
    api.patch(SECRET, namespace, server_secret, {"data": data(**newer.files())})
    until(
        "every pod serves the newer certificate",
        lambda: serials(cluster) == {newer.served.serial},
        180.0,
    )
    cluster.await_condition("TLSReady", "True")
    cluster.await_available()
    assert lives(cluster) == born, "a certificate must be reloaded without a restart"

    live = cluster.secret(server_secret)
    assert live is not None
    assert not live["metadata"].get("ownerReferences")
    assert not live["metadata"].get("annotations")
    api.delete(CLUSTERS, namespace, NAME)
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    for kept in (server_secret, ca_secret):
        assert cluster.secret(kept) is not None, "Secrets of the user must not be deleted"


@pytest.mark.timeout(600)
def test_b12_a_change_of_mode_reaches_running_servers(
    api: Api, reloading_operator: Operator, namespace: str
) -> None:
    init = self_init(key_value_engine())
    api.create(CLUSTERS, manifest(namespace, NAME, replicas=3, selfInit=init))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    (ours,) = serials(cluster)
    born, ids = lives(cluster), cluster.cluster_ids()

    mine = pki()
    api.create(SECRET, secret(namespace, "mine", **mine.files()))
    api.create(SECRET, secret(namespace, "roots", ca_crt=mine.root.pem))
    refs = {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "roots"}}
    body = {"spec": {"tls": {"mode": "External", "external": refs}}}
    api.patch(CLUSTERS, namespace, NAME, body)
    quorum = 2

    def has_moved(serial: int) -> bool:
        assert len(cluster.ready_pods()) >= quorum, "pods must be replaced one at a time"
        return len(cluster.ready_pods()) == 3 and serials(cluster) == {serial}

    until(
        "all servers have the certificate of the user",
        lambda: has_moved(mine.served.serial),
        240.0,
        every=0.3,
    )
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
    now = lives(cluster)
    assert all(now[name] != born[name] for name in born)

    api.patch(CLUSTERS, namespace, NAME, {"spec": {"tls": {"mode": None, "external": None}}})
    until(
        "all servers have the certificate of the operator",
        lambda: has_moved(ours),
        240.0,
        every=0.3,
    )
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
    assert cluster.cluster_ids() == ids
