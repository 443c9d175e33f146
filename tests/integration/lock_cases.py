"""A table of allowed and refused requests for objects of a cluster, with the lock policies.

A row is who asks and what they do; the name "" stands for a server's own ServiceAccount.
"""

from collections.abc import Callable
from typing import Any

from contracts.naming import labels, names
from e2e.harness.asking import Asking, Somebody, account
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
    owned_by,
    part,
)

MARK = {"metadata": {"annotations": {labels.MAINTENANCE: "true"}}}
GC, NAMESPACES = part("generic-garbage-collector"), part("namespace-controller")
SETS, JOBS = part("statefulset-controller"), part("job-controller")
OURS = {labels.MANAGED_BY: labels.OPERATOR}

Act = Callable[[Asking, str], Any]


def patch(resource: Resource, name: str, change: Any, subresource: str | None = None) -> Act:
    return lambda ask, where: ask.patch(resource, where, name, change, subresource=subresource)


def delete(resource: Resource, name: str, **options: Any) -> Act:
    return lambda ask, where: ask.delete(resource, where, name, **options)


def create(resource: Resource, body: Callable[[str], Object]) -> Act:
    return lambda ask, where: ask.create(resource, body(where))


def _first_marked(act: Act, resource: Resource, name: str) -> Act:
    def run(ask: Asking, where: str) -> None:
        ask.patch(resource, where, name, MARK)
        act(ask, where)

    return run


def _labelled(name: str, value: str | None) -> Object:
    return {"metadata": {"labels": {name: value}}}


def noted(name: str, value: str | None) -> Object:
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
    return locked.pod(where, "rogue", ownerReferences=[owned_by("ReplicaSet", "mine")])


def _pod_of_a_strange_set(where: str) -> Object:
    return locked.pod(where, "rogue-0", ownerReferences=[owned_by("StatefulSet", "rogue")])


def _pod_of_a_revision(digits: str) -> Callable[[str], Object]:
    owner = f"{SET}-{digits}"
    return lambda at: locked.pod(at, f"{owner}-0", ownerReferences=[owned_by("StatefulSet", owner)])


def _server_pod_of_a_job(where: str) -> Object:
    return locked.pod(where, "rogue", ownerReferences=[owned_by("Job", "mine", "batch/v1")])


def _debug(name: str) -> Object:
    one = {"name": name, "image": "sh", "targetContainerName": "openbao"}
    return {"spec": {"ephemeralContainers": [one]}}


