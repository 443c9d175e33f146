"""The objects of a record, and their immutable fields."""

from typing import Any

import pytest

from contracts.datacenter import names
from contracts.datacenter.workload_records import ServiceRecord, Vault
from contracts.naming import labels
from managers.context.context import MARKS as KEYS
from managers.datacenter.provider.objects import (
    immutable_difference,
    object_refs,
    orphaning_patch,
    render,
    required_refs,
)
from managers.datacenter.provider.pod_template import pod_template
from runtime.apply.canonical import normal
from runtime.apply.intent import Intent
from runtime.types import Object, ObjectKey
from tests.managers.datacenter import bodies

VAULT = Vault("vault", "https://v:8200", "v-tls-ca")
NAME = "fra1-shipper"
MARKS = {names.SYSTEM: "true", names.DATACENTER: "fra1", names.BOOTSTRAP: "shipper"}
COMMON = {labels.NAME: "shipper", labels.INSTANCE: "fra1"}
LABELS = {labels.MANAGED_BY: labels.OPERATOR, **COMMON, **MARKS}
HTTP = {"name": "http", "port": 8080}
FILE = {"path": "/etc/x", "content": "x"}
DATA = {"name": "data", "mount_path": "/data", "kind": "Persistent", "size": "1024Mi"}


def part(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": bodies.IMAGE, **fields}


def record(*parts: Any, **body: Any) -> ServiceRecord:
    return bodies.record(
        bodies.desired_service(bodies.service("shipper", services=parts or (part(),), **body))
    )


def object_of(desired: ServiceRecord, kind: str) -> Object:
    return last(desired, kind).body


WAITS = {"depends_on": ("openbao:ready",)}
ORDER: dict[str, tuple[ServiceRecord, list[str]]] = {
    "least": (record(), [f"Deployment {NAME}"]),
    "port": (record(part(ports=(HTTP,))), [f"Service {NAME}", f"Deployment {NAME}"]),
    "port of init": (record(part(), part("i", role="Init", ports=(HTTP,))), [f"Deployment {NAME}"]),
    "all": (
        record(part(ports=(HTTP,), config_files=(FILE,)), kind="StatefulSet", **WAITS),
        [
            f"ConfigMap {NAME}-files",
            f"ConfigMap {NAME}-openbao",
            f"Service {NAME}",
            f"StatefulSet {NAME}",
        ],
    ),
    "not told": (record(depends_on=("other",)), [f"Deployment {NAME}"]),
    "daemon set": (record(kind="DaemonSet"), [f"DaemonSet {NAME}"]),
    "vault": (
        bodies.record(bodies.desired_service(bodies.openbao("vault"))),
        ["OpenBaoCluster fra1-vault"],
    ),
}


@pytest.mark.parametrize(("desired", "expected"), ORDER.values(), ids=ORDER)
def test_the_workload_is_the_last_object(desired: ServiceRecord, expected: list[str]) -> None:
    intents = render(desired, (VAULT,))
    assert [f"{intent.resource.kind} {intent.key.name}" for intent in intents] == expected
    assert {intent.key.namespace for intent in intents} == {"dc-fra1"}
    must, may = required_refs(desired)
    built = {(intent.resource, intent.key) for intent in intents}
    # The observed objects are the created ones.
    assert must <= built <= must | may
    assert built <= set(object_refs(desired))


def test_our_labels_override_labels_of_the_user() -> None:
    desired = record(
        part(ports=(HTTP,), config_files=(FILE,)),
        labels={"team": "a", labels.MANAGED_BY: "me", names.SYSTEM: "no"},
    )
    for intent in render(desired, ()):
        assert intent.body["metadata"]["labels"] == {"team": "a", **LABELS}


def test_a_deployment() -> None:
    desired = record(part(), replicas=2)
    template = pod_template(desired, ())
    assert object_of(desired, "Deployment") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": NAME,
            "namespace": "dc-fra1",
            "labels": LABELS,
            "annotations": {names.DESIRED_HASH: desired.desired.digest},
        },
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": MARKS},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": normal(render(desired, ())[-1].resource, template, frozenset()),
        },
    }


@pytest.mark.parametrize(("value", "replicas"), [(None, 1), (0, 0), (5, 5)])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_replicas(kind: str, value: int | None, replicas: int) -> None:
    assert object_of(record(kind=kind, replicas=value), kind)["spec"]["replicas"] == replicas


