"""A control plane with the lock policies, its users, and the objects of one cluster.

No controller runs here; the tests send the requests of the components of Kubernetes as their users.
The real API server evaluates the requests.
"""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import pytest

from baoctl.generate.admission import parameters
from contracts.admission.policy import PARAMETERS, AdmissionPolicy, as_objects
from contracts.builders.security_context import container_security, pod_security
from contracts.naming import labels, names
from contracts.naming.installation import CONTROLLER, DELEGATE, NAMESPACE, PROVISIONER
from e2e.harness.impersonation import ImpersonatingClient, User, account
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.kube import ApiError
from runtime import builtin_kinds as kinds
from runtime.types import Object, Resource

__all__ = ["NAMESPACE", "PARAMETERS"]

CLUSTER: Final = "c"
SECONDS: Final = 30.0
CLUSTER_ROLE: Final = Resource(
    kinds.ROLE.group, "v1", "ClusterRole", "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDING: Final = Resource(
    kinds.ROLE.group, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
CONTROLLER_REVISION: Final = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")
ENDPOINTS: Final = Resource("", "v1", "Endpoints", "endpoints")
QUOTA: Final = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMITS: Final = Resource("", "v1", "LimitRange", "limitranges")

OPERATOR: Final = account(NAMESPACE, CONTROLLER)
PROVISIONING: Final = account(NAMESPACE, PROVISIONER)
GRANTING: Final = account(NAMESPACE, DELEGATE)
TENANT: Final = User("tina", ("tenants",))
ADMIN: Final = User("ada", ("keepers",))
MASTER: Final = User("root", ("system:masters",))
CERT_MANAGER: Final = account("cert-manager", "cert-manager")
NODE: Final = User("system:node:n1", ("system:nodes",))
SCHEDULER: Final = User("system:kube-scheduler")
ALL_IN_ONE: Final = User("system:kube-controller-manager")


def part(name: str) -> User:
    """A controller of Kubernetes with its own account, as in clusters of kubeadm."""
    return account("kube-system", name)


# All verbs of requests: the tests check the lock policies, not RBAC.
_VERBS = ("get", "list", "create", "update", "patch", "delete", "deletecollection")
_ALL_ROLE = "itest-all"
_KEEPER_ROLE = "itest-keeper"


@dataclass(frozen=True, slots=True)
class Place:
    """A control plane with policies; `ask` impersonates a user."""

    rig: Rig

    def client(self, who: User | None = None) -> ImpersonatingClient:
        """Requests of a user, or of the administrator of the rig."""
        return ImpersonatingClient(self.rig, who)

    def namespace(self, **metadata: dict[str, str]) -> str:
        """Create a new namespace."""
        name = f"locks-{uuid.uuid4().hex[:8]}"
        self.client().create(kinds.NAMESPACE, {"metadata": {"name": name, **metadata}})
        return name


def prepare(rig: Rig, policies: Iterable[AdmissionPolicy]) -> Place:
    """Install the policies with their parameters, and grant all users all permissions."""
    place = Place(rig)
    admin = place.client()
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": [*_VERBS, "bind", "escalate"]}
    keeper = {"apiGroups": ["openbao.org"], "resources": ["*"], "verbs": ["maintain"]}
    groups = ("system:authenticated", *ADMIN.groups)
    for name, rule, group in zip(
        (_ALL_ROLE, _KEEPER_ROLE), (everything, keeper), groups, strict=True
    ):
        ensure(admin, CLUSTER_ROLE, {"metadata": {"name": name}, "rules": [rule]})
        ensure(
            admin,
            CLUSTER_ROLE_BINDING,
            {
                "metadata": {"name": name},
                "roleRef": {
                    "apiGroup": CLUSTER_ROLE.group,
                    "kind": CLUSTER_ROLE.kind,
                    "name": name,
                },
                "subjects": [{"apiGroup": CLUSTER_ROLE.group, "kind": "Group", "name": group}],
            },
        )
    ensure(admin, kinds.NAMESPACE, {"metadata": {"name": NAMESPACE}})
    ensure(admin, kinds.SERVICE_ACCOUNT, parameters())
    for policy in policies:
        rule, binding = as_objects(policy, NAMESPACE)
        ensure(admin, kinds.ADMISSION_POLICY, rule)
        ensure(admin, kinds.ADMISSION_BINDING, binding)
    return place


def ensure(admin: ImpersonatingClient, resource: Resource, body: Object) -> None:
    """Create an object, unless it exists."""
    try:
        admin.create(resource, body)
    except ApiError as error:
        if error.code != 409:
            raise


def remove(rig: Rig, policies: Iterable[AdmissionPolicy]) -> None:
    """Delete the policies, the bindings first, and then the permissions of all users.

    Later tests on this control plane expect refusals by RBAC.
    """
    admin = ImpersonatingClient(rig)
    for policy in policies:
        for resource in (kinds.ADMISSION_BINDING, kinds.ADMISSION_POLICY):
            admin.delete(resource, None, policy.full_name())
    for name in (_ALL_ROLE, _KEEPER_ROLE):
        for resource in (CLUSTER_ROLE_BINDING, CLUSTER_ROLE):
            admin.delete(resource, None, name)
    stranger = ImpersonatingClient(rig, User("nobody"))

    def is_refused() -> bool:
        try:
            stranger.get(kinds.NAMESPACE, None, NAMESPACE)
        except ApiError as error:
            return error.code == 403
        return False

    until("the permissions of all users are removed", is_refused, SECONDS)


def await_refusal(
    client: ImpersonatingClient, resource: Resource, body: Object, words: str
) -> None:
    """Wait until a creation is refused with these words: the policy is enforced."""

    def is_refused() -> bool:
        metadata = body["metadata"]
        try:
            client.create(resource, body)
            # The policy may become effective between the two requests, and refuse this one.
            client.delete(resource, metadata.get("namespace"), metadata["name"])
        except ApiError as error:
            return words in str(error)
        return False

    until(f"the request is refused with {words!r}", is_refused, SECONDS)


def refusal(act: Callable[[], object]) -> str:
    """Check that a policy refuses a request, and return the error."""
    with pytest.raises(ApiError) as caught:
        act()
    value = str(caught.value)
    assert caught.value.code == 403, value
    assert "resulted in error" not in value, value
    return value


def await_allowed(act: Callable[[], object]) -> None:
    """Wait until a request is no longer refused."""

    def is_allowed() -> bool:
        try:
            act()
        except ApiError as error:
            if error.code != 403:
                raise
            return False
        return True

    until("the request is allowed", is_allowed, SECONDS)


# --- the objects of one cluster


def meta(namespace: str, name: str, **more: object) -> Object:
    """Metadata of an object of the cluster."""
    return {"name": name, "namespace": namespace, "labels": labels.base(CLUSTER), **more}


def owner_reference(kind: str, name: str, api_version: str = "apps/v1") -> Object:
    """A controlling owner reference; the owner need not exist."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": "00000000-0000-0000-0000-000000000001",
        "controller": True,
    }


def pod_spec(**more: object) -> Object:
    """The spec of a server pod, with the security settings of the operator."""
    return {
        "serviceAccountName": names.service_account(CLUSTER),
        "automountServiceAccountToken": False,
        "securityContext": pod_security(),
        "containers": [
            {"name": "openbao", "image": "openbao:1", "securityContext": container_security()}
        ],
        "volumes": [{"name": "config", "configMap": {"name": names.config_map(CLUSTER)}}],
        **more,
    }


def pod(namespace: str, name: str = "", **metadata: object) -> Object:
    """A server pod; by default owned by the StatefulSet of the cluster."""
    metadata_of_pod = {
        "labels": labels.server_pod(CLUSTER),
        "ownerReferences": [owner_reference("StatefulSet", CLUSTER)],
        **metadata,
    }
    name = name or names.pod(CLUSTER, 0)
    return {
        "metadata": {"name": name, "namespace": namespace, **metadata_of_pod},
        "spec": pod_spec(nodeName="n1"),
    }


def claim(namespace: str, name: str = "", **metadata: object) -> Object:
    """A data claim."""
    return {
        "metadata": meta(namespace, name or names.data_claim(CLUSTER, 0), **metadata),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def stateful_set(namespace: str, spec: Object | None = None, **metadata: object) -> Object:
    """The StatefulSet, with the given pod spec."""
    template = {"metadata": {"labels": labels.server_pod(CLUSTER)}, "spec": spec or pod_spec()}
    return {
        "metadata": meta(namespace, names.stateful_set(CLUSTER), **metadata),
        "spec": {
            "serviceName": CLUSTER,
            "replicas": 3,
            "selector": {"matchLabels": labels.voters(CLUSTER)},
            "template": template,
        },
    }


def secret(namespace: str, name: str, **metadata: object) -> Object:
    """A Secret of the cluster; by default with an owner."""
    secret_metadata = {
        "ownerReferences": [owner_reference("OpenBaoCluster", CLUSTER, "openbao.org/v1alpha1")]
    }
    return {
        "metadata": meta(namespace, name, **{**secret_metadata, **metadata}),
        "data": {"key": "MDA="},
    }


def config_map(namespace: str, name: str = "", **metadata: object) -> Object:
    """The configuration of the servers."""
    return {
        "metadata": meta(namespace, name or names.config_map(CLUSTER), **metadata),
        "data": {"config.hcl": "ui = false"},
    }


def service(namespace: str) -> Object:
    """The headless Service."""
    return {
        "metadata": meta(namespace, names.headless_service(CLUSTER)),
        "spec": {"clusterIP": "None", "ports": [{"port": 8200}], "selector": {"a": "b"}},
    }