REFUSED: dict[str, tuple[Somebody, Act]] = {
    "a tenant edits the configuration": (TENANT, EDIT),
    "cert-manager writes a certificate": (
        CERT_MANAGER,
        patch(kinds.SECRET, SERVING, {"data": {"tls.crt": "MDA="}}),
    ),
    "an administrator edits without the mark": (ADMIN, EDIT),
    "a master edits without the mark": (MASTER, EDIT),
    "a tenant marks an object": (TENANT, patch(kinds.CONFIG_MAP, CONFIG, MARK)),
    "an administrator marks and edits in one": (
        ADMIN,
        patch(kinds.CONFIG_MAP, CONFIG, {**MARK, "data": {"config.hcl": "ui = true"}}),
    ),
    "a tenant puts our label on": (TENANT, create(kinds.CONFIG_MAP, _theirs_with_our_label)),
    "a tenant takes our label off": (
        TENANT,
        patch(kinds.CONFIG_MAP, CONFIG, _labelled(labels.MANAGED_BY, None)),
    ),
    "a tenant moves an object to another cluster": (
        TENANT,
        patch(kinds.CONFIG_MAP, CONFIG, _labelled(labels.CLUSTER, "other")),
    ),
    "a tenant takes the proof of ownership off": (
        TENANT,
        patch(kinds.PVC, CLAIM, noted(labels.OWNER_UID, "1")),
    ),
    "a tenant hands an object over": (
        TENANT,
        patch(kinds.SECRET, UNSEAL, noted(labels.ADOPT, "other")),
    ),
    "a tenant takes an owner off": (TENANT, WITHOUT_OWNER),
    "a tenant deletes the key": (TENANT, delete(kinds.SECRET, UNSEAL)),
    "a tenant deletes the authority": (TENANT, delete(kinds.SECRET, names.tls_ca_secret(CLUSTER))),
    "a tenant deletes the StatefulSet": (TENANT, delete(kinds.STATEFUL_SET, SET)),
    "a tenant deletes a volume": (TENANT, delete(kinds.PVC, CLAIM)),
    "a tenant forces a pod away": (TENANT, delete(kinds.POD, POD, gracePeriodSeconds=0)),
    "an administrator forces a pod away": (ADMIN, delete(kinds.POD, POD, gracePeriodSeconds=0)),
    "a tenant lets a volume go under a pod": (
        TENANT,
        patch(kinds.PVC, CLAIM, {"metadata": {"finalizers": None}}),
    ),
    "a tenant changes the template": (
        TENANT,
        patch(kinds.STATEFUL_SET, SET, {"spec": {"template": {"spec": {"hostNetwork": True}}}}),
    ),
    "a tenant scales the StatefulSet by its spec": (TENANT, SCALE_UP),
    "a tenant scales the StatefulSet": (
        TENANT,
        patch(kinds.STATEFUL_SET, SET, {"spec": {"replicas": 5}}, "scale"),
    ),
    "an autoscaler scales the StatefulSet": (
        part("horizontal-pod-autoscaler"),
        patch(kinds.STATEFUL_SET, SET, {"spec": {"replicas": 1}}, "scale"),
    ),
    "a tenant says of a pod that it leads": (TENANT, patch(kinds.POD, POD, FENCE)),
    "a tenant runs a program beside the server": (
        TENANT,
        patch(kinds.POD, POD, _debug("debug"), "ephemeralcontainers"),
    ),
    "a tenant makes a server pod": (TENANT, create(kinds.POD, lambda at: locked.pod(at, "c-7"))),
    "a ReplicaSet makes a server pod": (
        part("replicaset-controller"),
        create(kinds.POD, _pod_of_a_replica_set),
    ),
    "a strange StatefulSet makes a server pod": (SETS, create(kinds.POD, _pod_of_a_strange_set)),
    "a StatefulSet with too few digits of a revision makes a server pod": (
        SETS,
        create(kinds.POD, _pod_of_a_revision("0123456789abcde")),
    ),
    "a StatefulSet with another word than a revision makes a server pod": (
        SETS,
        create(kinds.POD, _pod_of_a_revision("0123456789abcdeg")),
    ),
    "a Job makes a server pod": (JOBS, create(kinds.POD, _server_pod_of_a_job)),
    "a ReplicaSet adopts a server pod": (
        part("replicaset-controller"),
        patch(kinds.POD, POD, {"metadata": {"ownerReferences": [owned_by("ReplicaSet", "x")]}}),
    ),
    "a controller edits the configuration": (ALL_IN_ONE, EDIT),
    "a controller changes the template": (SETS, SCALE_UP),
    "a controller makes a Secret": (
        part("some-controller"),
        create(kinds.SECRET, lambda at: locked.secret(at, "c-other")),
    ),
    "a server says of another one that it leads": (Somebody(""), patch(kinds.POD, POD, FENCE)),
    "the provisioner edits the configuration": (GRANTING, EDIT),
}


