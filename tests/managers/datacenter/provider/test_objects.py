"""managers.datacenter.provider.objects.

Which objects a row becomes, and what of them never changes.
"""

from __future__ import annotations

from typing import Any

import pytest

from contracts.datacenter import names
from contracts.datacenter.workload_records import ServiceRecord, Vault
from contracts.naming import labels
from managers.context.context import MARKS as KEYS
from managers.datacenter.provider.objects import (
    fixed_difference,
    render,
    required_slots,
    slots,
    unmarking,
)
from managers.datacenter.provider.pod_template import pod_template
from runtime.apply.canonical import normal
from runtime.apply.intent import Intent
from runtime.types import Object, ObjectKey
from tests.managers.datacenter import bodies

VAULT = Vault("vault", "https://v:8200", "v-tls-ca")
NAME = "fra1-shipper"
MARKS = {names.SYSTEM: "true", names.DATACENTER: "fra1", names.BOOTSTRAP: "shipper"}
LABELS = {
    labels.MANAGED_BY: labels.OPERATOR,
    labels.NAME: "shipper",
    labels.INSTANCE: "fra1",
    **MARKS,
}
HTTP = {"name": "http", "port": 8080}
FILE = {"path": "/etc/x", "content": "x"}
DATA = {"name": "data", "mount_path": "/data", "kind": "Persistent", "size": "1024Mi"}


def part(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": bodies.IMAGE, **fields}


def row(*parts: Any, **body: Any) -> ServiceRecord:
    return bodies.row(bodies.wish(bodies.service("shipper", services=parts or (part(),), **body)))


def made(wanted: ServiceRecord, kind: str, vaults: tuple[Vault, ...] = ()) -> Object:
    (intent,) = [one for one in render(wanted, vaults) if one.resource.kind == kind]
    return intent.body


WAITS = {"depends_on": ("openbao:ready",)}
ORDER: dict[str, tuple[ServiceRecord, list[str]]] = {
    "least": (row(), [f"Deployment {NAME}"]),
    "port": (row(part(ports=(HTTP,))), [f"Service {NAME}", f"Deployment {NAME}"]),
    "port of an init": (row(part(), part("i", role="Init", ports=(HTTP,))), [f"Deployment {NAME}"]),
    "all": (
        row(part(ports=(HTTP,), config_files=(FILE,)), kind="StatefulSet", **WAITS),
        [
            f"ConfigMap {NAME}-files",
            f"ConfigMap {NAME}-openbao",
            f"Service {NAME}",
            f"StatefulSet {NAME}",
        ],
    ),
    "not told": (row(depends_on=("other",)), [f"Deployment {NAME}"]),
    "daemon set": (row(kind="DaemonSet"), [f"DaemonSet {NAME}"]),
    "vault": (bodies.row(bodies.wish(bodies.openbao("vault"))), ["OpenBaoCluster fra1-vault"]),
}


@pytest.mark.parametrize(("wanted", "expected"), ORDER.values(), ids=ORDER)
def test_what_runs_it_comes_last(wanted: ServiceRecord, expected: list[str]) -> None:
    intents = render(wanted, (VAULT,))
    assert [f"{one.resource.kind} {one.key.name}" for one in intents] == expected
    assert {one.key.namespace for one in intents} == {"dc-fra1"}
    must, may = required_slots(wanted)
    built = {(one.resource, one.key) for one in intents}
    # What is looked for is what is made.
    assert must <= built <= must | may
    assert built <= set(slots(wanted))


def test_labels_are_the_users_and_over_them_ours() -> None:
    wanted = row(
        part(ports=(HTTP,), config_files=(FILE,)),
        labels={"team": "a", labels.MANAGED_BY: "me", names.SYSTEM: "no"},
    )
    for intent in render(wanted, ()):
        assert intent.body["metadata"]["labels"] == {"team": "a", **LABELS}


def test_a_deployment() -> None:
    wanted = row(part(), replicas=2)
    template = pod_template(wanted, ())
    assert made(wanted, "Deployment") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": NAME,
            "namespace": "dc-fra1",
            "labels": LABELS,
            "annotations": {names.DESIRED_HASH: wanted.desired.digest},
        },
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": MARKS},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": normal(render(wanted, ())[-1].resource, template, frozenset()),
        },
    }