def test_a_daemon_set_has_a_pod_per_node() -> None:
    spec = object_of(record(kind="DaemonSet"), "DaemonSet")["spec"]
    assert "replicas" not in spec
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}
    assert spec["selector"] == {"matchLabels": MARKS}


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_a_stateful_set(policy: str) -> None:
    desired = record(
        part(volumes=(DATA,)),
        part("s", role="Sidecar", volumes=({**DATA, "mount_path": "/d"},)),
        kind="StatefulSet",
        volume_policy=policy,
        labels={"team": "a"},
    )
    spec = object_of(desired, "StatefulSet")["spec"]
    spec.pop("template")
    assert spec == {
        "replicas": 1,
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": MARKS},
        "updateStrategy": {"type": "RollingUpdate"},
        "serviceName": NAME,
        "podManagementPolicy": "Parallel",
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": policy, "whenScaled": "Retain"},
        "volumeClaimTemplates": [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "labels": MARKS},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    }

    named = object_of(with_volume(storage_class_name="fast"), "StatefulSet")["spec"]
    (claim,) = named["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    ("kind", "way"), [("Deployment", {"type": "ClusterIP"}), ("StatefulSet", {"clusterIP": "None"})]
)
def test_a_service_has_the_ports_of_main_and_sidecars(kind: str, way: dict[str, str]) -> None:
    desired = record(
        part(ports=({**HTTP, "service_port": 80}, {"name": "log", "port": 514, "protocol": "UDP"})),
        part("side", role="Sidecar", ports=({"name": "http", "port": 9090},)),
        part("first", role="Init", ports=({"name": "x", "port": 1},)),
        kind=kind,
    )
    assert object_of(desired, "Service")["spec"] == {
        "selector": MARKS,
        "ports": [
            {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
            {"name": "log", "port": 514, "targetPort": 514, "protocol": "UDP"},
            {"name": "side-http", "port": 9090, "targetPort": 9090, "protocol": "TCP"},
        ],
        **way,
    }


def test_config_maps() -> None:
    desired = record(part(config_files=(FILE,)), **WAITS)
    files, openbao, _ = render(desired, (VAULT,))
    assert list(files.body["data"].values()) == ["x"]
    assert openbao.body["data"] == {
        "BAO_ADDR": "https://v:8200",
        "vault.address": "https://v:8200",
        "vault.ca-secret": "v-tls-ca",
        "vault.roles": "",
    }


def last(desired: ServiceRecord, kind: str) -> Intent:
    (intent,) = [each for each in render(desired, ()) if each.resource.kind == kind]
    return intent


def with_volume(**changes: Any) -> ServiceRecord:
    """A StatefulSet whose volume has these fields."""
    return record(part(volumes=({**DATA, **changes},)), kind="StatefulSet")


CLAIM = ("spec.volumeClaimTemplates",)
ADDRESS = ("spec.clusterIP",)
PORTS = part(ports=(HTTP,))
RETAINED = record(part(volumes=(DATA,)), kind="StatefulSet", volume_policy="Delete", replicas=2)
FIXED: dict[str, tuple[str, ServiceRecord, ServiceRecord, tuple[str, ...]]] = {
    "same": ("StatefulSet", with_volume(), with_volume(size="1Gi"), ()),
    "size": ("StatefulSet", with_volume(), with_volume(size="2Gi"), CLAIM),
    "class": ("StatefulSet", with_volume(storage_class_name="fast"), with_volume(), CLAIM),
    "one volume less": ("StatefulSet", with_volume(), record(kind="StatefulSet"), CLAIM),
    "name": ("StatefulSet", with_volume(), with_volume(name="other"), CLAIM),
    "retention": ("StatefulSet", with_volume(), RETAINED, ()),
    "service": ("Service", record(PORTS), record(PORTS, kind="DaemonSet"), ()),
    "headless": ("Service", record(PORTS), record(PORTS, kind="StatefulSet"), ADDRESS),
    "one address": ("Service", record(PORTS, kind="StatefulSet"), record(PORTS), ADDRESS),
    "deployment": ("Deployment", record(), record(replicas=7), ()),
}


@pytest.mark.parametrize(("kind", "before", "now", "differs"), FIXED.values(), ids=FIXED)
def test_differences_in_immutable_fields(
    kind: str, before: ServiceRecord, now: ServiceRecord, differs: tuple[str, ...]
) -> None:
    assert immutable_difference(last(now, kind), last(before, kind).body) == differs
    for field in ("serviceName", "podManagementPolicy") if kind == "StatefulSet" else ():
        live = last(now, kind).body
        other = {**live, "spec": {**live["spec"], field: "other"}}
        assert immutable_difference(last(now, kind), other) == (f"spec.{field}",)


def test_defaults_of_the_server_are_not_differences() -> None:
    intent = last(record(part(volumes=(DATA,)), kind="StatefulSet"), "StatefulSet")
    (claim,) = intent.body["spec"]["volumeClaimTemplates"]
    filled = {**claim["spec"], "volumeMode": "Filesystem"}
    stored = {**claim, "spec": filled, "status": {"phase": "Pending"}}
    spec = {**intent.body["spec"], "volumeClaimTemplates": [stored]}
    assert immutable_difference(intent, {**intent.body, "spec": spec}) == ()
    service = last(record(PORTS), "Service")
    given = {**service.body["spec"], "clusterIP": "10.0.0.7"}
    assert immutable_difference(service, {**service.body, "spec": given}) == ()


def test_object_refs_lists_every_possible_object() -> None:
    assert [f"{resource.kind} {key}" for resource, key in object_refs(record())] == [
        f"ConfigMap dc-fra1/{NAME}-files",
        f"ConfigMap dc-fra1/{NAME}-openbao",
        f"Service dc-fra1/{NAME}",
        f"Deployment dc-fra1/{NAME}",
        f"StatefulSet dc-fra1/{NAME}",
        f"DaemonSet dc-fra1/{NAME}",
        f"OpenBaoCluster dc-fra1/{NAME}",
    ]
    assert ObjectKey("dc-fra1", NAME) == object_refs(record())[-1][1]


def test_orphaning_removes_our_marks_and_tests_the_uid() -> None:
    desired = record()
    live = {
        "metadata": {
            "ownerReferences": [{"uid": "other"}, {"uid": desired.id}],
            "labels": {"team": "a", labels.NAME: "shipper", names.SYSTEM: "true"},
            "annotations": {"x": "y", KEYS.owner_uid: desired.id},
        }
    }
    assert orphaning_patch(desired, KEYS, live) == [
        {"op": "test", "path": "/metadata/ownerReferences/1/uid", "value": desired.id},
        {"op": "remove", "path": "/metadata/ownerReferences/1"},
        {"op": "test", "path": "/metadata/labels/openbao.org~1system", "value": "true"},
        {"op": "remove", "path": "/metadata/labels/openbao.org~1system"},
        {"op": "test", "path": "/metadata/annotations/openbao.org~1owner-uid", "value": desired.id},
        {"op": "remove", "path": "/metadata/annotations/openbao.org~1owner-uid"},
    ]
