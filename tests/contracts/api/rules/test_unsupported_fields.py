"""Fields that are accepted and have no effect are named."""

import re
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.unsupported_fields import (
    NOT_SERVED,
    essential_unserved_fields,
    unserved_fields,
)
from contracts.api.schema.crd import Schema, open_api_schema, walk
from tests.contracts.api.clusters import MANIFESTS, cluster

SPECS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a minimal spec": ({}, []),
    "backups and their tests": (
        {
            "backup": {
                "schedule": "0 0 * * *",
                "target": {"bucket": "b"},
                "restoreTest": {"everySuccessfulBackups": 1, "cleanupAfterSeconds": 0},
            }
        },
        [],
    ),
    "a restore test in its own cluster": (
        {
            "backup": {
                "schedule": "0 0 * * *",
                "target": {"bucket": "b"},
                "restoreTest": {"namespace": "tests", "clusterTemplate": {"version": "2.7.0"}},
            }
        },
        ["spec.backup.restoreTest.clusterTemplate", "spec.backup.restoreTest.namespace"],
    ),
    "the supported token mode": ({"controllerJWTMode": "Shared"}, []),
    "the unsupported token mode": ({"controllerJWTMode": "Target"}, ["spec.controllerJWTMode"]),
    "a gateway and a ServiceMonitor": (
        {
            "gateway": {"enabled": True, "hostname": "a.example.com", "gatewayRef": {"name": "g"}},
            "observability": {"metrics": {"enabled": True, "serviceMonitor": {"interval": "1m"}}},
        },
        [],
    ),
    "a deprecated field without a successor": (
        {
            "unseal": {
                "type": "pkcs11",
                "pkcs11": {"lib": "/l.so", "slot": "0", "keyLabel": "k", "generateKey": True},
            }
        },
        ["spec.unseal.pkcs11.generateKey"],
    ),
    "defaults of the API server": (
        {
            "upgrade": {"strategy": "RollingUpdate", "preUpgradeSnapshot": False, "blueGreen": {}},
            "readReplicas": {"replicas": 0, "service": {"enabled": False, "type": "ClusterIP"}},
            "observability": {"metrics": {"enabled": False, "serviceMonitor": {"enabled": True}}},
        },
        [],
    ),
    "settings of blue/green upgrades": (
        {
            "upgrade": {
                "strategy": "BlueGreen",
                "blueGreen": {"maxJobFailures": 2},
                "requests": {"retry": "1", "promote": "2", "rollback": "3", "cleanup": "4"},
            },
            "breakGlassAck": "nonce",
        },
        [],
    ),
    "settings of rolling upgrades": (
        {"upgrade": {"preUpgradeSnapshot": True, "requests": {"retry": "1"}}},
        [],
    ),
    "disabled features": (
        {
            "gateway": {"enabled": False, "hostname": "x"},
            "ingress": {"enabled": False},
            "imageVerification": {"enabled": False, "failurePolicy": "Block"},
            "observability": {"metrics": {"enabled": False}},
            "readReplicas": {"replicas": 0},
            "workloadHardening": {"appArmorEnabled": False},
            "maintenance": {"enabled": False},
            "telemetry": {},
            "plugins": [],
        },
        [],
    ),
    "the config renderer, which is not needed": (
        {"initContainer": {"enabled": True, "image": "x"}},
        [],
    ),
    "the deprecated restart field": ({"maintenance": {"restartAt": "now"}}, []),
}


@pytest.mark.parametrize(("spec", "paths"), SPECS.values(), ids=SPECS.keys())
def test_fields_without_effect_are_named(spec: dict[str, Any], paths: list[str]) -> None:
    named = unserved_fields(cluster(**spec).spec)
    assert [line.split()[0].rstrip(":") for line in named] == paths


def test_essential_fields_stop_the_reconcile() -> None:
    spec = cluster(controllerJWTMode="Target", readReplicas={"replicas": 1}).spec
    assert essential_unserved_fields(spec) == ("spec.controllerJWTMode: only Shared is supported",)


MARKS = ("not supported",)


def test_the_table_matches_the_field_descriptions() -> None:
    """The table has exactly the fields that `kubectl explain` calls not supported."""
    described = set()

    def visit(path: str, node: Schema) -> None:
        text = node.get("description", "").lower()
        if path.startswith("spec") and any(mark in text for mark in MARKS):
            described.add(path)

    walk(open_api_schema(), visit)
    listed = {row.path for row in NOT_SERVED}
    assert described == listed


def test_the_manifests_use_every_row() -> None:
    """They use each field of the public API, so every row is used."""
    named = {
        re.sub(r"\[\d+\]", "[]", line.split()[0].rstrip(":"))
        for obj in MANIFESTS.values()
        for line in unserved_fields(OpenBaoCluster.from_object(obj).spec)
    }
    quiet = {"spec.controllerJWTMode"}
    assert named | quiet == {row.path for row in NOT_SERVED}


def test_no_field_is_listed_twice() -> None:
    assert len({row.path for row in NOT_SERVED}) == len(NOT_SERVED)