@pytest.mark.parametrize(("asked", "replicas"), [(None, 1), (0, 0), (5, 5)])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_replicas(kind: str, asked: int | None, replicas: int) -> None:
    assert made(row(kind=kind, replicas=asked), kind)["spec"]["replicas"] == replicas


def test_a_daemon_set_has_a_pod_per_node() -> None:
    spec = made(row(kind="DaemonSet"), "DaemonSet")["spec"]
    assert "replicas" not in spec
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}
    assert spec["selector"] == {"matchLabels": MARKS}


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_a_stateful_set(policy: str) -> None:
    wanted = row(
        part(volumes=(DATA,)),
        part("s", role="Sidecar", volumes=({**DATA, "mount_path": "/d"},)),
        kind="StatefulSet",
        volume_policy=policy,
        labels={"team": "a"},
    )
    spec = made(wanted, "StatefulSet")["spec"]
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


def test_a_claim_names_its_class() -> None:
    wanted = row(part(volumes=({**DATA, "storage_class_name": "fast"},)), kind="StatefulSet")
    (claim,) = made(wanted, "StatefulSet")["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    ("kind", "way"), [("Deployment", {"type": "ClusterIP"}), ("StatefulSet", {"clusterIP": "None"})]
)
def test_a_service_has_the_ports_of_what_serves(kind: str, way: dict[str, str]) -> None:
    wanted = row(
        part(ports=({**HTTP, "service_port": 80}, {"name": "log", "port": 514, "protocol": "UDP"})),
        part("side", role="Sidecar", ports=({"name": "http", "port": 9090},)),
        part("first", role="Init", ports=({"name": "x", "port": 1},)),
        kind=kind,
    )
    assert made(wanted, "Service")["spec"] == {
        "selector": MARKS,
        "ports": [
            {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
            {"name": "log", "port": 514, "targetPort": 514, "protocol": "UDP"},
            {"name": "side-http", "port": 9090, "targetPort": 9090, "protocol": "TCP"},
        ],
        **way,
    }


def test_config_maps() -> None:
    wanted = row(part(config_files=(FILE,)), **WAITS)
    files, openbao, _ = render(wanted, (VAULT,))
    assert list(files.body["data"].values()) == ["x"]
    assert openbao.body["data"] == {
        "BAO_ADDR": "https://v:8200",
        "vault.address": "https://v:8200",
        "vault.ca-secret": "v-tls-ca",
        "vault.roles": "",
    }


def test_who_waits_for_no_vault_is_told_nothing() -> None:
    assert render(row(), (VAULT,)) == render(row(), ())


def test_a_change_of_anything_is_another_wish() -> None:
    marks = {
        made(wanted, "Deployment")["metadata"]["annotations"][names.DESIRED_HASH]
        for wanted in (row(), row(replicas=2), row(labels={"a": "b"}), row(volume_policy="Delete"))
    }
    assert len(marks) == 4


def last(wanted: ServiceRecord, kind: str) -> Intent:
    (intent,) = [one for one in render(wanted, ()) if one.resource.kind == kind]
    return intent


CLAIM = "spec.volumeClaimTemplates"
PORTS = part(ports=(HTTP,))
FIXED: dict[str, tuple[str, ServiceRecord, ServiceRecord, tuple[str, ...]]] = {
    "same": (
        "StatefulSet",
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        row(part(volumes=({**DATA, "size": "1Gi"},)), kind="StatefulSet", replicas=2),
        (),
    ),
    "size": (
        "StatefulSet",
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        row(part(volumes=({**DATA, "size": "2Gi"},)), kind="StatefulSet"),
        (CLAIM,),
    ),
    "class": (
        "StatefulSet",
        row(part(volumes=({**DATA, "storage_class_name": "fast"},)), kind="StatefulSet"),
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        (CLAIM,),
    ),
    "one less": (
        "StatefulSet",
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        row(part(), kind="StatefulSet"),
        (CLAIM,),
    ),
    "name": (
        "StatefulSet",
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        row(part(volumes=({**DATA, "name": "other"},)), kind="StatefulSet"),
        (CLAIM,),
    ),
    "retention": (
        "StatefulSet",
        row(part(volumes=(DATA,)), kind="StatefulSet"),
        row(part(volumes=(DATA,)), kind="StatefulSet", volume_policy="Delete"),
        (),
    ),
    "service": ("Service", row(PORTS), row(PORTS, kind="DaemonSet"), ()),
    "headless": ("Service", row(PORTS), row(PORTS, kind="StatefulSet"), ("spec.clusterIP",)),
    "one address": ("Service", row(PORTS, kind="StatefulSet"), row(PORTS), ("spec.clusterIP",)),
    "deployment": ("Deployment", row(), row(replicas=7), ()),
}


@pytest.mark.parametrize(("kind", "before", "now", "differs"), FIXED.values(), ids=FIXED)
def test_what_can_never_change_in_place(
    kind: str, before: ServiceRecord, now: ServiceRecord, differs: tuple[str, ...]
) -> None:
    assert fixed_difference(last(now, kind), last(before, kind).body) == differs


@pytest.mark.parametrize("field", ["serviceName", "podManagementPolicy"])
def test_other_fixed_fields(field: str) -> None:
    intent = last(row(kind="StatefulSet"), "StatefulSet")
    other = {**intent.body, "spec": {**intent.body["spec"], field: "other"}}
    assert fixed_difference(intent, other) == (f"spec.{field}",)


def test_what_the_server_adds_is_no_difference() -> None:
    intent = last(row(part(volumes=(DATA,)), kind="StatefulSet"), "StatefulSet")
    (claim,) = intent.body["spec"]["volumeClaimTemplates"]
    stored = {
        **claim,
        "spec": {**claim["spec"], "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    spec = {**intent.body["spec"], "volumeClaimTemplates": [stored]}
    assert fixed_difference(intent, {**intent.body, "spec": spec}) == ()
    service = last(row(PORTS), "Service")
    given = {**service.body["spec"], "clusterIP": "10.0.0.7"}
    assert fixed_difference(service, {**service.body, "spec": given}) == ()


def test_every_name_that_a_row_can_have_had() -> None:
    assert [f"{resource.kind} {key}" for resource, key in slots(row())] == [
        f"ConfigMap dc-fra1/{NAME}-files",
        f"ConfigMap dc-fra1/{NAME}-openbao",
        f"Service dc-fra1/{NAME}",
        f"Deployment dc-fra1/{NAME}",
        f"StatefulSet dc-fra1/{NAME}",
        f"DaemonSet dc-fra1/{NAME}",
        f"OpenBaoCluster dc-fra1/{NAME}",
    ]
    assert ObjectKey("dc-fra1", NAME) == slots(row())[-1][1]


def test_marks_come_off_as_they_were_looked_at() -> None:
    wanted = row()
    live = {
        "metadata": {
            "ownerReferences": [{"uid": "other"}, {"uid": wanted.id}],
            "labels": {"team": "a", labels.NAME: "shipper", names.SYSTEM: "true"},
            "annotations": {"x": "y", KEYS.owner_uid: wanted.id},
        }
    }
    assert unmarking(wanted, KEYS, live) == [
        {"op": "test", "path": "/metadata/ownerReferences/1/uid", "value": wanted.id},
        {"op": "remove", "path": "/metadata/ownerReferences/1"},
        {"op": "test", "path": "/metadata/labels/openbao.org~1system", "value": "true"},
        {"op": "remove", "path": "/metadata/labels/openbao.org~1system"},
        {"op": "test", "path": "/metadata/annotations/openbao.org~1owner-uid", "value": wanted.id},
        {"op": "remove", "path": "/metadata/annotations/openbao.org~1owner-uid"},
    ]
