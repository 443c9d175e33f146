"""An API server that checks permissions for owner references: datacenters and their objects.

Semantics: kube-apiserver 1.36, admission plugin OwnerReferencesPermissionEnforcement.
"""

import uuid
from collections.abc import Callable, Iterator

import pytest

from contracts.api.group import API_VERSION
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from e2e.harness.datacenters import CLUSTER_ROLE, install_datacenters
from e2e.harness.installation import identity, install
from e2e.harness.kubernetes import Api
from e2e.harness.modes import CLUSTER_ROLE as KIND
from e2e.harness.rights import Grain, without
from e2e.harness.waiting import until
from e2e.rbac_minimal.mutation import BoundRole, TokenClient, read_role
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.types import Object, Resource, uid_of

DRY = "?dryRun=All"
HOME = "default"
Make = Callable[[Api], tuple[str, Object]]


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
def role(api: Api) -> Iterator[BoundRole]:
    """The role of the operator for datacenters; restored afterwards."""
    role = read_role(api, KIND, None, CLUSTER_ROLE)
    yield role
    role.write(api, role.rules)


def owner_reference(kind: Resource, name: str, uid: str) -> Object:
    """The owner reference of an owned object."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind.kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def a_row(api: Api) -> tuple[str, Object]:
    """A BootstrapWorkload of an existing datacenter: its path, and the object."""
    name = f"fra{uuid.uuid4().hex[:6]}"
    live = api.create(DATACENTERS, {"metadata": {"name": name}, "spec": {"namespace": HOME}})
    service = {"name": "x", "services": [{"name": "main", "image": "registry.example.com/x:1"}]}
    reference = owner_reference(DATACENTERS, name, uid_of(live))
    spec = {
        "datacenter": name,
        "namespace": HOME,
        "provider": "kubernetes",
        "digest": "0" * 32,
        "source": {"name": "declared"},
        "service": service,
    }
    metadata = {"name": names.workload_name(name, "x"), "ownerReferences": [reference]}
    body = {"apiVersion": API_VERSION, "kind": WORKLOADS.kind, "metadata": metadata, "spec": spec}
    return WORKLOADS.path(None), body


def a_child(api: Api) -> tuple[str, Object]:
    """An object of a BootstrapWorkload."""
    reference = owner_reference(WORKLOADS, "fra1.x", str(uuid.uuid4()))
    metadata = {"name": "fra1-x", "namespace": HOME, "ownerReferences": [reference]}
    return CONFIG_MAP.path(HOME), {"metadata": metadata}


@pytest.mark.parametrize(("owner", "make"), [(DATACENTERS, a_row), (WORKLOADS, a_child)])
def test_owned_objects_need_permission_for_the_finalizers_of_their_owner(
    api: Api, operator: TokenClient, role: BoundRole, owner: Resource, make: Make
) -> None:
    path, body = make(api)

    def dry_run_result() -> tuple[int, str] | None:
        code, words = operator.send("POST", f"{path}{DRY}", body)
        return None if "cannot find RESTMapping" in words else (code, words)

    # The plugin discovers new kinds every ten seconds.
    code, words = until("the plugin knows the kind", dry_run_result, 30.0)
    assert code == 201, words
    finalizers = Grain(owner.group, f"{owner.plural}/finalizers", "update")
    role.write(api, without(role.rules, finalizers))
    assert operator.loses(finalizers, HOME)
    code, words = operator.send("POST", f"{path}{DRY}", body)
    assert code == 403
    assert "blockOwnerDeletion" in words
