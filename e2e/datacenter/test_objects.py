"""A hook returns services like cert-manager: a CRD, a ClusterRole, a Deployment, an issuer."""

import uuid
from collections.abc import Iterator

import orjson
import pytest

from contracts.datacenter.grants import OBJECT_KIND_DENIED
from contracts.naming.installation import CONTROLLER
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import sleeper
from e2e.datacenter.hook_package import Package
from e2e.harness.datacenters import ON, DatacenterUnderTest, cleanup_of, install_datacenters
from e2e.harness.installation import NAMESPACE, Identity
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.modes import CLUSTER_BINDING
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from runtime.types import Object, Resource

MARK = uuid.uuid4().hex[:6]
GROUP, PLURAL = f"certs{MARK}.example.com", "issuers"
DEFINITION = f"{PLURAL}.{GROUP}"
ROLE = f"certs-{MARK}"
RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
ISSUERS = Resource(GROUP, "v1", "Issuer", PLURAL)
READ_ISSUERS = {"apiGroups": [GROUP], "resources": [PLURAL], "verbs": ["get"]}
KINDS = [
    {"group": DEFINITIONS.group, "kind": DEFINITIONS.kind},
    {"group": RBAC, "kind": "ClusterRole"},
    {"group": GROUP, "kind": "Issuer"},
]
_VERBS = ["get", "list", "create", "patch", "delete"]


def _definition() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Issuer", "plural": PLURAL, "singular": "issuer"},
            "versions": [version],
        },
    }


def services(image: str) -> list[Object]:
    """The services of the hook: the CRD first, the issuer last."""
    role = {
        "apiVersion": CLUSTER_ROLES.api_version,
        "kind": CLUSTER_ROLES.kind,
        "metadata": {"name": ROLE},
        "rules": [READ_ISSUERS],
    }
    issuer = {
        "apiVersion": ISSUERS.api_version,
        "kind": ISSUERS.kind,
        "metadata": {"name": "own"},
        "spec": {"selfSigned": {}},
    }
    return [
        {"name": "definitions", "kind": "Objects", "objects": [_definition(), role]},
        sleeper(image, "controller", dependsOn=["definitions"]),
        {"name": "issuers", "kind": "Objects", "objects": [issuer], "dependsOn": ["controller"]},
    ]


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator."""
    install_datacenters(rig)
    return rig.load_operator_image()


@pytest.fixture(scope="module")
def operator_with_datacenters(
    launcher: Launcher, controller: Identity, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Operator:
    """An operator that manages datacenters, with the hook installed."""
    package = Package(tmp_path_factory.mktemp("hooks"))
    package.install()
    package.file.write_bytes(orjson.dumps(services(image)))
    environment = {**ON, "PYTHONPATH": str(package.folder)}
    return launcher.start(controller, NO_ELECTION, environment=environment)


@pytest.fixture(scope="module")
def datacenter(
    api: Api, make_namespace: MakeNamespace, operator_with_datacenters: Operator, image: str
) -> Iterator[DatacenterUnderTest]:
    """One service in its spec, without dependencies."""
    assert operator_with_datacenters.alive
    datacenter = DatacenterUnderTest(api, f"rom{MARK}", make_namespace())
    datacenter.create(sleeper(image, "plain"))
    yield datacenter
    cleanup_of(api, datacenter)()
    with missing_ok():
        api.delete(DEFINITIONS, None, DEFINITION)
    for resource in (CLUSTER_BINDING, CLUSTER_ROLES):
        with missing_ok():
            api.delete(resource, None, f"{ROLE}-grant")


def allow(api: Api) -> None:
    """Grant a ClusterRole, as docs/datacenters.md describes for the administrator."""
    rules = [
        {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": _VERBS},
        {
            "apiGroups": [DEFINITIONS.group],
            "resources": [DEFINITIONS.plural],
            "verbs": _VERBS,
        },
        {"apiGroups": [GROUP], "resources": [PLURAL], "verbs": _VERBS},
    ]
    name = f"{ROLE}-grant"
    api.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": CONTROLLER, "namespace": NAMESPACE}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    body = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    api.create(CLUSTER_BINDING, body)


@pytest.mark.timeout(200)
def test_objects_of_a_kind_that_is_not_allowed_are_refused(
    api: Api, datacenter: DatacenterUnderTest
) -> None:
    until("the objects are refused", lambda: datacenter.state("definitions") == "Failed", 90.0)
    error = datacenter.workload("definitions")["status"]["lastError"]
    print(f"\n  {error['message']}")
    assert error["reason"] == OBJECT_KIND_DENIED
    assert f"spec.objectKinds of Datacenter {datacenter.name}" in error["message"]
    until("another service runs", lambda: datacenter.state("plain") == "Running", 90.0)
    assert datacenter.state("controller") == "Pending"
    assert api.find(DEFINITIONS, None, DEFINITION) is None


@pytest.mark.timeout(200)
def test_objects_of_allowed_kinds_are_created_in_order(
    api: Api, datacenter: DatacenterUnderTest
) -> None:
    watch = Stopwatch()
    allow(api)
    datacenter.change(objectKinds=KINDS)
    datacenter.await_running(120.0)
    print(f"\n  {watch.seconds:.1f} s: all services run")
    issuer = api.get(ISSUERS, datacenter.namespace, "own")
    assert issuer["spec"] == {"selfSigned": {}}
    assert api.get(CLUSTER_ROLES, None, ROLE)["rules"] == [READ_ISSUERS]


@pytest.mark.timeout(200)
def test_deletion_keeps_the_custom_resource_definition(
    api: Api, datacenter: DatacenterUnderTest
) -> None:
    datacenter.delete()
    datacenter.await_gone(120.0)
    assert api.find(ISSUERS, datacenter.namespace, "own") is None
    assert api.find(CLUSTER_ROLES, None, ROLE) is None
    assert api.find(DEFINITIONS, None, DEFINITION) is not None
