"""hardened-production.yaml with real services in its placeholders becomes ready for production.

It uses a registry with a login and signed images, another OpenBao as the seal, an S3 store,
certificates of an authority, the admission policies, and StorageClasses. The rig has one node, in
one zone. The image of the operator is in no registry: no Job can run, and ImageVerified is Unknown.
"""

from collections.abc import Iterator

import orjson
import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness import certificates, policies
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import VERSION
from e2e.harness.operator import Launcher, Operator, unrefused
from e2e.harness.registry import CLOSED_PORT, PASSWORD, USER, Registry, registry
from e2e.harness.sealer import Sealer, make_sealer
from e2e.harness.stores import Store
from e2e.rig import Rig
from e2e.rig.storage import PROVISIONER
from e2e.samples.batch import Filled, Sample, applied
from runtime.types import Resource

SAMPLE, NAME, NAMESPACE = "hardened-production.yaml", "production", "openbao-production"
KEY = "release"
SERVERS = 3
# The two lines of the public key in the sample.
KEY_LINES = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX0puBLUt7wZsz4qFfr09kxKOZ6cc",
    "UO9NW6pnYjO/iq2Vzb6LivkPRdfn7PmMna7R0T32jqCOt3Y3EyQAIwg5bw==",
)
CLASSES = ("fast-ssd", "shared-files")
STORAGE_CLASS = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
ZONE = "topology.kubernetes.io/zone"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def images(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry(rig, tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
def node(rig: Rig, api: Api) -> Iterator[None]:
    """The admission policies, a zone, and the StorageClasses."""
    rig.kubectl("label", "nodes", "--all", "--overwrite", f"{ZONE}=a")
    for name in CLASSES:
        api.create(STORAGE_CLASS, {"metadata": {"name": name}, "provisioner": PROVISIONER})
    try:
        with policies.in_force(rig):
            yield
    finally:
        for name in CLASSES:
            api.delete(STORAGE_CLASS, None, name)
        rig.kubectl("label", "nodes", "--all", f"{ZONE}-")


@pytest.fixture(scope="module")
def operator(
    rig: Rig,
    node: None,
    images: Registry,
    launcher: Launcher,
    audit: AuditLog,
    controller: Identity,
) -> Iterator[Operator]:
    """An operator that trusts the certificate of the registry."""
    environment = {
        "OPERATOR_IMAGE": rig.load_operator_image(),
        "SSL_CERT_FILE": str(images.authority),
        "ADMISSION_RECHECK_SECONDS": "1",
    }
    yield from unrefused(launcher, audit, controller, environment)


@pytest.fixture(scope="module")
def sealer(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Sealer:
    return make_sealer(api, make_namespace())


def test_the_hardened_sample_is_ready_for_production(
    api: Api, sealer: Sealer, store: Store, images: Registry
) -> None:
    store.objects.make_bucket("bao-snapshots")
    sample = Sample(api, SAMPLE, filled(sealer, store, images))
    with applied([sample]):
        print(f"\n  {sample.seconds:.1f} s: {SAMPLE}")
        pods = Cluster(api, NAMESPACE, NAME).ready_pods()
        assert len(pods) == SERVERS
        assert all("@sha256:" in pod["spec"]["containers"][0]["image"] for pod in pods)


def filled(sealer: Sealer, store: Store, images: Registry) -> Filled:
    """Return the services of the rig as replacements for the placeholders."""
    public_key = images.new_key(KEY)
    images.sign(images.push(VERSION), KEY)
    image = images.image(VERSION, port=CLOSED_PORT)
    address = str(sealer.unseal_spec()["transit"]["address"])
    text = {
        "registry.example.com/openbao/openbao:2.7.2": image,
        "https://sealing.example.com:8200": address,
        "https://s3.example.com": store.endpoint,
        **dict(zip(KEY_LINES, public_key.splitlines()[1:3], strict=True)),
    }
    login = {"auths": {image.partition("/")[0]: {"username": USER, "password": PASSWORD}}}
    secrets = {
        "registry-login": {".dockerconfigjson": orjson.dumps(login).decode()},
        "seal-login": {"token": sealer.token, "ca.crt": sealer.authority},
        "snapshots-login": store.secret(),
        **own_certificates(),
    }
    return Filled(text, secrets)


def own_certificates() -> dict[str, dict[str, str]]:
    """Return a certificate with the names of the sample, and its authority."""
    root = certificates.authority("Example Root")
    public = names.service_dns(names.public_service(NAME), NAMESPACE)
    served = certificates.leaf(root, (names.raft_server_name(NAME), public, "bao.example.com"))
    trusted = {"ca.crt": root.pem.decode()}
    pair = {"tls.crt": served.pem.decode(), "tls.key": served.key_pem.decode()}
    return {"bao-certificate": {**trusted, **pair}, "bao-authority": trusted}
