"""An Ingress: creation, readiness mode, drift, and deletion."""

import base64

import orjson
import pytest
from cryptography import x509

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig, RigError
from runtime.builtin_kinds import INGRESS, NETWORK_POLICY
from runtime.types import Object

NAME, HOST, READY = "bao", "bao.example.com", "IngressIntegrationReady"
CONTROLLER = {"podSelector": {"matchLabels": {"app": "edge"}}}


@pytest.fixture(scope="module")
def home(make_namespace: MakeNamespace, api: Api, operator: Operator) -> str:
    """A namespace with a cluster that requests an Ingress."""
    namespace = make_namespace()
    ingress = {"enabled": True, "host": HOST, "className": "edge"}
    body = manifest(namespace, NAME, ingress=ingress, network={"trustedIngressPeers": [CONTROLLER]})
    api.create(CLUSTERS, body)
    return namespace


@pytest.fixture(scope="module")
def cluster(api: Api, home: str) -> Cluster:
    return Cluster(api, home, NAME)


def live(api: Api, namespace: str) -> Object:
    return api.get(INGRESS, namespace, names.ingress(NAME))


def set_address(rig: Rig, namespace: str, address: str) -> None:
    """Publish an address, as the controller of the class would."""
    status = {"loadBalancer": {"ingress": [{"ip": address}]}}
    patch = orjson.dumps({"status": status}).decode()
    rig.kubectl(
        "-n", namespace, "patch", "ingress", NAME, "--subresource=status", "--type=merge",
        "-p", patch,
    )  # fmt: skip


@pytest.mark.timeout(300)
def test_an_ingress_routes_to_the_public_service_and_opens_no_policy(
    cluster: Cluster, api: Api, home: str
) -> None:
    cluster.await_available()
    (rule,) = live(api, home)["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert rule["host"] == HOST
    assert path["backend"]["service"] == {
        "name": names.public_service(NAME),
        "port": {"number": 8200},
    }
    policy = api.get(NETWORK_POLICY, home, names.network_policy(NAME))
    for opened in policy["spec"]["ingress"]:
        assert opened.get("from"), opened
    cluster.await_condition(READY, "False", "IngressAddressMissing", seconds=15)
    # The host of the Ingress is in the certificate of the servers.
    server = cluster.secret(names.tls_server_secret(NAME))
    assert server is not None
    certificate = x509.load_pem_x509_certificate(base64.b64decode(server["data"]["tls.crt"]))
    carried = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert HOST in carried.get_values_for_type(x509.DNSName)


@pytest.mark.timeout(200)
def test_an_ingress_is_ready_when_an_address_is_published(
    cluster: Cluster, api: Api, home: str, rig: Rig
) -> None:
    watch = Stopwatch()
    set_address(rig, home, "192.0.2.7")
    condition = cluster.await_condition(READY, "True", READY, seconds=10)
    print(f"\nan address is reported {watch.seconds:.2f} s after kubectl was started")
    assert "192.0.2.7" in condition["message"]
    api.patch(CLUSTERS, home, NAME, {"spec": {"ingress": {"readinessMode": "Created"}}})
    cluster.await_condition(READY, "True", READY, seconds=10)


@pytest.mark.timeout(200)
def test_an_edit_is_reverted_and_other_fields_stay(
    cluster: Cluster, api: Api, home: str, audit: AuditLog, controller: Identity
) -> None:
    before = live(api, home)["spec"]
    theirs = {"metadata": {"annotations": {"example.com/theirs": "1"}}}
    api.patch(INGRESS, home, names.ingress(NAME), {**theirs, "spec": {"ingressClassName": "other"}})
    until("the class is restored", lambda: live(api, home)["spec"] == before, 10.0)
    assert live(api, home)["metadata"]["annotations"]["example.com/theirs"] == "1"
    mark = audit.mark()

    def ingress_writes() -> list[str]:
        mine = writes(audit.since(mark, controller.user))
        return [str(entry) for entry in mine if entry.resource == INGRESS.plural]

    throughout("the Ingress gets no writes", lambda: not ingress_writes(), 5.0, every=0.5)


@pytest.mark.timeout(200)
def test_an_ingress_that_is_not_requested_is_deleted(cluster: Cluster, api: Api, home: str) -> None:
    api.patch(CLUSTERS, home, NAME, {"spec": {"ingress": {"enabled": False}}})
    until("the Ingress is gone", lambda: api.find(INGRESS, home, names.ingress(NAME)) is None, 15.0)
    until("the condition is not True", lambda: cluster.condition(READY, "True") is None, 5.0)
    cluster.await_available(10)


@pytest.mark.timeout(200)
def test_an_ingress_without_trusted_peers_is_refused(api: Api, home: str, rig: Rig) -> None:
    ingress = manifest(home, "open", ingress={"enabled": True, "host": HOST})
    with pytest.raises(RigError, match="trustedIngressPeers"):
        rig.kubectl("apply", "-f", "-", input=orjson.dumps(ingress).decode())
