"""Fields that are accepted and not honoured are named, never passed over."""

import re
from typing import Any

import pytest

from contracts.api.cluster import OpenBaoCluster
from contracts.api.not_served import (
    NOT_SERVED,
    essential_unserved_fields,
    unserved_fields,
)
from contracts.api.schema import Schema, open_api_schema, walk
from tests.contracts.api.clusters import cluster, foreign, with_request

ASKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing special": ({}, []),
    "backups": ({"backup": {"schedule": "0 0 * * *"}}, ["spec.backup"]),
    "another seal and its block": (
        {"unseal": {"type": "transit", "transit": {"address": "https://x"}}},
        ["spec.unseal.type", "spec.unseal.transit"],
    ),
    "certificates of the user": ({"tls": {"mode": "External"}}, ["spec.tls.mode"]),
    "an audit device": ({"audit": [{"type": "file", "path": "f"}]}, ["spec.audit"]),
    "the served token mode": ({"controllerJWTMode": "Shared"}, []),
    "the other token mode": ({"controllerJWTMode": "Target"}, ["spec.controllerJWTMode"]),
    "a setting deep in the configuration": (
        {"configuration": {"raft": {"autopilot": {"minQuorum": 3}}}},
        ["spec.configuration.raft.autopilot"],
    ),
    "a condition in the second request": (
        {
            "selfInit": {
                "enabled": True,
                "requests": [
                    *with_request()["requests"],
                    *with_request(name="s", when=False)["requests"],
                ],
            }
        },
        ["spec.selfInit.requests[1].when"],
    ),
    "a request that is always run": ({"selfInit": with_request(when=True)}, []),
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


@pytest.mark.parametrize(("spec", "paths"), ASKS.values(), ids=ASKS.keys())
def test_what_is_asked_for_in_vain_is_named(spec: dict[str, Any], paths: list[str]) -> None:
    named = unserved_fields(cluster(**spec).spec)
    assert [line.split()[0].rstrip(":") for line in named] == paths


def test_some_fields_are_worth_stopping_for() -> None:
    spec = cluster(unseal={"type": "transit"}, backup={"schedule": "x"}).spec
    assert essential_unserved_fields(spec) == ("spec.unseal.type: only static is served",)


def test_the_table_and_the_descriptions_tell_the_same() -> None:
    """Whatever `kubectl explain` calls not served is in the table, and the other way round."""
    described = set()

    def visit(path: str, node: Schema) -> None:
        text = node.get("description", "").lower()
        if "not served" in text or "only accepted" in text:
            described.add(path)

    walk(open_api_schema(), visit)
    listed = {row.path for row in NOT_SERVED}
    assert described == listed


def test_a_manifest_written_for_another_operator_names_every_row_that_it_can() -> None:
    """The manifest uses each field of the public API, so that no row is dead."""
    spec = OpenBaoCluster.from_object(foreign()).spec
    named = {
        re.sub(r"\[\d+\]", "[]", line.split()[0].rstrip(":")) for line in unserved_fields(spec)
    }
    quiet = {"spec.controllerJWTMode"}
    assert named | quiet == {row.path for row in NOT_SERVED}


def test_no_field_is_listed_twice() -> None:
    assert len({row.path for row in NOT_SERVED}) == len(NOT_SERVED)