ALLOWED: dict[str, tuple[Somebody, Act]] = {
    "the operator edits": (OPERATOR, EDIT),
    "the operator lets go of a key": (OPERATOR, WITHOUT_OWNER),
    "the operator deletes": (OPERATOR, delete(kinds.CONFIG_MAP, CONFIG)),
    "a tenant deletes a pod": (TENANT, delete(kinds.POD, POD)),
    "a tenant has a certificate issued anew": (TENANT, delete(kinds.SECRET, SERVING)),
    "a tenant deletes the root token": (
        TENANT,
        delete(kinds.SECRET, names.root_token_secret(CLUSTER)),
    ),
    "a tenant writes notes of their own": (
        TENANT,
        patch(kinds.SERVICE, CLUSTER, noted("example.org/team", "a")),
    ),
    "a tenant writes labels of their own": (
        TENANT,
        patch(kinds.POD, POD, _labelled("example.org/team", "a")),
    ),
    "a load balancer holds a Service until it is done": (
        account("lb", "lb"),
        patch(kinds.SERVICE, CLUSTER, {"metadata": {"finalizers": ["example.org/lb"]}}),
    ),
    "a Secret of a user": (
        TENANT,
        create(kinds.SECRET, lambda at: {"metadata": {"name": "c-unseal-key2", "namespace": at}}),
    ),
    "an administrator repairs by hand": (ADMIN, _first_marked(EDIT, kinds.CONFIG_MAP, CONFIG)),
    "a master repairs by hand": (MASTER, _first_marked(EDIT, kinds.CONFIG_MAP, CONFIG)),
    "an administrator forces a marked pod away": (
        ADMIN,
        _first_marked(delete(kinds.POD, POD, gracePeriodSeconds=0), kinds.POD, POD),
    ),
    "an administrator deletes a marked volume": (
        ADMIN,
        _first_marked(delete(kinds.PVC, CLAIM), kinds.PVC, CLAIM),
    ),
    "an administrator hands an object over": (
        ADMIN,
        patch(kinds.PVC, CLAIM, noted(labels.ADOPT, CLUSTER)),
    ),
    "an administrator brings a Secret back": (
        ADMIN,
        create(kinds.SECRET, lambda at: locked.secret(at, "c-recovery-shares")),
    ),
    "an administrator says that the key was wrapped by hand": (
        ADMIN,
        patch(kinds.POD, POD, noted(labels.UNSEAL_REWRAPPED, "2@done")),
    ),
    "the garbage collector deletes": (GC, delete(kinds.CONFIG_MAP, CONFIG)),
    "the garbage collector takes an owner off": (
        GC,
        patch(kinds.POD, POD, {"metadata": {"ownerReferences": None}}),
    ),
    "the garbage collector lets go": (
        GC,
        patch(kinds.STATEFUL_SET, SET, {"metadata": {"finalizers": None}}),
    ),
    "the namespace controller deletes a key": (NAMESPACES, delete(kinds.SECRET, UNSEAL)),
    "the StatefulSet controller deletes a pod": (SETS, delete(kinds.POD, POD)),
    "the StatefulSet controller adopts a pod": (
        SETS,
        patch(kinds.POD, POD, {"metadata": {"ownerReferences": [owned_by("StatefulSet", "c")]}}),
    ),
    "the StatefulSet controller makes a pod": (
        SETS,
        create(kinds.POD, lambda at: locked.pod(at, "c-1")),
    ),
    "the StatefulSet controller makes a pod of a green pool": (
        SETS,
        create(kinds.POD, _pod_of_a_revision("0123456789abcdef")),
    ),
    "the StatefulSet controller makes a volume of a green pool": (
        SETS,
        create(kinds.PVC, lambda at: locked.claim(at, f"data-{SET}-0123456789abcdef-0")),
    ),
    "the StatefulSet controller makes a volume of the read replicas": (
        SETS,
        create(kinds.PVC, lambda at: locked.claim(at, "data-c-read-0")),
    ),
    "the StatefulSet controller keeps a revision": (
        SETS,
        create(
            CONTROLLER_REVISION,
            lambda at: {"metadata": meta(at, "c-1a"), "revision": 1, "data": {}},
        ),
    ),
    "one controller for all makes a pod": (
        ALL_IN_ONE,
        create(kinds.POD, lambda at: locked.pod(at, "c-1")),
    ),
    "the Job controller makes the pod of a backup": (
        JOBS,
        create(
            kinds.POD,
            lambda at: locked.pod(
                at,
                "c-backup-1",
                labels=labels.component(CLUSTER, "backup"),
                ownerReferences=[owned_by("Job", "c-backup", "batch/v1")],
            ),
        ),
    ),
    "the endpoint controller makes endpoints": (
        part("endpoint-controller"),
        create(ENDPOINTS, lambda at: {"metadata": meta(at, "c")}),
    ),
    "the endpoint slice controller makes a slice": (
        part("endpointslice-controller"),
        create(
            kinds.ENDPOINT_SLICE,
            lambda at: {"metadata": meta(at, "c-x"), "addressType": "IPv4", "endpoints": []},
        ),
    ),
    "the binder binds a volume": (
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
    "the guard of volumes lets go": (
        part("pvc-protection-controller"),
        patch(kinds.PVC, CLAIM, {"metadata": {"finalizers": None}}),
    ),
    "the scheduler chooses a node for a volume": (
        SCHEDULER,
        patch(kinds.PVC, CLAIM, noted("volume.kubernetes.io/selected-node", "n1")),
    ),
    "a provisioner of volumes forgets the node": (
        account("csi", "provisioner"),
        patch(kinds.PVC, CLAIM, noted("volume.kubernetes.io/selected-node", None)),
    ),
    "the service controller holds a Service": (
        part("service-controller"),
        patch(
            kinds.SERVICE,
            CLUSTER,
            {"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}},
        ),
    ),
    "status is of whoever RBAC lets": (
        account("gateway", "controller"),
        patch(kinds.POD, POD, {"status": {"phase": "Running"}}, "status"),
    ),
    "a server says that it leads": (Somebody(""), patch(kinds.POD, POD, FENCE)),
    "an eviction": (
        TENANT,
        lambda ask, where: ask.create(
            Resource("", "v1", "Eviction", "pods"),
            {"apiVersion": "policy/v1", "metadata": {"name": POD, "namespace": where}},
            subresource="eviction",
        ),
    ),
}
