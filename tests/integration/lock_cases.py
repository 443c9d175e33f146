"""A table of allowed and refused requests for objects of a cluster, with the lock policies.

An entry has the user and the request; the name "" means the ServiceAccount of a server.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from contracts.naming import labels, names
from e2e.harness.impersonation import ImpersonatingClient, User, account
from runtime import builtin_kinds as kinds
from runtime.types import Object, Resource
from tests.integration import locked
from tests.integration.locked import (
    ADMIN,
    ALL_IN_ONE,
    CERT_MANAGER,
    CLUSTER,
    CONTROLLER_REVISION,
    ENDPOINTS,
    GRANTING,
    MASTER,
    OPERATOR,
    SCHEDULER,
    TENANT,
    meta,
    owner_reference,
    part,
)

MARK = {"metadata": {"annotations": {labels.MAINTENANCE: "true"}}}
GC, NAMESPACES = part("generic-garbage-collector"), part("namespace-controller")
SETS, JOBS = part("statefulset-controller"), part("job-controller")
OURS = {labels.MANAGED_BY: labels.OPERATOR}

Act = Callable[[ImpersonatingClient, str], Any]


def patch(resource: Resource, name: str, change: Any, subresource: str | None = None) -> Act:
    return lambda client, where: client.patch(
        resource, where, name, change, subresource=subresource
    )


def delete(resource: Resource, name: str, **options: Any) -> Act:
    return lambda client, where: client.delete(resource, where, name, **options)


def create(resource: Resource, body: Callable[[str], Object]) -> Act:
    return lambda client, where: client.create(resource, body(where))


def _first_marked(act: Act, resource: Resource, name: str) -> Act:
    def run(client: ImpersonatingClient, where: str) -> None:
        client.patch(resource, where, name, MARK)
        act(client, where)

    return run


def _with_label(name: str, value: str | None) -> Object:
    return {"metadata": {"labels": {name: value}}}


def with_annotation(name: str, value: str | None) -> Object:
    return {"metadata": {"annotations": {name: value}}}


POD, CLAIM = names.pod(CLUSTER, 0), names.data_claim(CLUSTER, 0)
CONFIG, SET = names.config_map(CLUSTER), names.stateful_set(CLUSTER)
UNSEAL, SERVING = names.unseal_key_secret(CLUSTER), names.tls_server_secret(CLUSTER)
EDIT = patch(kinds.CONFIG_MAP, CONFIG, {"data": {"config.hcl": "ui = true"}})
SCALE_UP = patch(kinds.STATEFUL_SET, SET, {"spec": {"replicas": 5}})
WITHOUT_OWNER = patch(kinds.SECRET, UNSEAL, {"metadata": {"ownerReferences": None}})
FENCE = {"metadata": {"labels": {labels.SERVER_ACTIVE: "true"}}}


def _theirs_with_our_label(where: str) -> Object:
    return {"metadata": {"name": "mine", "namespace": where, "labels": OURS}, "data": {"a": "b"}}


def _pod_of_a_replica_set(where: str) -> Object:
    return locked.pod(where, "rogue", ownerReferences=[owner_reference("ReplicaSet", "mine")])


def _pod_of_a_strange_set(where: str) -> Object:
    return locked.pod(where, "rogue-0", ownerReferences=[owner_reference("StatefulSet", "rogue")])


def _pod_of_a_revision(digits: str) -> Callable[[str], Object]:
    owner = f"{SET}-{digits}"
    return lambda at: locked.pod(
        at, f"{owner}-0", ownerReferences=[owner_reference("StatefulSet", owner)]
    )


def _server_pod_of_a_job(where: str) -> Object:
    return locked.pod(where, "rogue", ownerReferences=[owner_reference("Job", "mine", "batch/v1")])


def _debug(name: str) -> Object:
    one = {"name": name, "image": "sh", "targetContainerName": "openbao"}
    return {"spec": {"ephemeralContainers": [one]}}


class Attempt(NamedTuple):
    who: User
    act: Act


REFUSED: dict[str, Attempt] = {
    "a tenant edits the configuration": Attempt(TENANT, EDIT),
    "cert-manager writes a certificate": Attempt(
        CERT_MANAGER, patch(kinds.SECRET, SERVING, {"data": {"tls.crt": "MDA="}})
    ),
    "an administrator edits without the annotation": Attempt(ADMIN, EDIT),
    "a master edits without the annotation": Attempt(MASTER, EDIT),
    "a tenant adds the maintenance annotation": Attempt(
        TENANT, patch(kinds.CONFIG_MAP, CONFIG, MARK)
    ),
    "an administrator annotates and edits in one request": Attempt(
        ADMIN, patch(kinds.CONFIG_MAP, CONFIG, {**MARK, "data": {"config.hcl": "ui = true"}})
    ),
    "a tenant adds our label": Attempt(TENANT, create(kinds.CONFIG_MAP, _theirs_with_our_label)),
    "a tenant removes our label": Attempt(
        TENANT, patch(kinds.CONFIG_MAP, CONFIG, _with_label(labels.MANAGED_BY, None))
    ),
    "a tenant moves an object to another cluster": Attempt(
        TENANT, patch(kinds.CONFIG_MAP, CONFIG, _with_label(labels.CLUSTER, "other"))
    ),
    "a tenant changes the owner annotation": Attempt(
        TENANT, patch(kinds.PVC, CLAIM, with_annotation(labels.OWNER_UID, "1"))
    ),
    "a tenant adds the adopt annotation": Attempt(
        TENANT, patch(kinds.SECRET, UNSEAL, with_annotation(labels.ADOPT, "other"))
    ),
    "a tenant removes an owner reference": Attempt(TENANT, WITHOUT_OWNER),
    "a tenant deletes the key": Attempt(TENANT, delete(kinds.SECRET, UNSEAL)),
    "a tenant deletes the CA": Attempt(TENANT, delete(kinds.SECRET, names.tls_ca_secret(CLUSTER))),
    "a tenant deletes the StatefulSet": Attempt(TENANT, delete(kinds.STATEFUL_SET, SET)),
    "a tenant deletes a volume": Attempt(TENANT, delete(kinds.PVC, CLAIM)),
    "a tenant force-deletes a pod": Attempt(TENANT, delete(kinds.POD, POD, gracePeriodSeconds=0)),
    "an administrator force-deletes a pod": Attempt(
        ADMIN, delete(kinds.POD, POD, gracePeriodSeconds=0)
    ),
    "a tenant removes the finalizer of a volume in use": Attempt(
        TENANT, patch(kinds.PVC, CLAIM, {"metadata": {"finalizers": None}})
    ),
    "a tenant changes the template": Attempt(
        TENANT,
        patch(kinds.STATEFUL_SET, SET, {"spec": {"template": {"spec": {"hostNetwork": True}}}}),
    ),
    "a tenant scales the StatefulSet by its spec": Attempt(TENANT, SCALE_UP),
    "a tenant scales the StatefulSet": Attempt(
        TENANT, patch(kinds.STATEFUL_SET, SET, {"spec": {"replicas": 5}}, "scale")
    ),
    "an autoscaler scales the StatefulSet": Attempt(
        part("horizontal-pod-autoscaler"),
        patch(kinds.STATEFUL_SET, SET, {"spec": {"replicas": 1}}, "scale"),
    ),
    "a tenant labels a pod as the leader": Attempt(TENANT, patch(kinds.POD, POD, FENCE)),
    "a tenant adds an ephemeral container to a server": Attempt(
        TENANT, patch(kinds.POD, POD, _debug("debug"), "ephemeralcontainers")
    ),
    "a tenant creates a server pod": Attempt(
        TENANT, create(kinds.POD, lambda at: locked.pod(at, "c-7"))
    ),
    "a ReplicaSet creates a server pod": Attempt(
        part("replicaset-controller"), create(kinds.POD, _pod_of_a_replica_set)
    ),
    "a foreign StatefulSet creates a server pod": Attempt(
        SETS, create(kinds.POD, _pod_of_a_strange_set)
    ),
    "a StatefulSet with a too short revision creates a server pod": Attempt(
        SETS, create(kinds.POD, _pod_of_a_revision("0123456789abcde"))
    ),
    "a StatefulSet with an invalid revision creates a server pod": Attempt(
        SETS, create(kinds.POD, _pod_of_a_revision("0123456789abcdeg"))
    ),
    "a Job creates a server pod": Attempt(JOBS, create(kinds.POD, _server_pod_of_a_job)),
    "a ReplicaSet adopts a server pod": Attempt(
        part("replicaset-controller"),
        patch(
            kinds.POD, POD, {"metadata": {"ownerReferences": [owner_reference("ReplicaSet", "x")]}}
        ),
    ),
    "a controller edits the configuration": Attempt(ALL_IN_ONE, EDIT),
    "a controller changes the template": Attempt(SETS, SCALE_UP),
    "a controller creates a Secret": Attempt(
        part("some-controller"), create(kinds.SECRET, lambda at: locked.secret(at, "c-other"))
    ),
    "a server labels another server as the leader": Attempt(User(""), patch(kinds.POD, POD, FENCE)),
    "the provisioner edits the configuration": Attempt(GRANTING, EDIT),
}


ALLOWED: dict[str, Attempt] = {
    "the operator edits": Attempt(OPERATOR, EDIT),
    "the operator releases a key": Attempt(OPERATOR, WITHOUT_OWNER),
    "the operator deletes": Attempt(OPERATOR, delete(kinds.CONFIG_MAP, CONFIG)),
    "a tenant deletes a pod": Attempt(TENANT, delete(kinds.POD, POD)),
    "a tenant deletes a certificate to get a new one": Attempt(
        TENANT, delete(kinds.SECRET, SERVING)
    ),
    "a tenant deletes the root token": Attempt(
        TENANT, delete(kinds.SECRET, names.root_token_secret(CLUSTER))
    ),
    "a tenant writes other annotations": Attempt(
        TENANT, patch(kinds.SERVICE, CLUSTER, with_annotation("example.org/team", "a"))
    ),
    "a tenant writes other labels": Attempt(
        TENANT, patch(kinds.POD, POD, _with_label("example.org/team", "a"))
    ),
    "a load balancer adds a finalizer to a Service": Attempt(
        account("lb", "lb"),
        patch(kinds.SERVICE, CLUSTER, {"metadata": {"finalizers": ["example.org/lb"]}}),
    ),
    "a Secret of a user": Attempt(
        TENANT,
        create(kinds.SECRET, lambda at: {"metadata": {"name": "c-unseal-key2", "namespace": at}}),
    ),
    "an administrator edits with the annotation": Attempt(
        ADMIN, _first_marked(EDIT, kinds.CONFIG_MAP, CONFIG)
    ),
    "a master edits with the annotation": Attempt(
        MASTER, _first_marked(EDIT, kinds.CONFIG_MAP, CONFIG)
    ),
    "an administrator force-deletes an annotated pod": Attempt(
        ADMIN, _first_marked(delete(kinds.POD, POD, gracePeriodSeconds=0), kinds.POD, POD)
    ),
    "an administrator deletes an annotated volume": Attempt(
        ADMIN, _first_marked(delete(kinds.PVC, CLAIM), kinds.PVC, CLAIM)
    ),
    "an administrator adds the adopt annotation": Attempt(
        ADMIN, patch(kinds.PVC, CLAIM, with_annotation(labels.ADOPT, CLUSTER))
    ),
    "an administrator restores a Secret": Attempt(
        ADMIN, create(kinds.SECRET, lambda at: locked.secret(at, "c-recovery-shares"))
    ),
    "an administrator confirms that the key was rewrapped": Attempt(
        ADMIN, patch(kinds.POD, POD, with_annotation(labels.UNSEAL_REWRAPPED, "2@done"))
    ),
    "the garbage collector deletes": Attempt(GC, delete(kinds.CONFIG_MAP, CONFIG)),
    "the garbage collector removes an owner reference": Attempt(
        GC, patch(kinds.POD, POD, {"metadata": {"ownerReferences": None}})
    ),
    "the garbage collector removes a finalizer": Attempt(
        GC, patch(kinds.STATEFUL_SET, SET, {"metadata": {"finalizers": None}})
    ),
    "the namespace controller deletes a key": Attempt(NAMESPACES, delete(kinds.SECRET, UNSEAL)),
    "the StatefulSet controller deletes a pod": Attempt(SETS, delete(kinds.POD, POD)),
    "the StatefulSet controller adopts a pod": Attempt(
        SETS,
        patch(
            kinds.POD, POD, {"metadata": {"ownerReferences": [owner_reference("StatefulSet", "c")]}}
        ),
    ),
    "the StatefulSet controller creates a pod": Attempt(
        SETS, create(kinds.POD, lambda at: locked.pod(at, "c-1"))
    ),
    "the StatefulSet controller creates a pod of a green pool": Attempt(
        SETS, create(kinds.POD, _pod_of_a_revision("0123456789abcdef"))
    ),
    "the StatefulSet controller creates a volume of a green pool": Attempt(
        SETS, create(kinds.PVC, lambda at: locked.claim(at, f"data-{SET}-0123456789abcdef-0"))
    ),
    "the StatefulSet controller creates a volume of the read replicas": Attempt(
        SETS, create(kinds.PVC, lambda at: locked.claim(at, "data-c-read-0"))
    ),
    "the StatefulSet controller creates a revision": Attempt(
        SETS,
        create(
            CONTROLLER_REVISION,
            lambda at: {"metadata": meta(at, "c-1a"), "revision": 1, "data": {}},
        ),
    ),
    "a controller manager with one account creates a pod": Attempt(
        ALL_IN_ONE, create(kinds.POD, lambda at: locked.pod(at, "c-1"))
    ),
    "the Job controller creates the pod of a backup": Attempt(
        JOBS,
        create(
            kinds.POD,
            lambda at: locked.pod(
                at,
                "c-backup-1",
                labels=labels.component(CLUSTER, "backup"),
                ownerReferences=[owner_reference("Job", "c-backup", "batch/v1")],
            ),
        ),
    ),
    "the endpoint controller creates endpoints": Attempt(
        part("endpoint-controller"), create(ENDPOINTS, lambda at: {"metadata": meta(at, "c")})
    ),
    "the endpoint slice controller creates a slice": Attempt(
        part("endpointslice-controller"),
        create(
            kinds.ENDPOINT_SLICE,
            lambda at: {"metadata": meta(at, "c-x"), "addressType": "IPv4", "endpoints": []},
        ),
    ),
    "the binder binds a volume": Attempt(
        part("persistent-volume-binder"),
        patch(
            kinds.PVC,
            CLAIM,
            {
                "spec": {"volumeName": "pv-1"},
                "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            },
        ),
    ),
    "the volume protection controller removes a finalizer": Attempt(
        part("pvc-protection-controller"),
        patch(kinds.PVC, CLAIM, {"metadata": {"finalizers": None}}),
    ),
    "the scheduler chooses a node for a volume": Attempt(
        SCHEDULER,
        patch(kinds.PVC, CLAIM, with_annotation("volume.kubernetes.io/selected-node", "n1")),
    ),
    "a volume provisioner removes the selected node": Attempt(
        account("csi", "provisioner"),
        patch(kinds.PVC, CLAIM, with_annotation("volume.kubernetes.io/selected-node", None)),
    ),
    "the service controller adds a finalizer to a Service": Attempt(
        part("service-controller"),
        patch(
            kinds.SERVICE,
            CLUSTER,
            {"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}},
        ),
    ),
    "a status write depends only on RBAC": Attempt(
        account("gateway", "controller"),
        patch(kinds.POD, POD, {"status": {"phase": "Running"}}, "status"),
    ),
    "a server labels itself as the leader": Attempt(User(""), patch(kinds.POD, POD, FENCE)),
    "an eviction": Attempt(
        TENANT,
        lambda client, where: client.create(
            Resource("", "v1", "Eviction", "pods"),
            {"apiVersion": "policy/v1", "metadata": {"name": POD, "namespace": where}},
            subresource="eviction",
        ),
    ),
}
