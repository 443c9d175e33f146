"""A KMIP server and a KMS each unseal one server, also after a restart.

From OpenBao 2.7 on the seal awskms is a plugin, which the server downloads from a registry.
"""

import base64
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import mount_paths, names
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.key_services import KmipKey, KmsKey, aws_kms, kmip_server
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.plugins import PluginRegistry
from e2e.harness.stores import ServerHost
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig, RigError
from e2e.rig.versions import KMS_PLUGIN_PROGRAM
from runtime.builtin_kinds import POD, SECRET
from runtime.types import uid_of

LOGIN = "seal-login"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def namespace(make_namespace: MakeNamespace, operator: Operator) -> str:
    return make_namespace()


@pytest.fixture(scope="module")
def kmip(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KmipKey]:
    with kmip_server(ServerHost.of_rig(rig), tmp_path_factory.mktemp("kmip")) as key:
        yield key


@pytest.fixture(scope="module")
def kms(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KmsKey]:
    with aws_kms(ServerHost.of_rig(rig), tmp_path_factory.mktemp("kms")) as key:
        yield key


def test_a_kmip_server_unseals_each_start(api: Api, namespace: str, kmip: KmipKey) -> None:
    api.create(SECRET, login(namespace, LOGIN, kmip.files()))
    unseal = {
        "type": "kmip",
        "kmip": kmip.block(mount_paths.SEAL_CREDENTIALS),
        "credentialsSecretRef": {"name": LOGIN},
    }
    cluster = make(api, namespace, "kmip", unseal=unseal)
    assert cluster.server().get("sys/seal-status", "")["type"] == "kmip"
    assert cluster.secret(names.unseal_key_secret("kmip")) is None, "the operator generates no key"
    restart(cluster)


def test_a_client_certificate_of_another_ca_is_refused(
    api: Api, namespace: str, kmip: KmipKey
) -> None:
    """Only the KMIP server can detect it; the log of the pod has its response."""
    api.create(SECRET, login(namespace, "foreign-login", kmip.foreign_files()))
    unseal = {
        "type": "kmip",
        "kmip": kmip.block(mount_paths.SEAL_CREDENTIALS),
        "credentialsSecretRef": {"name": "foreign-login"},
    }
    api.create(CLUSTERS, manifest(namespace, "foreign", unseal=unseal))
    cluster = Cluster(api, namespace, "foreign")

    def is_refused() -> bool:
        log = api.rig.kubectl("-n", namespace, "logs", names.pod("foreign", 0))
        return "failed to dial kmip connection endpoint" in log and "tls: " in log

    until("the server logs the refusal", is_refused, 120.0, every=1.0, tolerate=(RigError,))
    assert cluster.condition("Ready", "False") is not None


def test_a_kms_unseals_each_start_by_a_plugin(
    api: Api, namespace: str, kms: KmsKey, plugins: PluginRegistry
) -> None:
    api.create(SECRET, login(namespace, "kms-login", kms.files()))
    unseal = {
        "type": "awskms",
        "awskms": kms.block(),
        "credentialsSecretRef": {"name": "kms-login"},
    }
    plugin = {
        "type": "kms",
        "name": "awskms",
        "env": [f"AWS_CA_BUNDLE={mount_paths.SEAL_CREDENTIALS}/ca.crt"],
        **plugins.publish(KMS_PLUGIN_PROGRAM),
    }
    cluster = make(api, namespace, "kms", unseal=unseal, plugins=[plugin])
    assert cluster.server().get("sys/seal-status", "")["type"] == "awskms"
    cluster.await_condition("CloudUnsealIdentityReady", reason="CredentialsSecretConfigured")
    calls, downloads = kms.calls(), plugins.downloads(KMS_PLUGIN_PROGRAM)
    restart(cluster)
    assert kms.calls() > calls, "the KMS decrypts the root key at each start"
    assert downloads == 1
    assert plugins.downloads(KMS_PLUGIN_PROGRAM) == 2, "a new pod downloads the plugin again"


def login(namespace: str, name: str, files: dict[str, bytes]) -> Object:
    """Build the Secret that spec.unseal.credentialsSecretRef names."""
    data = {key: base64.b64encode(content).decode() for key, content in files.items()}
    return {"metadata": {"namespace": namespace, "name": name}, "data": data}


def make(api: Api, namespace: str, name: str, **spec: object) -> Cluster:
    """Create a cluster and wait until its server is unsealed."""
    watch = Stopwatch()
    api.create(CLUSTERS, manifest(namespace, name, **spec))
    cluster = Cluster(api, namespace, name)
    cluster.await_available(120.0)
    print(f"\n  {watch.seconds:.1f} s: {name} is available")
    return cluster


def restart(cluster: Cluster) -> None:
    """Delete the pod, and wait until another one is unsealed."""
    (pod,) = cluster.pods()
    watch = Stopwatch()
    cluster.api.delete(POD, cluster.namespace, pod["metadata"]["name"])

    def is_replaced() -> bool:
        return any(uid_of(other) != uid_of(pod) and is_ready(other) for other in cluster.pods())

    until("another pod is ready", is_replaced, 120.0)
    cluster.await_available()
    print(f"\n  {watch.seconds:.1f} s: unsealed after a restart")
