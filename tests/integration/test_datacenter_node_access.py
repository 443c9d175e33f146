"""Node access of shared services on a real API server: the required permission, and its limits."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.admission.datacenters import VALIDATE_DATACENTER
from contracts.admission.operator_pods import LEVEL, LOCK_PODS
from contracts.datacenter.kinds import DATACENTERS
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)
from e2e.harness.impersonation import User
from e2e.rig import Rig
from managers.datacenter.provider.kubernetes import owner_of
from managers.datacenter.provider.objects import render
from runtime import builtin_kinds as kinds
from runtime.types import Object
from tests.contracts.datacenter.services import (
    cluster_role,
    datacenter_object,
    objects,
    on_each_node,
    service,
)
from tests.integration import locked
from tests.integration.locked import NAMESPACE, OPERATOR, TENANT, Place, refusal

POLICIES = (VALIDATE_DATACENTER, LOCK_PODS)
LOGS = {"name": "logs", "mountPath": "/logs", "kind": "HostPath", "hostPath": "/var/log/pods"}
AGENT = on_each_node(LOGS, runAsUser=0)
ACCESS = {"hostPaths": ["/var/log"], "runAsRoot": True}
OPENED = {"labels": {LEVEL: "privileged"}}


@pytest.fixture(scope="module")
def place(control_plane_with_crds: Rig) -> Iterator[Place]:
    """The control plane with the policies in force."""
    place = locked.prepare(control_plane_with_crds, POLICIES)
    try:
        own = datacenter_object(namespace=NAMESPACE, name="canary")
        locked.await_refusal(place.client(), DATACENTERS, own, "namespace of the operator")
        loose = _daemon_set(place.namespace(), lambda pod: pod.update(hostNetwork=True))
        locked.await_refusal(
            place.client(OPERATOR), kinds.DAEMON_SET, loose, "must not share network"
        )
        yield place
    finally:
        # Later tests on this control plane must not be affected.
        locked.remove(control_plane_with_crds, POLICIES)


def _render(where: str, body: Object) -> Object:
    info = DatacenterInfo("fra1", "uid-fra1", where)
    desired_service = DesiredService(
        BootstrapService.model_validate(body), ServiceSource("declared")
    )
    record = ServiceRecord("00000000-0000-0000-0000-000000000001", info, desired_service)
    obj = render(record, ())[-1].body
    return {
        **obj,
        "metadata": {**obj["metadata"], "ownerReferences": [owner_of(record).reference()]},
    }


def _daemon_set(where: str, change: Callable[[Object], object] = lambda pod: None) -> Object:
    """The DaemonSet of the agent, with a change of its pod spec."""
    daemon_set = _render(where, AGENT)
    change(daemon_set["spec"]["template"]["spec"])
    return daemon_set


def _without_folders(pod: Object) -> None:
    pod["volumes"] = pod["containers"][0]["volumeMounts"] = []


# --- permissions --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [TENANT, OPERATOR], ids=["a writer", "operator"])
def test_node_access_needs_the_verb(place: Place, who: User) -> None:
    """Permission to write datacenters does not include access to files of nodes."""
    client, body = place.client(who), datacenter_object(name="par1", nodeAccess=ACCESS)
    words = "spec.nodeAccess: needs the verb usenodeaccess on this Datacenter"
    assert words in refusal(lambda: client.create(DATACENTERS, body))
    place.client().create(DATACENTERS, body)
    try:
        more = {"spec": {"nodeAccess": {"hostPaths": ["/var/log", "/etc"]}}}
        assert words in refusal(lambda: client.patch(DATACENTERS, None, "par1", more))
        # Granted access may be used and removed without the verb.
        client.patch(DATACENTERS, None, "par1", {"spec": {"bootstrapServices": [AGENT]}})
        closed: Object = {"spec": {"nodeAccess": None, "bootstrapServices": []}}
        client.patch(DATACENTERS, None, "par1", closed)
    finally:
        place.client().delete(DATACENTERS, None, "par1")


TOO_MUCH: dict[str, tuple[Object | None, str]] = {
    "another directory": (
        {"hostPaths": ["/var/log/pods/a", "/var/log/pod"], "runAsRoot": True},
        "volumes[*].hostPath: must be at or below",
    ),
    "no directory": ({"runAsRoot": True}, "volumes[*].hostPath: must be at or below"),
    "no root": ({"hostPaths": ["/var/log"]}, "runAsUser: must not be 0 unless"),
    "nothing": (None, "volumes[*].hostPath: must be at or below"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
@pytest.mark.parametrize("who", [None, TENANT], ids=["admin", "a writer"])
def test_a_declared_service_is_limited_to_the_access_of_its_datacenter(
    place: Place, what: str, who: User | None
) -> None:
    access, words = TOO_MUCH[what]
    if access is not None and who is not None:
        words = "needs the verb"
    body = datacenter_object(AGENT, name="mad1", nodeAccess=access)
    assert words in refusal(lambda: place.client(who).create(DATACENTERS, body))


def test_the_largest_datacenter_fits_the_cost_budget_of_the_policy(place: Place) -> None:
    folders = [*(f"/var/log/a{at}" for at in range(15)), "/var/log/pods"]
    volumes = [{**LOGS, "name": f"v{at}", "mountPath": f"/v{at}"} for at in range(32)]
    bodies = [{**on_each_node(*volumes), "name": f"a{at}"} for at in range(32)]
    body = datacenter_object(*bodies, name="big1", nodeAccess={"hostPaths": folders})
    place.client().create(DATACENTERS, body)
    place.client().delete(DATACENTERS, None, "big1")


# --- objects of other kinds ---------------------------------------------------------------------

ROLE_KIND = {"group": "rbac.authorization.k8s.io", "kind": "ClusterRole"}


def test_object_kinds_need_a_verb(place: Place) -> None:
    body = datacenter_object(objects(cluster_role()), name="rom1", objectKinds=[ROLE_KIND])
    words = "spec.objectKinds: needs the verb useobjectkinds on this Datacenter"
    tenant, operator = place.client(TENANT), place.client(OPERATOR)
    assert words in refusal(lambda: tenant.create(DATACENTERS, body))
    assert words in refusal(lambda: operator.create(DATACENTERS, body))
    place.client().create(DATACENTERS, body)
    place.client().delete(DATACENTERS, None, "rom1")
    place.client(TENANT).create(DATACENTERS, datacenter_object(name="rom1", objectKinds=[]))
    place.client().delete(DATACENTERS, None, "rom1")


@pytest.mark.parametrize(
    "kinds", [[], [{**ROLE_KIND, "kind": "ClusterRoleBinding"}], [{**ROLE_KIND, "group": ""}]]
)
def test_a_declared_object_is_of_an_allowed_kind(place: Place, kinds: list[Object]) -> None:
    body = datacenter_object(objects(cluster_role()), name="rom2", objectKinds=kinds)
    words = "objects[*].kind: must be a kind of spec.objectKinds"
    assert words in refusal(lambda: place.client().create(DATACENTERS, body))


# --- limits -------------------------------------------------------------------------------------


def test_an_agent_is_accepted_in_a_privileged_namespace(place: Place) -> None:
    where, client = place.namespace(**OPENED), place.client(OPERATOR)
    body = _daemon_set(where)
    client.create(kinds.DAEMON_SET, body)
    name = body["metadata"]["name"]
    client.patch(kinds.DAEMON_SET, where, name, {"metadata": {"labels": {"a": "b"}}})


_CLOSED = "in a DaemonSet of a datacenter, if an administrator labeled the namespace"
BEYOND: dict[str, tuple[dict[str, Any], Callable[[Object], object], str]] = {
    "a directory of the node": (
        {}, lambda pod: pod["securityContext"].update(runAsNonRoot=True, runAsUser=1), _CLOSED,
    ),
    "a host path where only root is allowed": (
        {"labels": {LEVEL: "baseline"}}, lambda pod: None, _CLOSED,
    ),
    "root": ({}, _without_folders, "must not run as root"),
    "a writable host path": (
        OPENED,
        lambda pod: pod["containers"][0]["volumeMounts"][0].update(readOnly=False),
        "must be mounted read-only",
    ),
    "a privilege": (
        OPENED,
        lambda pod: pod["containers"][0]["securityContext"].update(allowPrivilegeEscalation=True),
        "must not gain privileges",
    ),
    "the processes of the node": (
        OPENED, lambda pod: pod.update(hostPID=True), "must not share network",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BEYOND)
def test_an_agent_with_more_privileges_is_refused(place: Place, what: str) -> None:
    metadata, change, words = BEYOND[what]
    body = _daemon_set(place.namespace(**metadata), change)
    assert words in refusal(lambda: place.client(OPERATOR).create(kinds.DAEMON_SET, body))


def test_a_deployment_may_not_use_host_paths(place: Place) -> None:
    daemon_set = _render(where := place.namespace(**OPENED), service("agent"))
    assert daemon_set["metadata"]["namespace"] == where
    volume = {"name": "a", "hostPath": {"path": "/var/log"}}
    daemon_set["spec"]["template"]["spec"]["volumes"] = [volume]
    client = place.client(OPERATOR)
    assert "only volumes of these kinds" in refusal(
        lambda: client.create(kinds.DEPLOYMENT, daemon_set)
    )


def test_a_daemon_set_without_a_datacenter_may_not_use_host_paths(place: Place) -> None:
    body = _daemon_set(place.namespace(**OPENED))
    body["metadata"]["labels"] = {}
    client = place.client(OPERATOR)
    assert "only volumes of these kinds" in refusal(lambda: client.create(kinds.DAEMON_SET, body))
