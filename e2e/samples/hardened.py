"""hardened-production.yaml with services of the rig in its placeholders. Called by e2e.admission.

It needs a registry with a login and signed images, another OpenBao as the seal, an S3 store,
certificates of an authority, the admission policies, and StorageClasses. The rig has one node, in
one zone, with two processors.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from contracts.naming import names
from e2e.harness import certificates, policies
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import VERSION
from e2e.harness.registry import CLOSED_PORT, PASSWORD, USER, Registry
from e2e.harness.sealer import Sealer
from e2e.harness.stores import Store
from e2e.rig import Rig
from e2e.rig.storage import PROVISIONER
from e2e.samples.batch import Replacements
from runtime.types import Resource

SAMPLE, NAME, NAMESPACE = "hardened-production.yaml", "production", "openbao-production"
KEY = "release"
# The two lines of the public key in the sample.
KEY_LINES = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX0puBLUt7wZsz4qFfr09kxKOZ6cc",
    "UO9NW6pnYjO/iq2Vzb6LivkPRdfn7PmMna7R0T32jqCOt3Y3EyQAIwg5bw==",
)
CLASSES = ("fast-ssd", "shared-files")
STORAGE_CLASS = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
ZONE = "topology.kubernetes.io/zone"


@contextmanager
def hardened_node(rig: Rig, api: Api) -> Iterator[None]:
    """Install the admission policies, a zone of the node, and the StorageClasses."""
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


def replacements(sealer: Sealer, store: Store, images: Registry) -> Replacements:
    """Return the services of the rig as replacements for the placeholders."""
    public_key = images.new_key(KEY)
    images.sign(images.push(VERSION), KEY)
    image = images.image(VERSION, port=CLOSED_PORT)
    address = str(sealer.unseal_spec()["transit"]["address"])
    text = {
        "registry.example.com/openbao/openbao:2.7.2": image,
        "https://sealing.example.com:8200": address,
        "https://s3.example.com": store.endpoint,
        # Four servers and the sealing one must fit on the node.
        "cpu: 500m": "cpu: 100m",
        **dict(zip(KEY_LINES, public_key.splitlines()[1:3], strict=True)),
    }
    login = {"auths": {image.partition("/")[0]: {"username": USER, "password": PASSWORD}}}
    secrets = {
        "registry-login": {".dockerconfigjson": orjson.dumps(login).decode()},
        "seal-login": {"token": sealer.token, "ca.crt": sealer.authority},
        "snapshots-login": store.secret(),
        **own_certificates(),
    }
    return Replacements(text, secrets)


def own_certificates() -> dict[str, dict[str, str]]:
    """Return a certificate with the names of the sample, and its authority."""
    root = certificates.authority("Example Root")
    public = names.service_dns(names.public_service(NAME), NAMESPACE)
    served = certificates.leaf(root, (names.raft_server_name(NAME), public, "bao.example.com"))
    trusted = {"ca.crt": root.pem.decode()}
    pair = {"tls.crt": served.pem.decode(), "tls.key": served.key_pem.decode()}
    return {"bao-certificate": {**trusted, **pair}, "bao-authority": trusted}
