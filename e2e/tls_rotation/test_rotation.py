"""Renewal and replacement of the CA, under load and without pod restarts."""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from cryptography import x509

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import CommandLine
from e2e.harness.handshake import accepts, served_serial
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from runtime.builtin_kinds import SECRET
from runtime.types import uid_of

NAME = "turn"
SERVER_NAME = names.raft_server_name(NAME)
# The kubelet updates a mounted Secret within its sync period; a rotation of the CA takes three.
RELOADED = 180.0


@dataclass(slots=True)
class Client:
    """A client that connects to every pod and trusts the CA bundle that it last read."""

    cluster: Cluster
    bundle: bytes = b""
    refusals: "list[str]" = field(default_factory=list)
    calls: int = 0

    def read(self) -> None:
        """Read the bundle again, as clients do from time to time."""
        self.bundle = entry(self.cluster, names.tls_ca_secret(NAME), "ca.crt")

    def call(self, addresses: "list[str]") -> None:
        """Do a TLS handshake with all servers."""
        for address in addresses:
            self.calls += 1
            try:
                refused = accepts(address, SERVER_NAME, self.bundle)
            except OSError as error:
                refused = f"{address}: {error}"
            if refused:
                self.refusals.append(refused)


@contextmanager
def connect_repeatedly(client: Client) -> Iterator[None]:
    """Let a client connect repeatedly until the end of the context."""
    end = threading.Event()
    addresses = [pod["status"]["podIP"] for pod in client.cluster.pods()]

    def run() -> None:
        while not end.wait(0.2):
            client.call(addresses)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def entry(cluster: Cluster, secret: str, name: str) -> bytes:
    """Read one entry of a Secret."""
    live = cluster.api.get(SECRET, cluster.namespace, secret)
    return base64.b64decode(live["data"].get(name, ""))


def lives(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """UID and restarts of each pod."""
    return {
        pod["metadata"]["name"]: (
            uid_of(pod),
            pod["status"]["containerStatuses"][0]["restartCount"],
        )
        for pod in cluster.pods()
    }


def wanted_serial(cluster: Cluster) -> int:
    pem = entry(cluster, names.tls_server_secret(NAME), "tls.crt")
    return x509.load_pem_x509_certificate(pem).serial_number


def serials(cluster: Cluster) -> set[int]:
    return {served_serial(pod["status"]["podIP"], SERVER_NAME) for pod in cluster.pods()}


def authorities(cluster: Cluster) -> list[int]:
    pem = entry(cluster, names.tls_ca_secret(NAME), "ca.crt")
    return [certificate.serial_number for certificate in x509.load_pem_x509_certificates(pem)]


@pytest.fixture
def cluster(api: Api, reloading_operator: Operator, namespace: str) -> Cluster:
    """Three servers that are available and all vote."""
    init = self_init(key_value_engine())
    api.create(
        CLUSTERS,
        manifest(namespace, NAME, replicas=3, selfInit=init, tls={"caOverlap": "2s"}),
    )
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


@pytest.mark.timeout(900)
def test_certificates_and_the_ca_are_replaced_without_a_restart(api: Api, cluster: Cluster) -> None:
    born, first = lives(cluster), wanted_serial(cluster)
    assert serials(cluster) == {first}
    client = Client(cluster)
    client.read()

    with connect_repeatedly(client):
        # An additional name: the certificate is reissued, and reloaded without a restart.
        _patch_tls(cluster, extraSANs=["bao.example.com"])
        until("the certificate is issued", lambda: wanted_serial(cluster) != first, 60.0)
        second = wanted_serial(cluster)
        until(
            "the certificate is served",
            lambda: serials(cluster) == {second},
            RELOADED,
            every=0.5,
        )
        cluster.await_condition("TLSReady", reason="Ready")
        cluster.await_available()
        assert lives(cluster) == born

        # The period is shorter than the remaining lifetime, so the certificate is not renewed.
        _patch_tls(cluster, rotationPeriod="8735h")
        cluster.await_available()
        assert wanted_serial(cluster) == second, "a new certificate is valid for 8760 h"

        (old,) = authorities(cluster)
        done = CommandLine(cluster.api.rig).run("rotate", "ca", NAME, "-n", cluster.namespace)
        assert done.status == 0, done.err
        until("the new CA is trusted", lambda: len(authorities(cluster)) == 2, 60.0)
        # The overlap exists so that clients can read the bundle while it has both CAs.
        client.read()
        until(
            "the old CA is no longer trusted",
            lambda: len(authorities(cluster)) == 1 and authorities(cluster) != [old],
            3 * RELOADED,
        )
        last = wanted_serial(cluster)
        until(
            "a certificate of the new CA is served",
            lambda: serials(cluster) == {wanted_serial(cluster)},
            RELOADED,
        )
        cluster.await_available()
    assert last not in (first, second)
    assert client.calls > 0
    assert client.refusals == []
    assert lives(cluster) == born, "no pod may restart"
    data = api.get(SECRET, cluster.namespace, names.tls_ca_secret(NAME))["data"]
    assert set(data) == {"ca.crt", "ca.key"}


def _patch_tls(cluster: Cluster, **tls: object) -> None:
    change = {"spec": {"tls": tls}}
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, change)
