"""At least half of config/samples, applied with kubectl, reach what their comments wait for.

The others need what the rig does not have: clouds, an HSM, a registry, datacenters, or the
multi-tenant mode. test_hardened.py applies hardened-production.yaml, which needs many services.
"""

from collections.abc import Iterator

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.harness import certificates, pebble
from e2e.harness.key_services import KmipKey, kmip_server
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.pebble import Pebble
from e2e.harness.samples import FILES
from e2e.harness.sealer import Sealer, make_sealer
from e2e.harness.stores import Ground, Store
from e2e.rig import Rig
from e2e.samples.batch import Filled, Sample, applied

ONE_SERVER = (
    "audit.yaml",
    "backup-volume.yaml",
    "development.yaml",
    "gateway.yaml",
    "ingress.yaml",
    "login-jwt.yaml",
    "login-kubernetes.yaml",
    "login-userpass.yaml",
    "metrics.yaml",
    "restore-test.yaml",
    "seal-static.yaml",
    "tls-operator-managed.yaml",
)
SEVERAL_SERVERS = (
    "leader-service.yaml",
    "quickstart.yaml",
    "read-replicas.yaml",
    "scheduling-zones.yaml",
)
FILLED = (
    "backup.yaml",
    "recovery-keys.yaml",
    "seal-kmip.yaml",
    "seal-transit.yaml",
    "tls-acme.yaml",
    "tls-external.yaml",
)
RESTORE = "restore.yaml"
SEAL_ADDRESS = "https://sealing.example.com:8200"
ZONE = "topology.kubernetes.io/zone"
pytestmark = pytest.mark.timeout(600)
measured: list[Sample] = []


@pytest.fixture(scope="module", autouse=True)
def shown() -> Iterator[None]:
    """Print the times of all samples at the end."""
    yield
    rows = [(one.name, f"{one.seconds:.1f}") for one in measured if one.seconds is not None]
    print("\n" + table.plain(("file", "seconds to Ready"), rows))


@pytest.fixture(scope="module")
def zone(rig: Rig) -> Iterator[None]:
    """Label the node with a zone."""
    rig.kubectl("label", "nodes", "--all", "--overwrite", f"{ZONE}=a")
    yield
    rig.kubectl("label", "nodes", "--all", f"{ZONE}-")


@pytest.fixture(scope="module")
def sealer(api: Api, reloading_operator: Operator, make_namespace: MakeNamespace) -> Sealer:
    return make_sealer(api, make_namespace())


@pytest.fixture(scope="module")
def kmip(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KmipKey]:
    with kmip_server(Ground.of_rig(rig), tmp_path_factory.mktemp("kmip")) as key:
        yield key


@pytest.fixture(scope="module")
def acme(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    with pebble.running(rig, tmp_path_factory.mktemp("acme")) as made:
        yield made


def run(samples: list[Sample]) -> None:
    measured.extend(samples)
    with applied(samples):
        pass


@pytest.mark.usefixtures("reloading_operator")
def test_samples_of_one_server_run_unchanged(api: Api) -> None:
    run([Sample(api, name) for name in ONE_SERVER])


@pytest.mark.usefixtures("reloading_operator", "zone")
def test_samples_of_several_servers_run_unchanged(api: Api) -> None:
    run([Sample(api, name) for name in SEVERAL_SERVERS])


def test_samples_run_with_real_services_in_their_placeholders(
    api: Api, sealer: Sealer, store: Store, kmip: KmipKey, acme: Pebble
) -> None:
    store.objects.make_bucket("bao-snapshots")
    sealed = with_sealer(sealer)
    filled = {
        "seal-transit.yaml": sealed,
        "recovery-keys.yaml": sealed,
        "seal-kmip.yaml": with_kmip(kmip),
        "tls-external.yaml": with_certificates(),
        "tls-acme.yaml": with_acme(acme),
        "backup.yaml": Filled(
            {"https://s3.example.com": store.endpoint}, {"snapshots-login": store.secret()}
        ),
    }
    samples = [Sample(api, name, filled[name]) for name in FILLED]
    run([*samples, Sample(api, RESTORE, after="backup.yaml")])


def with_sealer(sealer: Sealer) -> Filled:
    """Return the address of the sealing OpenBao, its authority, and a token."""
    address = str(sealer.unseal_spec()["transit"]["address"])
    login = {"token": sealer.token, "ca.crt": sealer.authority}
    return Filled({SEAL_ADDRESS: address}, {"seal-login": login})


def with_kmip(kmip: KmipKey) -> Filled:
    """Return the address of the KMIP server, the id of its key, and a client certificate."""
    text = {"kmip.example.com:5696": kmip.endpoint, 'kmsKeyID: "1"': f'kmsKeyID: "{kmip.key}"'}
    files = {name: content.decode() for name, content in kmip.files().items()}
    return Filled(text, {"seal-login": files})


def with_certificates() -> Filled:
    """Return a certificate of a new authority."""
    root = certificates.authority("Example Root")
    served = certificates.leaf(root, (names.raft_server_name("external"),))
    trusted = {"ca.crt": root.pem.decode()}
    pair = {"tls.crt": served.pem.decode(), "tls.key": served.key_pem.decode()}
    return Filled({}, {"bao-certificate": {**trusted, **pair}, "bao-authority": trusted})


def with_acme(acme: Pebble) -> Filled:
    """Return the directory and the authorities of an ACME server."""
    trusted = {"ca.crt": acme.authority.pem.decode(), "pki-ca.crt": acme.issuer().decode()}
    text = {"https://acme.example.com/directory": acme.directory}
    return Filled(text, {"acme-authorities": trusted})


def test_at_least_half_of_the_samples_run_here() -> None:
    assert 2 * len({*ONE_SERVER, *SEVERAL_SERVERS, *FILLED, RESTORE}) >= len(FILES)
