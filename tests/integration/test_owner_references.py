"""An API server that checks permissions for owner references, as OpenShift does.

Semantics: kube-apiserver 1.36, admission plugin OwnerReferencesPermissionEnforcement.
"""

import base64
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from e2e.harness.installation import apply_rights, identity, install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.rights import Grain, without
from e2e.harness.waiting import until
from e2e.rbac_minimal.mutation import CLUSTER_ROLE, BoundRole, TokenClient, roles_of_controller
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.types import Object, uid_of

NAME, KEY = "bao", "bao-unseal-key"
FINALIZERS = Grain(CLUSTERS.group, f"{CLUSTERS.plural}/finalizers", "update")
SECONDS = 5.0
DRY = "?dryRun=All"
ORPHAN = [{"op": "remove", "path": "/metadata/ownerReferences"}]


@pytest.fixture(scope="module")
def api(control_plane: Rig) -> Api:
    """An administrator client; the RBAC of the operator is installed."""
    install(control_plane)
    return Api(control_plane)


@pytest.fixture(scope="module")
def operator(api: Api, tmp_path_factory: pytest.TempPathFactory) -> TokenClient:
    """The identity of the operator, once the plugin knows the kind of clusters."""
    client = TokenClient(api, identity(api.rig, api, tmp_path_factory.mktemp("identity")))
    owner = {"kind": CLUSTERS.kind, "name": NAME, "uid": "none", "blockOwnerDeletion": True}
    owner["apiVersion"] = CLUSTERS.api_version
    metadata = {"name": "trial", "ownerReferences": [owner]}

    def is_known() -> bool:
        _, words = client.send("POST", CONFIG_MAP.path("default") + DRY, {"metadata": metadata})
        return "cannot find RESTMapping" not in words

    # It discovers new kinds every ten seconds.
    until("the plugin knows the kind", is_known, 30.0)
    return client


@pytest.fixture
def role(api: Api) -> Iterator[BoundRole]:
    """The cluster-wide role of the operator; restored afterwards."""
    cluster_role = next(role for role in roles_of_controller(api) if role.resource == CLUSTER_ROLE)
    yield cluster_role
    cluster_role.write(api, cluster_role.rules)


@pytest.fixture
def owner(api: Api, namespace: str) -> Object:
    """The owner reference of the objects of a cluster."""
    live = api.create(CLUSTERS, manifest(namespace, NAME))
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "name": NAME,
        "uid": uid_of(live),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_an_owned_object_takes_the_right_on_the_finalizers_of_its_owner(
    api: Api, operator: TokenClient, role: BoundRole, namespace: str, owner: Object
) -> None:
    body = {"metadata": {"name": "owned", "namespace": namespace, "ownerReferences": [owner]}}
    code, words = operator.send("POST", f"{CONFIG_MAP.path(namespace)}{DRY}", body)
    assert code == 201, words
    role.write(api, without(role.rules, FINALIZERS))
    assert operator.loses(FINALIZERS, namespace)
    code, words = operator.send("POST", f"{CONFIG_MAP.path(namespace)}{DRY}", body)
    assert code == 403
    assert "blockOwnerDeletion" in words


def test_a_retained_key_needs_permission_to_delete_it(
    api: Api, operator: TokenClient, control_plane: Rig, namespace: str, owner: Object
) -> None:
    metadata = {"name": KEY, "namespace": namespace, "ownerReferences": [owner]}
    data = {"key": base64.b64encode(b"x").decode()}
    api.create(SECRET, {"metadata": metadata, "data": data})
    where = f"{SECRET.path(namespace, KEY)}{DRY}"
    code, words = operator.send("PATCH", where, ORPHAN)
    assert code == 403
    assert "delete" in words
    apply_rights(control_plane, "owner-references")
    try:
        assert operator.gains(Grain("", SECRET.plural, "delete", KEY), namespace)
        code, words = operator.send("PATCH", where, ORPHAN)
        assert code == 200, words
    finally:
        name = "openbao-operator-owner-references"
        control_plane.kubectl("delete", f"clusterrole/{name}", f"clusterrolebinding/{name}")
