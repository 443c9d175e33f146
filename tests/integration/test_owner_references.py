"""An API server that checks permissions for owner references, as OpenShift does.

Semantics: kube-apiserver 1.36, admission plugin OwnerReferencesPermissionEnforcement.
"""

import base64
import uuid
from collections.abc import Callable, Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from e2e.harness.datacenters import CLUSTER_ROLE as DATACENTER_ROLE
from e2e.harness.datacenters import install_datacenters
from e2e.harness.installation import apply_rights, identity, install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.modes import CLUSTER_ROLE as KIND
from e2e.harness.rights import Permission, without
from e2e.harness.waiting import until
from e2e.rbac_minimal.mutation import (
    CLUSTER_ROLE,
    BoundRole,
    TokenClient,
    read_role,
    roles_of_controller,
)
from e2e.rig import Rig
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.types import Object, Resource, uid_of

NAME, KEY = "bao", "bao-unseal-key"
DRY = "?dryRun=All"
ORPHAN = [{"op": "remove", "path": "/metadata/ownerReferences"}]
Make = Callable[[Api, str], tuple[str, Object]]


@pytest.fixture(scope="module")
def api(control_plane: Rig) -> Api:
    """An administrator client; the RBAC of the operator is installed."""
    install(control_plane)
    install_datacenters(control_plane)
    return Api(control_plane)


@pytest.fixture(scope="module")
def operator(api: Api, tmp_path_factory: pytest.TempPathFactory) -> TokenClient:
    """The identity of the operator, without a process."""
    return TokenClient(api, identity(api.rig, api, tmp_path_factory.mktemp("identity")))


@pytest.fixture
def roles(api: Api) -> Iterator[dict[Resource, BoundRole]]:
    """The roles of the operator by the kind of owners; restored afterwards."""
    clusters = next(role for role in roles_of_controller(api) if role.resource == CLUSTER_ROLE)
    datacenters = read_role(api, KIND, None, DATACENTER_ROLE)
    yield {CLUSTERS: clusters, DATACENTERS: datacenters, WORKLOADS: datacenters}
    for role in (clusters, datacenters):
        role.write(api, role.rules)


def _reference(kind: Resource, name: str, uid: str) -> Object:
    return Owner(kind.api_version, kind.kind, "", name, uid).reference()


def _reference_of_cluster(api: Api, namespace: str) -> Object:
    return _reference(CLUSTERS, NAME, uid_of(api.create(CLUSTERS, manifest(namespace, NAME))))


def _object_of_cluster(api: Api, namespace: str) -> tuple[str, Object]:
    references = [_reference_of_cluster(api, namespace)]
    metadata = {"name": "owned", "namespace": namespace, "ownerReferences": references}
    return CONFIG_MAP.path(namespace), {"metadata": metadata}


def _workload_of_datacenter(api: Api, namespace: str) -> tuple[str, Object]:
    name = f"fra{uuid.uuid4().hex[:6]}"
    live = api.create(DATACENTERS, {"metadata": {"name": name}, "spec": {"namespace": namespace}})
    service = {"name": "x", "services": [{"name": "main", "image": "registry.example.com/x:1"}]}
    references = [_reference(DATACENTERS, name, uid_of(live))]
    spec = {
        "datacenter": name,
        "namespace": namespace,
        "provider": "kubernetes",
        "digest": "0" * 32,
        "source": {"name": "declared"},
        "service": service,
    }
    metadata = {"name": names.workload_name(name, "x"), "ownerReferences": references}
    head = {"apiVersion": WORKLOADS.api_version, "kind": WORKLOADS.kind}
    return WORKLOADS.path(None), {**head, "metadata": metadata, "spec": spec}


def _object_of_workload(api: Api, namespace: str) -> tuple[str, Object]:
    references = [_reference(WORKLOADS, "fra1.x", str(uuid.uuid4()))]
    metadata = {"name": "fra1-x", "namespace": namespace, "ownerReferences": references}
    return CONFIG_MAP.path(namespace), {"metadata": metadata}


@pytest.mark.parametrize(
    ("owner", "make"),
    [
        (CLUSTERS, _object_of_cluster),
        (DATACENTERS, _workload_of_datacenter),
        (WORKLOADS, _object_of_workload),
    ],
    ids=["cluster", "datacenter", "workload"],
)
def test_an_owned_object_takes_the_right_on_the_finalizers_of_its_owner(
    api: Api,
    operator: TokenClient,
    roles: dict[Resource, BoundRole],
    namespace: str,
    owner: Resource,
    make: Make,
) -> None:
    path, body = make(api, namespace)

    def dry_run_result() -> tuple[int, str] | None:
        code, words = operator.send("POST", f"{path}{DRY}", body)
        return None if "cannot find RESTMapping" in words else (code, words)

    # The plugin discovers new kinds every ten seconds.
    code, words = until("the plugin knows the kind", dry_run_result, 30.0)
    assert code == 201, words
    finalizers = Permission(owner.group, f"{owner.plural}/finalizers", "update")
    roles[owner].write(api, without(roles[owner].rules, finalizers))
    assert operator.loses(finalizers, namespace)
    code, words = operator.send("POST", f"{path}{DRY}", body)
    assert code == 403
    assert "blockOwnerDeletion" in words


def test_a_retained_key_needs_permission_to_delete_it(
    api: Api, operator: TokenClient, control_plane: Rig, namespace: str
) -> None:
    references = [_reference_of_cluster(api, namespace)]
    metadata = {"name": KEY, "namespace": namespace, "ownerReferences": references}
    data = {"key": base64.b64encode(b"x").decode()}
    api.create(SECRET, {"metadata": metadata, "data": data})
    where = f"{SECRET.path(namespace, KEY)}{DRY}"
    code, words = operator.send("PATCH", where, ORPHAN)
    assert code == 403
    assert "delete" in words
    apply_rights(control_plane, "owner-references")
    try:
        assert operator.gains(Permission("", SECRET.plural, "delete", KEY), namespace)
        code, words = operator.send("PATCH", where, ORPHAN)
        assert code == 200, words
    finally:
        name = "openbao-operator-owner-references"
        control_plane.kubectl("delete", f"clusterrole/{name}", f"clusterrolebinding/{name}")
