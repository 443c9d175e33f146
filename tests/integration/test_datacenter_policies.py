"""The policies for datacenters on a real API server: ownership, and allowed pods."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.admission.datacenters import DATACENTER_POLICIES, OWN_NAMESPACE_MESSAGE
from contracts.admission.managed_objects import LOCK_MANAGED, LOCK_SCALE
from contracts.admission.operator_jobs import RESTRICT_CUSTOM_RESOURCES
from contracts.admission.operator_pods import LOCK_PODS
from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
    Vault,
)
from contracts.naming import labels
from e2e.harness.impersonation import ImpersonatingClient, User
from e2e.rig import Rig
from managers.datacenter.provider.kubernetes import owner_of
from managers.datacenter.provider.objects import render
from runtime import builtin_kinds as kinds
from runtime.types import Object, Resource
from tests.contracts.datacenter.fine import FINE
from tests.contracts.datacenter.services import (
    datacenter_object,
    part,
    service,
    vault,
    workload_object,
)
from tests.integration import locked
from tests.integration.locked import ADMIN, MASTER, NAMESPACE, OPERATOR, TENANT, Place, refusal
from tests.integration.locked import part as controller

POLICIES = (*DATACENTER_POLICIES, LOCK_MANAGED, LOCK_SCALE, LOCK_PODS, RESTRICT_CUSTOM_RESOURCES)
GC, DEPLOYING = controller("generic-garbage-collector"), controller("deployment-controller")
SCALING = controller("horizontal-pod-autoscaler")
TOLD = (Vault("vault", "https://vault.test:8200", "vault-ca", ("jwt/app",)),)
PLAIN = service("shipper")
NAME = names.object_name("fra1", "shipper")
Act = Callable[[ImpersonatingClient, str], Any]


@pytest.fixture(scope="module")
def place(control_plane_with_crds: Rig) -> Iterator[Place]:
    """The control plane with the policies in force."""
    place = locked.prepare(control_plane_with_crds, POLICIES)
    try:
        _await_policies(place)
        yield place
    finally:
        # Later tests on this control plane must not be affected.
        locked.remove(control_plane_with_crds, POLICIES)


def _await_policies(place: Place) -> None:
    """Wait until all policies are enforced; each request violates only one policy."""
    where = place.namespace()
    stray = {"metadata": {"name": "stray", "namespace": where}}
    bare = {**stray, "spec": _first(where, PLAIN, kinds.DEPLOYMENT)["spec"]}
    operator, tenant = place.client(OPERATOR), place.client(TENANT)
    locked.await_refusal(operator, kinds.DEPLOYMENT, bare, "only services of datacenters")
    locked.await_refusal(tenant, WORKLOADS, workload_object(PLAIN), "only the operator writes")
    own = datacenter_object(namespace=NAMESPACE, name="canary")
    locked.await_refusal(place.client(), DATACENTERS, own, "namespace of the operator")
    cluster = {**stray, "spec": vault()["openbao"]}
    locked.await_refusal(operator, CLUSTERS, cluster, "clusters of restores and datacenters")
    ours = {"metadata": {**stray["metadata"], "labels": {labels.MANAGED_BY: labels.OPERATOR}}}
    locked.await_refusal(tenant, kinds.CONFIG_MAP, ours, "only the operator creates objects")
    loose = _first(where, service("shipper"), kinds.DEPLOYMENT)
    loose["spec"]["template"]["spec"]["hostNetwork"] = True
    locked.await_refusal(operator, kinds.DEPLOYMENT, loose, "must not share network")


@pytest.fixture
def home(place: Place) -> str:
    """A namespace with one service of a datacenter, created by the operator."""
    where = place.namespace()
    place.client(OPERATOR).create(kinds.DEPLOYMENT, _first(where, PLAIN, kinds.DEPLOYMENT))
    return where


def _bare() -> Object:
    """The spec of a Deployment of a user."""
    marks = {"app": "mine"}
    containers = [{"name": "main", "image": "a"}]
    template = {"metadata": {"labels": marks}, "spec": {"containers": containers}}
    return {"selector": {"matchLabels": marks}, "template": template}


def _record(where: str, body: Object) -> ServiceRecord:
    info = DatacenterInfo("fra1", "uid-fra1", where)
    desired_service = DesiredService(
        BootstrapService.model_validate(body), ServiceSource("declared")
    )
    return ServiceRecord("00000000-0000-0000-0000-000000000001", info, desired_service)


def _objects(where: str, body: Object) -> list[tuple[Resource, Object]]:
    """All objects that the operator creates for a service."""
    record = _record(where, body)
    owner = owner_of(record).reference()
    results = []
    for intent in render(record, TOLD):
        metadata = {**intent.body["metadata"], "ownerReferences": [owner]}
        results.append((intent.resource, {**intent.body, "metadata": metadata}))
    return results


def _first(where: str, body: Object, resource: Resource) -> Object:
    return next(obj for kind, obj in _objects(where, body) if kind == resource)


# --- datacenters --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [None, MASTER, OPERATOR], ids=["admin", "master", "operator"])
def test_no_datacenter_is_in_the_namespace_of_the_operator(place: Place, who: User | None) -> None:
    body = datacenter_object(name="own", namespace=NAMESPACE)
    assert OWN_NAMESPACE_MESSAGE in refusal(lambda: place.client(who).create(DATACENTERS, body))


def test_a_datacenter_in_another_namespace_is_allowed(place: Place) -> None:
    client = place.client()
    client.create(DATACENTERS, datacenter_object(PLAIN, name="ams1"))
    client.patch(DATACENTERS, None, "ams1", {"spec": {"state": "Draining"}})
    held = {"metadata": {"finalizers": [names.DATACENTER_FINALIZER]}}
    place.client(OPERATOR).patch(DATACENTERS, None, "ams1", held)
    place.client(OPERATOR).patch(DATACENTERS, None, "ams1", {"metadata": {"finalizers": None}})
    client.delete(DATACENTERS, None, "ams1")


# --- BootstrapWorkloads -------------------------------------------------------------------------


@pytest.fixture
def workload(place: Place) -> Iterator[str]:
    """A workload of the operator."""
    name = "lon1.shipper"
    place.client(OPERATOR).create(WORKLOADS, workload_object(PLAIN, "lon1"))
    yield name
    place.client(OPERATOR).delete(WORKLOADS, None, name)


STATUS = {"status": {"state": "Running"}}
WRITES: dict[str, Callable[[ImpersonatingClient, str], Any]] = {
    "creates one": lambda client, _: client.create(WORKLOADS, workload_object(PLAIN, "mine")),
    "changes one": lambda client, name: client.patch(
        WORKLOADS, None, name, {"spec": {"digest": "e"}}
    ),
    "writes its status": lambda client, name: client.patch(
        WORKLOADS, None, name, STATUS, subresource="status"
    ),
    "labels one": lambda client, name: client.patch(
        WORKLOADS, None, name, {"metadata": {"labels": {"a": "b"}}}
    ),
    "deletes one": lambda client, name: client.delete(WORKLOADS, None, name),
}


@pytest.mark.parametrize("who", [TENANT, ADMIN, MASTER], ids=["tenant", "admin", "master"])
@pytest.mark.parametrize("what", WRITES)
def test_only_the_operator_writes_a_workload(
    place: Place, workload: str, what: str, who: User
) -> None:
    message = refusal(lambda: WRITES[what](place.client(who), workload))
    assert "change the services of its Datacenter or of its BootstrapServiceSet instead" in message


def test_the_operator_and_the_garbage_collector_may_write_it(place: Place, workload: str) -> None:
    client = place.client(OPERATOR)
    for what in ("changes one", "writes its status", "labels one"):
        WRITES[what](client, workload)
    client.patch(
        WORKLOADS, None, workload, {"metadata": {"finalizers": [names.WORKLOAD_FINALIZER]}}
    )
    place.client(GC).delete(WORKLOADS, None, workload)
    client.patch(WORKLOADS, None, workload, {"metadata": {"finalizers": None}})
    client.create(WORKLOADS, workload_object(PLAIN, "lon1"))


# --- what the operator runs ---------------------------------------------------------------------

FULL = service(
    "shipper",
    dependsOn=["openbao:ready"],
    serviceAccountName="shipper",
    runAsUser=65532,
    services=[
        part(
            ports=[{"name": "http", "port": 8080}],
            configFiles=[{"path": "/etc/shipper.conf", "content": "x"}],
            secrets=[{"name": "tls", "mountPath": "/tls"}],
            volumes=[{"name": "spool", "mountPath": "/spool"}],
            healthCheck={"httpPath": "/healthz", "port": 8080, "restart": True},
        ),
        part("fetch", role="Init"),
        part("beside", role="Sidecar"),
    ],
)
# Others need more permissions: test_datacenter_node_access.py and test_datacenter_objects.py.
_PLAIN = {
    what: body
    for what, body in FINE.items()
    if " of the node" not in what and " of other kinds" not in what
}
BODIES: dict[str, Object] = {**_PLAIN, "everything": FULL, "vault": vault()}


@pytest.mark.parametrize("what", BODIES)
def test_every_valid_service_may_be_created(place: Place, what: str) -> None:
    where = place.namespace()
    for resource, body in _objects(where, BODIES[what]):
        place.client(OPERATOR).create(resource, body)


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "StatefulSet"])
def test_each_kind_may_be_created_changed_and_deleted(place: Place, kind: str) -> None:
    where, client = place.namespace(), place.client(OPERATOR)
    for resource, body in _objects(where, {**FULL, "kind": kind}):
        client.create(resource, body)
        client.patch(
            resource, where, body["metadata"]["name"], {"metadata": {"labels": {"a": "b"}}}
        )
        client.delete(resource, where, body["metadata"]["name"])


def _without(field: str) -> Callable[[str], Object]:
    def made(where: str) -> Object:
        body = _first(where, service("other"), kinds.DEPLOYMENT)
        return {**body, "metadata": {k: v for k, v in body["metadata"].items() if k != field}}

    return made


def _owned_by_another(where: str) -> Object:
    body = _first(where, service("other"), kinds.DEPLOYMENT)
    owner = {**body["metadata"]["ownerReferences"][0], "kind": "OpenBaoCluster"}
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}


def _with_pod(**spec: Any) -> Callable[[str], Object]:
    def made(where: str) -> Object:
        body = _first(where, service("other"), kinds.DEPLOYMENT)
        body["spec"]["template"]["spec"].update(spec)
        return body

    return made


TOO_FAR: dict[str, tuple[Callable[[str], Object], str]] = {
    "without our labels": (_without("labels"), "only services of datacenters, with their labels"),
    "of no workload": (_without("ownerReferences"), "controlled by its BootstrapWorkload"),
    "of a cluster": (_owned_by_another, "controlled by its BootstrapWorkload"),
    "on the network of a node": (_with_pod(hostNetwork=True), "must not share network"),
}


@pytest.mark.parametrize("what", TOO_FAR)
def test_the_operator_may_not_create_such_a_service(place: Place, what: str) -> None:
    build, words = TOO_FAR[what]
    body = build(place.namespace())
    assert words in refusal(lambda: place.client(OPERATOR).create(kinds.DEPLOYMENT, body))


def test_the_operator_may_not_change_foreign_objects(place: Place, home: str) -> None:
    theirs = {"metadata": {"name": "theirs", "namespace": home}, "spec": _bare()}
    place.client(TENANT).create(kinds.DEPLOYMENT, theirs)
    client = place.client(OPERATOR)
    ours = _first(home, PLAIN, kinds.DEPLOYMENT)["metadata"]
    taken = {"metadata": {key: ours[key] for key in ("labels", "ownerReferences")}}
    for act in (
        lambda: client.patch(kinds.DEPLOYMENT, home, "theirs", {"spec": {"replicas": 0}}),
        # Nor by adding its own labels in the same request.
        lambda: client.patch(kinds.DEPLOYMENT, home, "theirs", taken),
        lambda: client.delete(kinds.DEPLOYMENT, home, "theirs"),
    ):
        assert "only services of datacenters" in refusal(act)


def test_the_operator_may_orphan_its_objects(place: Place, home: str) -> None:
    """For deletionPolicy Orphan: without our labels and owner, any user may change it."""
    ours = (labels.MANAGED_BY, names.SYSTEM, names.DATACENTER, names.BOOTSTRAP)
    bare = {"labels": dict.fromkeys(ours), "ownerReferences": None}
    place.client(OPERATOR).patch(kinds.DEPLOYMENT, home, NAME, {"metadata": bare})
    place.client(TENANT).delete(kinds.DEPLOYMENT, home, NAME)


def test_a_vault_is_created_and_deleted_only_for_a_workload(place: Place) -> None:
    where, client = place.namespace(), place.client(OPERATOR)
    ((_, body),) = _objects(where, vault())
    client.create(CLUSTERS, body)
    client.delete(CLUSTERS, where, body["metadata"]["name"])
    bare = {"name": "bare", "namespace": where}
    stray = {**body, "metadata": bare}
    words = "only clusters of restores and datacenters"
    assert words in refusal(lambda: client.create(CLUSTERS, stray))
    place.client().create(CLUSTERS, stray)
    assert words in refusal(lambda: client.delete(CLUSTERS, where, "bare"))


# --- what others may do with it -----------------------------------------------------------------

SCALED = {"spec": {"replicas": 5}}
REVISION = {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}}
OBSERVED = {"status": {"observedGeneration": 1, "replicas": 1}}
PAUSED = {"spec": {"paused": True}}


def _patch(change: Object, subresource: str | None = None) -> Act:
    return lambda client, at: client.patch(
        kinds.DEPLOYMENT, at, NAME, change, subresource=subresource
    )


def _delete(client: ImpersonatingClient, where: str) -> None:
    client.delete(kinds.DEPLOYMENT, where, NAME)


REFUSED: dict[str, tuple[User, Act, str]] = {
    "a tenant edits it": (TENANT, _patch(PAUSED), "change that service instead"),
    "an administrator edits it": (ADMIN, _patch(PAUSED), "change that service instead"),
    "a tenant deletes it": (TENANT, _delete, "change or delete that service instead"),
    "a tenant removes its datacenter label": (
        TENANT,
        _patch({"metadata": {"labels": {names.DATACENTER: None}}}),
        "change that service instead",
    ),
    "a controller edits it": (DEPLOYING, _patch(PAUSED), "change that service instead"),
    "a tenant scales it": (TENANT, _patch(SCALED, "scale"), "replicas of the service"),
    "an autoscaler scales it": (SCALING, _patch(SCALED, "scale"), "replicas of the service"),
}
ALLOWED: dict[str, tuple[User, Act]] = {
    "the operator edits it": (OPERATOR, _patch(PAUSED)),
    "its controller counts revisions": (DEPLOYING, _patch(REVISION)),
    "its controller writes its status": (DEPLOYING, _patch(OBSERVED, "status")),
    "a tenant adds an annotation": (TENANT, _patch({"metadata": {"annotations": {"a": "b"}}})),
    "the garbage collector deletes it": (GC, _delete),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_request_is_refused(place: Place, home: str, what: str) -> None:
    who, act, words = REFUSED[what]
    if "scale" in words or "replicas" in words:
        # As with its controller: the scale subresource needs the status.
        place.client(DEPLOYING).patch(kinds.DEPLOYMENT, home, NAME, OBSERVED, subresource="status")
    message = refusal(lambda: act(place.client(who), home))
    assert words in message
    if "instead" in words:
        assert f"deployments {NAME} belongs to service shipper of Datacenter fra1" in message


@pytest.mark.parametrize("what", ALLOWED)
def test_a_request_is_allowed(place: Place, home: str, what: str) -> None:
    who, act = ALLOWED[what]
    act(place.client(who), home)
