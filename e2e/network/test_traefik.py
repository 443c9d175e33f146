"""Requests of clients pass through a real ingress controller and a real gateway: Traefik.

It runs in a pod, under enforced policies. An Ingress, an HTTPRoute and a TLSRoute route to the same
server. Traefik verifies its certificate by the name and the CA that the operator publishes.
"""

import base64
import signal
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from contracts.optional_kinds import BACKEND_TLS_POLICY, GATEWAY_CLASS
from e2e.conftest import MakeNamespace
from e2e.harness import certificates, gateway_api
from e2e.harness.bao import AUDIENCE, MOUNT
from e2e.harness.certificates import SignedCertificate
from e2e.harness.clusters import Cluster
from e2e.harness.handshake import served_serial
from e2e.harness.https import Site
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import CLIENT, SECRETS, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.network_namespaces import NetworkNamespace, await_network, make_idle_pod
from e2e.harness.operator import Operator
from e2e.harness.traefik import (
    ANNOTATIONS,
    CLASS,
    GATEWAY_CONTROLLER,
    HTTPS_PORT,
    PASSTHROUGH_PORT,
    Servers,
    Traefik,
    traefik,
)
from e2e.harness.waiting import Stopwatch, until
from e2e.harness.writing import may_write
from e2e.rig import Rig
from runtime.builtin_kinds import POD, SECRET

NAME, EDGE, PUBLIC, POD_NAME = "bao", "edge", "public", "traefik"
INGRESS_HOST, GATEWAY_HOST = "ingress.example.com", "gateway.example.com"
INGRESS_READY, GATEWAY_READY = "IngressIntegrationReady", "GatewayIntegrationReady"
TRUSTED = {"app": "traefik"}
# The status codes of Traefik if it cannot connect to the server, or its certificate is not valid.
BAD_GATEWAY, NOT_VERIFIED = 502, 500
OK = 200


@pytest.fixture(scope="module")
def network_policies(rig: Rig) -> Iterator[None]:
    gateway_api.install(rig, gateway_api.ALL_KINDS)
    rig.enforce_policies()
    yield
    rig.ignore_policies()
    gateway_api.uninstall(rig, gateway_api.ALL_KINDS, wait=False)


@pytest.fixture(scope="module")
def network(api: Api, network_policies: None, make_namespace: MakeNamespace) -> NetworkNamespace:
    """A pod in a separate namespace, without the label that the cluster trusts."""
    namespace = make_namespace()
    make_idle_pod(api, namespace, POD_NAME, {"app": "untrusted"})
    return await_network(api, namespace, POD_NAME)


@pytest.fixture(scope="module")
def authority() -> SignedCertificate:
    """The CA of the certificate that the Gateway presents."""
    return certificates.authority("edge")


@pytest.fixture(scope="module")
def home(
    api: Api, network_policies: None, authority: SignedCertificate, make_namespace: MakeNamespace
) -> str:
    """A namespace with a Gateway of two listeners."""
    namespace = make_namespace()
    served = certificates.leaf(authority, (GATEWAY_HOST,))
    files = {"tls_crt": served.pem, "tls_key": served.key_pem}
    api.create(SECRET, certificates.secret(namespace, "edge", **files))
    gateway_api.make_gateway(
        api, namespace, PUBLIC, class_name=CLASS, controller=GATEWAY_CONTROLLER
    )
    return namespace


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, network: NetworkNamespace, home: str, operator: Operator
) -> Iterator[Cluster]:
    """One server behind an Ingress and a Gateway."""
    trusted = {
        "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": namespace_of(network)}
        },
        "podSelector": {"matchLabels": TRUSTED},
    }
    # This process, which reads the health of the server, is outside of the node.
    ourselves = {"ipBlock": {"cidr": f"{rig.layout.slot.host}/32"}}
    body = manifest(
        home,
        NAME,
        selfInit=self_init(key_value_engine(), *client_login(home)),
        service={"annotations": ANNOTATIONS},
        ingress={"enabled": True, "host": INGRESS_HOST, "className": CLASS},
        gateway={"enabled": True, "hostname": GATEWAY_HOST, "gatewayRef": {"name": PUBLIC}},
        network={"trustedIngressPeers": [trusted, ourselves]},
    )
    api.create(CLUSTERS, body)
    cluster = Cluster(api, home, NAME)
    may_write(cluster)
    cluster.await_available()
    yield cluster
    api.delete(GATEWAY_CLASS, None, CLASS)


@pytest.fixture(scope="module")
def edge(
    rig: Rig,
    api: Api,
    network: NetworkNamespace,
    cluster: Cluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Traefik]:
    """Traefik in that pod."""
    cluster.await_condition(INGRESS_READY, "False", "IngressAddressMissing", seconds=15)
    cluster.await_condition(GATEWAY_READY, "Unknown", "GatewayClassPending", seconds=25)
    public = names.service_dns(names.public_service(NAME), cluster.namespace)
    servers = Servers(public, ca_of(cluster))
    with traefik(rig, api, network, tmp_path_factory.mktemp("traefik"), servers) as proxy:
        yield proxy


