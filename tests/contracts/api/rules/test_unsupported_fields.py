"""Fields that are accepted and not honoured are named, never passed over."""

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

QUORUM_NEEDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing special": ({}, []),
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
    "a test in a cluster of its own": (
        {
            "backup": {
                "schedule": "0 0 * * *",
                "target": {"bucket": "b"},
                "restoreTest": {"namespace": "tests", "clusterTemplate": {"version": "2.7.0"}},
            }
        },
        ["spec.backup.restoreTest.clusterTemplate", "spec.backup.restoreTest.namespace"],
    ),
    "the served token mode": ({"controllerJWTMode": "Shared"}, []),
    "the other token mode": ({"controllerJWTMode": "Target"}, ["spec.controllerJWTMode"]),
    "ways in are served": (
        {
            "gateway": {"enabled": True, "hostname": "a.example.com", "gatewayRef": {"name": "g"}},
            "observability": {"metrics": {"enabled": True, "serviceMonitor": {"interval": "1m"}}},
        },
        [],
    ),
    "a spelling that has no successor": (
        {
            "unseal": {
                "type": "pkcs11",
                "pkcs11": {"lib": "/l.so", "slot": "0", "keyLabel": "k", "generateKey": True},
            }
        },
        ["spec.unseal.pkcs11.generateKey"],
    ),
    "defaults, which the API server writes into everything": (
        {
            "upgrade": {"strategy": "RollingUpdate", "preUpgradeSnapshot": False, "blueGreen": {}},
            "readReplicas": {"replicas": 0, "service": {"enabled": False, "type": "ClusterIP"}},
            "observability": {"metrics": {"enabled": False, "serviceMonitor": {"enabled": True}}},
        },
        [],
    ),
    "either way to change versions": (
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
    "a version that changes in place": (
        {"upgrade": {"preUpgradeSnapshot": True, "requests": {"retry": "1"}}},
        [],
    ),
    "parts that are switched off": (
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
    "the older spelling of a restart": ({"maintenance": {"restartAt": "now"}}, []),
}


@pytest.mark.parametrize(("spec", "paths"), QUORUM_NEEDS.values(), ids=QUORUM_NEEDS.keys())
def test_what_is_asked_for_in_vain_is_named(spec: dict[str, Any], paths: list[str]) -> None:
    named = unserved_fields(cluster(**spec).spec)
    assert [line.split()[0].rstrip(":") for line in named] == paths


def test_some_fields_are_worth_stopping_for() -> None:
    spec = cluster(controllerJWTMode="Target", readReplicas={"replicas": 1}).spec
    assert essential_unserved_fields(spec) == ("spec.controllerJWTMode: only Shared is supported",)


MARKS = ("not supported",)


def test_the_table_and_the_descriptions_tell_the_same() -> None:
    """Whatever `kubectl explain` calls not supported is in the table, and the other way round."""
    described = set()

    def visit(path: str, node: Schema) -> None:
        text = node.get("description", "").lower()
        if path.startswith("spec") and any(mark in text for mark in MARKS):
            described.add(path)

    walk(open_api_schema(), visit)
    listed = {row.path for row in NOT_SERVED}
    assert described == listed


def test_the_manifests_name_every_row() -> None:
    """They use each field of the public API, so that no row is dead."""
    named = {
        re.sub(r"\[\d+\]", "[]", line.split()[0].rstrip(":"))
        for obj in MANIFESTS.values()
        for line in unserved_fields(OpenBaoCluster.from_object(obj).spec)
    }
    quiet = {"spec.controllerJWTMode"}
    assert named | quiet == {row.path for row in NOT_SERVED}


def test_no_field_is_listed_twice() -> None:
    assert len({row.path for row in NOT_SERVED}) == len(NOT_SERVED)
