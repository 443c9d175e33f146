"""The policies for writes of the operator on a real API server, independent of its RBAC."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from contracts.admission.operator_pods import LEVEL, LOCK_PODS
from contracts.admission.operator_writes import CONTROLLER_POLICIES
from contracts.builders.security_context import LOW_PORTS, container_security, pod_security
from contracts.naming import labels, names
from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.harness.impersonation import ImpersonatingClient
from e2e.rig import Rig
from e2e.rig.kube import ApiError
from runtime import builtin_kinds as kinds
from runtime.types import Object, Resource
from tests.integration import locked
from tests.integration.locked import CLUSTER, OPERATOR, TENANT, Place, meta, pod_spec

POLICIES = (LOCK_PODS, *CONTROLLER_POLICIES)
Act = Callable[[ImpersonatingClient, str], Any]
SET = names.stateful_set(CLUSTER)
ACCOUNT = names.service_account(CLUSTER)


@pytest.fixture(scope="module")
def place(control_plane: Rig) -> Iterator[Place]:
    """The control plane with all policies."""
    place = locked.prepare(control_plane, POLICIES)
    where = place.namespace()
    operator = place.client(OPERATOR)
    stray = {"metadata": {"name": "stray", "namespace": where}}
    for kind, words in ((kinds.SECRET, "of a cluster only"), (kinds.SERVICE_ACCOUNT, "of a cl")):
        locked.await_refusal(operator, kind, stray, words)
    locked.await_refusal(operator, kinds.ROLE, {**stray, "rules": []}, "of a cluster only")
    loose = locked.stateful_set(where, pod_spec(hostNetwork=True))
    locked.await_refusal(operator, kinds.STATEFUL_SET, loose, "must not share network")
    yield place
    locked.remove(control_plane, POLICIES)


@pytest.fixture
def home(place: Place) -> str:
    return place.namespace()


# --- pods


def _container(**security: object) -> Object:
    confined = {**container_security(), **security}
    return {"containers": [{"name": "openbao", "image": "a", "securityContext": confined}]}


def _security(**more: object) -> Object:
    return {"securityContext": {**pod_security(), **more}}


def _volume(**source: object) -> Object:
    return {"volumes": [{"name": "one", **source}]}


ABOVE: dict[str, tuple[Object, str]] = {
    "the network of the node": ({"hostNetwork": True}, "must not share network"),
    "the processes of the node": ({"hostPID": True}, "must not share network"),
    "the memory of the node": ({"hostIPC": True}, "must not share network"),
    "a directory of the node": (_volume(hostPath={"path": "/"}), "volumes"),
    "a volume of a driver": (_volume(csi={"driver": "a"}), "volumes"),
    "a token everywhere": ({"automountServiceAccountToken": True}, "automount"),
    "a token by default": ({"automountServiceAccountToken": None}, "automount"),
    "privileged": (
        _container(privileged=True, allowPrivilegeEscalation=True),
        "must drop all capabilities",
    ),
    "escalation": (_container(allowPrivilegeEscalation=True), "must drop all capabilities"),
    "a capability": (
        _container(capabilities={"drop": ["ALL"], "add": ["NET_RAW"]}),
        "must drop all capabilities",
    ),
    "not all dropped": (_container(capabilities={"drop": ["KILL"]}), "must drop all capabilities"),
    "an init container": (
        {"initContainers": [{"name": "a", "image": "a"}]},
        "must drop all capabilities",
    ),
    "root": (_security(runAsUser=0), "must not run as root"),
    "runAsNonRoot disabled": (_security(runAsNonRoot=False), "must not run as root"),
    "a root container": (_container(runAsUser=0), "must not run as root"),
    "no seccomp": (_security(seccompProfile={"type": "Unconfined"}), "seccomp"),
    "seccomp absent": (_security(seccompProfile=None), "seccomp"),
    "an unsafe sysctl": (_security(sysctls=[{"name": "kernel.msgmax", "value": "1"}]), "sysctls"),
    "another SELinux type": (_security(seLinuxOptions={"type": "spc_t"}), "sysctls"),
}


@pytest.mark.parametrize("what", ABOVE)
def test_the_operator_may_not_create_such_a_pod(place: Place, home: str, what: str) -> None:
    more, words = ABOVE[what]
    body = locked.stateful_set(home, pod_spec(**more))
    assert words in locked.refusal(lambda: place.client(OPERATOR).create(kinds.STATEFUL_SET, body))
    place.client(OPERATOR).create(kinds.STATEFUL_SET, locked.stateful_set(home))
    with pytest.raises(ApiError, match=words):
        place.client(OPERATOR).patch(
            kinds.STATEFUL_SET, home, SET, {"spec": {"template": {"spec": more}}}
        )


def test_objects_of_other_users_are_not_restricted(place: Place, home: str) -> None:
    body = locked.stateful_set(home, pod_spec(hostNetwork=True))
    place.client(TENANT).create(kinds.STATEFUL_SET, body)
    # The operator may still scale an existing StatefulSet.
    place.client(OPERATOR).patch(kinds.STATEFUL_SET, home, SET, {"spec": {"replicas": 1}})


OPENED: dict[str, tuple[str, Object]] = {
    "root": ("baseline", _security(runAsUser=0, runAsNonRoot=False)),
    "no seccomp": ("privileged", _security(seccompProfile={"type": "Unconfined"})),
}


@pytest.mark.parametrize("what", OPENED)
def test_the_level_of_the_namespace_applies_to_servers(place: Place, what: str) -> None:
    level, more = OPENED[what]
    where = place.namespace(labels={LEVEL: level})
    body = locked.stateful_set(where, pod_spec(**more))
    place.client(OPERATOR).create(kinds.STATEFUL_SET, body)
    with pytest.raises(ApiError, match="must not share network"):
        place.client(OPERATOR).patch(
            kinds.STATEFUL_SET, where, SET, {"spec": {"template": {"spec": {"hostNetwork": True}}}}
        )


PLANNED: dict[str, Object] = {
    "another image": _container(),
    "mode ACME": _security(sysctls=[LOW_PORTS]),
    "audit files": _volume(persistentVolumeClaim={"claimName": "c-audit"}),
    "plugins": _volume(emptyDir={}),
    "a seal": _volume(projected={"sources": [{"secret": {"name": "c-unseal-key"}}]}),
    "a Secret": _volume(secret={"secretName": "c-tls-server"}),
    "a fence": {"schedulingGates": [{"name": labels.FENCE_GATE}]},
    "OpenShift": _security(runAsUser=None, runAsGroup=None, fsGroup=None),
    "first boot": {
        "containers": [
            {
                "name": "openbao",
                "image": "a",
                "command": ["bao", "server", "-config=/a", "-config=/b"],
                "securityContext": container_security(),
            }
        ]
    },
}


@pytest.mark.parametrize("what", PLANNED)
def test_b12_planned_changes_are_allowed(place: Place, home: str, what: str) -> None:
    operator = place.client(OPERATOR)
    operator.create(kinds.STATEFUL_SET, locked.stateful_set(home))
    change = {"spec": {"template": {"spec": PLANNED[what]}}}
    live = operator.patch(kinds.STATEFUL_SET, home, SET, change)
    assert live["metadata"]["generation"] == 2


def _ephemeral(name: str, security: Object | None) -> Object:
    one: Object = {"name": name, "image": "a", "targetContainerName": "openbao"}
    return {**one, "securityContext": security} if security else one


def test_only_containers_that_the_operator_adds_are_restricted(place: Place, home: str) -> None:
    operator, tenant = place.client(OPERATOR), place.client(TENANT)
    tenant.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": ACCOUNT, "namespace": home}})
    tenant.create(kinds.POD, locked.pod(home))
    debug = _ephemeral("debug", None)
    mine = _ephemeral("reload-1", container_security())
    tenant.patch(
        kinds.POD,
        home,
        "c-0",
        {"spec": {"ephemeralContainers": [debug]}},
        subresource="ephemeralcontainers",
    )
    change = {"spec": {"ephemeralContainers": [debug, mine]}}
    operator.patch(kinds.POD, home, "c-0", change, subresource="ephemeralcontainers")
    loose = _ephemeral("reload-2", {"privileged": True})
    change = {"spec": {"ephemeralContainers": [debug, mine, loose]}}
    with pytest.raises(ApiError, match="must drop all capabilities"):
        operator.patch(kinds.POD, home, "c-0", change, subresource="ephemeralcontainers")


# --- Roles, Secrets, accounts


def _role(where: str, name: str = "", rules: list[Object] | None = None) -> Object:
    usual = {
        "apiGroups": [""],
        "resources": ["pods"],
        "resourceNames": ["c-0", "c-read-0"],
        "verbs": ["get", "patch", "update"],
    }
    return {
        "metadata": meta(where, name or names.role(ACCOUNT)),
        "rules": [usual] if rules is None else rules,
    }


def _binding(
    where: str, subject: Object | None = None, *, kind: str = "Role", name: str = ""
) -> Object:
    usual = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": where}
    return {
        "metadata": meta(where, names.role_binding(ACCOUNT)),
        "roleRef": {
            "apiGroup": kinds.ROLE.group,
            "kind": kind,
            "name": name or names.role(ACCOUNT),
        },
        "subjects": [subject or usual],
    }


def _pods(**more: object) -> list[Object]:
    usual = {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["c-0"], "verbs": ["get"]}
    return [{**usual, **more}]


def _account(where: str, **more: object) -> Object:
    usual = {"automountServiceAccountToken": False}
    return {"metadata": meta(where, ACCOUNT), **usual, **more}


def _creates(kind: Any, body: Callable[[str], Object]) -> Act:
    return lambda client, where: client.create(kind, body(where))


def _token(where: str, name: str) -> Act:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}

    def run(client: ImpersonatingClient, home: str) -> None:
        metadata = {"name": name, "namespace": where or home}
        client.create(kinds.SERVICE_ACCOUNT, {**body, "metadata": metadata}, subresource="token")

    return run


BODIES: dict[Resource, dict[str, Callable[[str], Object]]] = {
    kinds.ROLE: {
        "a Role that reads Secrets": partial(_role, rules=_pods(resources=["secrets"])),
        "a Role over all pods": partial(_role, rules=_pods(resourceNames=[])),
        "a Role over pods of another cluster": partial(_role, rules=_pods(resourceNames=["d-0"])),
        "a Role that deletes pods": partial(_role, rules=_pods(verbs=["delete"])),
        "a Role that may do anything": partial(_role, rules=_pods(verbs=["*"])),
        "a Role with another name format": partial(_role, name="powerful"),
    },
    kinds.ROLE_BINDING: {
        "a binding to a ClusterRole": partial(_binding, kind="ClusterRole"),
        "a binding to another Role": partial(_binding, name="powerful"),
        "a binding for a user": partial(
            _binding, subject={"apiGroup": kinds.ROLE.group, "kind": "User", "name": "eve"}
        ),
        "a binding for an account of another namespace": partial(
            _binding,
            subject={"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"},
        ),
    },
    kinds.SECRET: {
        "a Secret of another name": partial(locked.secret, name="c-config"),
        "a Secret of another cluster": partial(locked.secret, name="d-tls-server"),
        "a Secret without labels": lambda at: {
            "metadata": {"name": "c-tls-server", "namespace": at}
        },
    },
    kinds.SERVICE_ACCOUNT: {
        "an account that mounts its token": partial(_account, automountServiceAccountToken=True),
        "an account with Secrets": partial(_account, secrets=[{"name": "a"}]),
    },
}
BEYOND: dict[str, Act] = {
    **{
        what: _creates(kind, body)
        for kind, bodies in BODIES.items()
        for what, body in bodies.items()
    },
    "a token of a tenant's account": _token("", "default"),
    "a token of another account of its own namespace": _token(NAMESPACE, "default"),
}


@pytest.mark.parametrize("what", BEYOND)
def test_the_operator_may_not_write(place: Place, home: str, what: str) -> None:
    for where in (home, NAMESPACE):
        default = {"metadata": {"name": "default", "namespace": where}}
        locked.ensure(place.client(), kinds.SERVICE_ACCOUNT, default)
    assert "denied request" in locked.refusal(lambda: BEYOND[what](place.client(OPERATOR), home))


def test_a_secret_of_a_user_needs_the_adopt_annotation(place: Place, home: str) -> None:
    name, operator = names.tls_server_secret(CLUSTER), place.client(OPERATOR)
    place.client(TENANT).create(kinds.SECRET, {"metadata": {"name": name, "namespace": home}})
    change = {"metadata": {"labels": labels.base(CLUSTER)}, "data": {"key": "MDA="}}
    with pytest.raises(ApiError, match="not managed by the operator"):
        operator.patch(kinds.SECRET, home, name, change)
    adopt = {"metadata": {"annotations": {labels.ADOPT: CLUSTER}}}
    place.client(TENANT).patch(kinds.SECRET, home, name, adopt)
    operator.patch(kinds.SECRET, home, name, change)


def test_the_writes_of_the_operator_are_allowed(place: Place, home: str) -> None:
    operator = place.client(OPERATOR)
    operator.create(kinds.SERVICE_ACCOUNT, _account(home))
    operator.create(kinds.ROLE, _role(home))
    operator.create(kinds.ROLE_BINDING, _binding(home))
    for name in (
        names.tls_ca_secret(CLUSTER),
        names.tls_server_secret(CLUSTER),
        names.unseal_key_secret(CLUSTER),
        names.unseal_key_secret(CLUSTER, 2),
        names.root_token_secret(CLUSTER),
        names.recovery_shares_secret(CLUSTER),
    ):
        operator.create(kinds.SECRET, locked.secret(home, name))
        operator.patch(kinds.SECRET, home, name, {"metadata": {"ownerReferences": None}})
    operator.delete(kinds.ROLE, home, names.role(ACCOUNT))
    locked.ensure(
        place.client(),
        kinds.SERVICE_ACCOUNT,
        {"metadata": {"name": CONTROLLER, "namespace": NAMESPACE}},
    )
    _token(NAMESPACE, CONTROLLER)(operator, home)
