"""At least half of config/samples, applied with kubectl, reach what their comments wait for.

e2e/admission applies hardened-production.yaml, which has most features, among them a transit seal,
own certificates, recovery keys, and servers in zones. e2e/first_boot applies quickstart.yaml. Other
samples need what the rig does not have: clouds, an HSM, datacenters, or the multi-tenant mode.
"""

from collections.abc import Iterator

import pytest

from e2e.demo import table
from e2e.first_boot.sample import SAMPLE
from e2e.harness import pebble
from e2e.harness.key_services import KmipKey, kmip_server
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.pebble import Pebble
from e2e.harness.samples import FILES
from e2e.harness.stores import ServerHost, Store
from e2e.rig import Rig
from e2e.samples import hardened
from e2e.samples.batch import Replacements, Sample, apply_samples

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
SEVERAL_SERVERS = ("read-replicas.yaml",)
FILLED = (
    "backup.yaml",
    "seal-kmip.yaml",
    "tls-acme.yaml",
)
RESTORE = "restore.yaml"
pytestmark = pytest.mark.timeout(600)
measured: list[Sample] = []


@pytest.fixture(scope="module", autouse=True)
def print_times() -> Iterator[None]:
    """Print the times of all samples at the end."""
    yield
    rows = [
        (sample.name, f"{sample.seconds:.1f}") for sample in measured if sample.seconds is not None
    ]
    print("\n" + table.plain(("file", "seconds to Ready"), rows))


@pytest.fixture(scope="module")
def kmip(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KmipKey]:
    with kmip_server(ServerHost.of_rig(rig), tmp_path_factory.mktemp("kmip")) as key:
        yield key


@pytest.fixture(scope="module")
def acme(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    with pebble.run_pebble(rig, tmp_path_factory.mktemp("acme")) as server:
        yield server


def run(samples: list[Sample]) -> None:
    measured.extend(samples)
    with apply_samples(samples):
        pass


@pytest.mark.usefixtures("reloading_operator")
def test_samples_of_one_server_run_unchanged(api: Api) -> None:
    run([Sample(api, name) for name in ONE_SERVER])


def test_samples_of_several_servers_and_with_real_services_in_their_placeholders_run(
    api: Api, reloading_operator: Operator, store: Store, kmip: KmipKey, acme: Pebble
) -> None:
    store.objects.make_bucket("bao-snapshots")
    filled = {
        "seal-kmip.yaml": with_kmip(kmip),
        "tls-acme.yaml": with_acme(acme),
        "backup.yaml": Replacements(
            {"https://s3.example.com": store.endpoint}, {"snapshots-login": store.secret()}
        ),
    }
    samples = [Sample(api, name, filled.get(name)) for name in (*SEVERAL_SERVERS, *FILLED)]
    run([*samples, Sample(api, RESTORE, after="backup.yaml")])


def with_kmip(kmip: KmipKey) -> Replacements:
    """Return the address of the KMIP server, the id of its key, and a client certificate."""
    text = {"kmip.example.com:5696": kmip.endpoint, 'kmsKeyID: "1"': f'kmsKeyID: "{kmip.key}"'}
    files = {name: content.decode() for name, content in kmip.files().items()}
    return Replacements(text, {"seal-login": files})


def with_acme(acme: Pebble) -> Replacements:
    """Return the directory and the authorities of an ACME server."""
    trusted = {"ca.crt": acme.authority.pem.decode(), "pki-ca.crt": acme.issuer().decode()}
    text = {"https://acme.example.com/directory": acme.directory}
    return Replacements(text, {"acme-authorities": trusted})


def test_at_least_half_of_the_samples_run_here() -> None:
    run_here = {*ONE_SERVER, *SEVERAL_SERVERS, *FILLED, RESTORE, hardened.SAMPLE, SAMPLE.name}
    assert run_here <= {file.name for file in FILES}
    assert 2 * len(run_here) >= len(FILES)
