"""The policies for writes of the provisioner and its delegate on a real API server."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from contracts import tenancy
from contracts.admission.operator_pods import LEVEL
from contracts.admission.provisioner_writes import PROVISIONER_POLICIES
from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.harness.impersonation import ImpersonatingClient, User
from e2e.rig import Rig
from runtime import builtin_kinds as kinds
from runtime.types import Object
from tests.integration import locked
from tests.integration.locked import GRANTING, LIMITS, PROVISIONING, QUOTA, TENANT, Place

Act = Callable[[ImpersonatingClient, str], Any]


@pytest.fixture(scope="module")
def place(control_plane: Rig) -> Iterator[Place]:
    """The control plane with the policies for the provisioner."""
    place = locked.prepare(control_plane, PROVISIONER_POLICIES)
    where = place.namespace()
    provisioner = place.client(PROVISIONING)
    stray = {"metadata": {"name": "stray", "namespace": where}}
    locked.await_refusal(provisioner, kinds.ROLE, {**stray, "rules": []}, "of a tenant only")
    locked.await_refusal(provisioner, QUOTA, {**stray, "spec": {}}, "of a tenant only")
    space = {"metadata": {"name": f"{where}-x"}}
    locked.await_refusal(provisioner, kinds.NAMESPACE, space, "delete namespaces")
    yield place
    locked.remove(control_plane, PROVISIONER_POLICIES)


@pytest.fixture
def home(place: Place) -> str:
    return place.namespace()


def _creates(kind: Any, body: Callable[[str], Object]) -> Act:
    return lambda client, where: client.create(kind, body(where))


def _grant(where: str, name: str = tenancy.TENANT_ROLE, **rule: object) -> Object:
    usual = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    return {"metadata": {"name": name, "namespace": where}, "rules": [{**usual, **rule}]}


def _binding(where: str, name: str = tenancy.TENANT_BINDING, **more: object) -> Object:
    return {
        "metadata": {"name": name, "namespace": where},
        "roleRef": {"apiGroup": kinds.ROLE.group, "kind": "Role", "name": tenancy.TENANT_ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": CONTROLLER, "namespace": NAMESPACE}],
        **more,
    }


def _role_ref(kind: str, name: str) -> Object:
    return {"apiGroup": kinds.ROLE.group, "kind": kind, "name": name}


def _to(kind: str, name: str, namespace: str = "") -> list[Object]:
    one: Object = {"kind": kind, "name": name}
    return [{**one, "namespace": namespace} if namespace else {**one, "apiGroup": _GROUP}]


_GROUP = kinds.ROLE.group
_SECRET: dict[str, Any] = {"resources": ["secrets"], "resourceNames": ["a"]}
GRANTS: dict[str, dict[str, Any]] = {
    "a Role of another name": {"name": "mine"},
    "a wildcard of verbs": {"verbs": ["*"]},
    "a wildcard of kinds": {"resources": ["*"]},
    "a wildcard of subresources": {"resources": ["*/log"]},
    "a wildcard of groups": {"apiGroups": ["*"]},
    "more rights than its own": {
        "apiGroups": [_GROUP],
        "resources": ["roles"],
        "verbs": ["escalate"],
    },
    "tokens of others": {"resources": ["serviceaccounts/token"], "verbs": ["create"]},
    "Secrets in the tenant's Role": _SECRET,
    "all Secrets": {"name": tenancy.READER_ROLE, "resources": ["secrets"]},
    "a list of Secrets": {"name": tenancy.WRITER_ROLE, **_SECRET, "verbs": ["list"]},
    "a reader that writes": {"name": tenancy.READER_ROLE, **_SECRET, "verbs": ["patch"]},
    "another kind among the Secrets": {"name": tenancy.READER_ROLE, "resourceNames": ["a"]},
}
BINDINGS: dict[str, dict[str, Any]] = {
    "a binding of another name": {"name": "mine"},
    "a binding to another Role": {"roleRef": _role_ref("Role", tenancy.WRITER_ROLE)},
    "a binding to a ClusterRole": {"roleRef": _role_ref("ClusterRole", tenancy.TENANT_ROLE)},
    "a binding for a user": {"subjects": _to("User", "eve")},
    "a binding for another account": {"subjects": _to("ServiceAccount", "default", NAMESPACE)},
}
BEYOND_GRANTS: dict[str, Act] = {
    **{what: _creates(kinds.ROLE, partial(_grant, **rule)) for what, rule in GRANTS.items()},
    **{
        what: _creates(kinds.ROLE_BINDING, partial(_binding, **more))
        for what, more in BINDINGS.items()
    },
    "a binding for an account of another namespace": _creates(
        kinds.ROLE_BINDING, lambda at: _binding(at, subjects=_to("ServiceAccount", CONTROLLER, at))
    ),
    "another quota": _creates(
        QUOTA, lambda at: {"metadata": {"name": "mine", "namespace": at}, "spec": {}}
    ),
    "another limit range": _creates(
        LIMITS, lambda at: {"metadata": {"name": "mine", "namespace": at}, "spec": {"limits": []}}
    ),
    "deleting a namespace": lambda client, at: client.delete(kinds.NAMESPACE, None, at),
    "another label on a namespace": lambda client, at: client.patch(
        kinds.NAMESPACE, None, at, {"metadata": {"labels": {"team": "b"}}}
    ),
    "a lower security level of a namespace": lambda client, at: client.patch(
        kinds.NAMESPACE, None, at, {"metadata": {"labels": {LEVEL: "privileged"}}}
    ),
}


@pytest.mark.parametrize("who", [PROVISIONING, GRANTING], ids=["provisioner", "delegate"])
@pytest.mark.parametrize("what", BEYOND_GRANTS)
def test_the_provisioner_may_not_grant(place: Place, home: str, what: str, who: User) -> None:
    assert "denied request" in locked.refusal(lambda: BEYOND_GRANTS[what](place.client(who), home))


def test_the_writes_of_the_provisioner_are_allowed(place: Place, home: str) -> None:
    delegate, provisioner = place.client(GRANTING), place.client(PROVISIONING)
    delegate.create(kinds.ROLE, _grant(home))
    reads = _grant(home, tenancy.READER_ROLE, **_SECRET)
    delegate.create(kinds.ROLE, reads)
    writes = _grant(home, tenancy.WRITER_ROLE, **{**_SECRET, "verbs": ["get", "patch"]})
    writes["rules"].append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]})
    delegate.create(kinds.ROLE, writes)
    for binding, role in zip(tenancy.BINDINGS, tenancy.ROLES, strict=True):
        body = _binding(home, binding, roleRef=_role_ref("Role", role))
        delegate.create(kinds.ROLE_BINDING, body)
        delegate.delete(kinds.ROLE_BINDING, home, binding)
        delegate.delete(kinds.ROLE, home, role)
    metadata = {"name": tenancy.QUOTA, "namespace": home}
    provisioner.create(QUOTA, {"metadata": metadata, "spec": {"hard": {"pods": "5"}}})
    metadata = {"name": tenancy.LIMITS, "namespace": home}
    provisioner.create(LIMITS, {"metadata": metadata, "spec": {"limits": []}})
    provisioner.patch(kinds.NAMESPACE, None, home, {"metadata": {"labels": {LEVEL: "restricted"}}})


def test_other_users_are_not_restricted(place: Place, home: str) -> None:
    tenant = place.client(TENANT)
    tenant.create(kinds.ROLE, _grant(home, "mine", verbs=["*"]))
    tenant.create(kinds.SECRET, {"metadata": {"name": "mine", "namespace": home}})
    tenant.patch(kinds.NAMESPACE, None, home, {"metadata": {"labels": {"team": "b"}}})