def namespace_of(network: NetworkNamespace) -> str:
    return network.name.partition("/")[0]


def ca_of(cluster: Cluster) -> bytes:
    secret = cluster.secret(names.tls_ca_secret(NAME))
    assert secret is not None
    return base64.b64decode(secret["data"]["ca.crt"])


@pytest.fixture
def ingress(edge: Traefik, cluster: Cluster) -> Site:
    """The Ingress as a client sees it, with the certificate of the servers."""
    return Site(edge.network.address, HTTPS_PORT, INGRESS_HOST, ca_of(cluster))


@pytest.fixture
def gateway(edge: Traefik, authority: SignedCertificate, cluster: Cluster) -> Site:
    return Site(edge.network.address, HTTPS_PORT, GATEWAY_HOST, authority.pem)


def assert_serves(site: Site, cluster: Cluster, value: str) -> None:
    """A client logs in, writes a secret and reads it again."""
    health, response = site.request("GET", "sys/health")
    assert health == OK
    assert {response["cluster_id"]} == cluster.cluster_ids()
    jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)
    code, login = site.request("POST", f"auth/{MOUNT}/login", body={"role": CLIENT, "jwt": jwt})
    assert code == OK, login
    token = login["auth"]["client_token"]
    site.request("POST", f"{SECRETS}/greeting", token=token, body={"value": value})
    assert site.request("GET", f"{SECRETS}/greeting", token=token)[1]["data"] == {"value": value}


class OtherCodeError(Exception):
    """A response with another code than the expected one."""


def await_code(site: Site, status: int) -> None:
    """Send requests until the code is `wanted`; before a route exists, TLS fails or it is 404."""

    def has_answered() -> bool:
        code, body = site.request("GET", "sys/health")
        if code != status:
            raise OtherCodeError(f"{code} {body}")
        return True

    until(f"{site.host} answers {status}", has_answered, 30.0, tolerate=(OSError, OtherCodeError))


@pytest.mark.timeout(300)
def test_ingress_and_route_are_ready_but_an_untrusted_proxy_is_refused(
    cluster: Cluster, ingress: Site, gateway: Site, edge: Traefik
) -> None:
    condition = cluster.await_condition(INGRESS_READY, "True", INGRESS_READY, seconds=30)
    assert edge.network.address in condition["message"]
    cluster.await_condition(GATEWAY_READY, "True", GATEWAY_READY, seconds=60)
    # The policy refuses a proxy that the cluster does not trust.
    await_code(ingress, BAD_GATEWAY)
    await_code(gateway, BAD_GATEWAY)


@pytest.mark.timeout(200)
def test_requests_of_a_trusted_proxy_reach_the_server(
    api: Api, cluster: Cluster, ingress: Site, gateway: Site, edge: Traefik
) -> None:
    watch = Stopwatch()
    api.patch(POD, namespace_of(edge.network), POD_NAME, {"metadata": {"labels": TRUSTED}})
    await_code(ingress, OK)
    await_code(gateway, OK)
    print(f"\nrequests pass {watch.seconds:.1f} s after the pod is trusted")
    assert_serves(ingress, cluster, "by the Ingress")
    assert_serves(gateway, cluster, "by the HTTPRoute")


@pytest.mark.timeout(200)
def test_the_gateway_verifies_the_server_by_the_backend_tls_policy(
    api: Api, cluster: Cluster, gateway: Site, operator: Operator
) -> None:
    (policy,) = BACKEND_TLS_POLICY.resources[:1]
    name = names.backend_tls_policy(NAME)
    before = api.get(policy, cluster.namespace, name)["spec"]
    operator.signal(signal.SIGSTOP)
    try:
        wrong = {"spec": {"validation": {"hostname": "somebody-else.example.com"}}}
        api.patch(policy, cluster.namespace, name, wrong)
        await_code(gateway, NOT_VERIFIED)
    finally:
        operator.signal(signal.SIGCONT)
    await_code(gateway, OK)
    assert api.get(policy, cluster.namespace, name)["spec"] == before


@pytest.mark.timeout(200)
def test_a_passthrough_connection_terminates_at_the_server(
    api: Api, cluster: Cluster, edge: Traefik
) -> None:
    api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"gateway": {"tlsPassthrough": True}}})
    cluster.await_condition(GATEWAY_READY, "True", GATEWAY_READY, seconds=60)
    site = Site(edge.network.address, PASSTHROUGH_PORT, GATEWAY_HOST, ca_of(cluster))
    await_code(site, OK)
    assert_serves(site, cluster, "by the TLSRoute")
    (pod,) = cluster.pods()
    presented = served_serial(edge.network.address, GATEWAY_HOST, PASSTHROUGH_PORT)
    assert presented == served_serial(str(pod["status"]["podIP"]), GATEWAY_HOST)
