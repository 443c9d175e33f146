"""The rules of a spec: each refuses what it should, names the field, and says what to do."""

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import RULES, violations
from contracts.api.violation import Violation
from tests.contracts.api.case import TRANSIT, Case
from tests.contracts.api.clusters import cluster, cluster_object, with_request
from tests.contracts.api.rule_cases import CASES, CODE_CASES

ALL = {**CASES, **CODE_CASES}
BY_ID = {rule.id: rule for rule in RULES}


def _judged(case: Case) -> tuple[Violation, ...]:
    old = None if case.before is None else cluster(case.name, **case.before)
    new = OpenBaoCluster.from_object(
        {**cluster_object(case.name, **case.spec), "status": case.status}
    )
    return violations(new, old)


@pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
def test_it_is_refused(case: Case) -> None:
    found = _judged(case)
    assert (case.rule, case.field) in {(violation.rule, violation.field) for violation in found}


@pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
def test_nothing_else_is_refused_with_it(case: Case) -> None:
    """A case breaks one rule, so that it proves this rule."""
    assert {violation.rule for violation in _judged(case)} == {case.rule}


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == {rule.id for rule in RULES if rule.cel}
    assert {case.rule for case in CODE_CASES.values()} == {
        rule.id for rule in RULES if not rule.cel
    }


def test_no_two_rules_share_an_id() -> None:
    assert len(BY_ID) == len(RULES)


FINE: dict[str, dict[str, Any]] = {
    "the smallest spec": {},
    "one server": {"replicas": 1},
    "a name or address in the certificate": {
        "tls": {"extraSANs": ["*.example.com", "a_b.example.com", "::1", "192.0.2.1", "x"]}
    },
    "the shortest and the longest rotation period": {"tls": {"rotationPeriod": "1h"}},
    "a fence around a server": {"fencedPods": ["c-2"]},
    "a fence around a server of a set with a revision": {"fencedPods": ["c-0123456789abcdef-2"]},
    "self-init off": {"selfInit": {"enabled": False}},
    "a role of a JWT login that is enabled before": {
        "selfInit": {
            "enabled": True,
            "requests": [
                {
                    "name": "a",
                    "operation": "update",
                    "path": "sys/auth/jwt",
                    "authMethod": {"type": "jwt"},
                },
                {"name": "b", "operation": "update", "path": "auth/jwt/role/x", "data": {"a": 1}},
            ],
        }
    },
    "a role of the operator's login": {
        "selfInit": {**with_request(path="auth/jwt-operator/role/x"), "oidc": {"enabled": True}}
    },
    "free data at a path that has a typed payload": {
        "selfInit": with_request(path="sys/auth/userpass/tune")
    },
    "an audit device with the flag": {
        "configuration": {"unsafeAllowAPIAuditCreation": True},
        "selfInit": with_request(
            path="sys/audit/x",
            data=None,
            auditDevice={"type": "file", "fileOptions": {"filePath": "stdout"}},
        ),
    },
    "a value computed from a former answer": {
        "selfInit": with_request(
            data={
                "accessor": {
                    "eval_type": "string",
                    "eval_source": "response",
                    "initialize_name": "a",
                    "response_name": "a-request",
                    "field_selector": ["data", "accessor"],
                }
            }
        )
    },
    "objects in lists and lists in objects": {
        "selfInit": with_request(data={"a": [{"b": [{"c": 1}]}], "d": {"e": {"f": {}}}})
    },
    "the cluster's own certificate for the Ingress": {"ingress": {"tlsSecretName": "c-tls-server"}},
    "a store by its address": {
        "backup": {
            "schedule": "0 3 * * *",
            "jwtAuthRole": "backup",
            "target": {"endpoint": "http://192.0.2.10:9000/minio", "bucket": "b"},
        }
    },
    "Hardened, all of it": {
        "profile": "Hardened",
        "tls": {
            "mode": "ACME",
            "acme": {
                "directoryURL": "https://acme.example.com/directory",
                "sharedCache": {"mode": "ManagedPVC", "size": "1Gi"},
            },
        },
        "unseal": {
            "type": "awskms",
            "awskms": {"region": "eu-central-1", "kmsKeyID": "alias/bao"},
        },
        "selfInit": with_request(),
        "network": {
            "trustedIngressPeers": [
                {"podSelector": {}},
                {"namespaceSelector": {"matchLabels": {"a": "b"}}},
                {
                    "namespaceSelector": {
                        "matchExpressions": [{"key": "team", "operator": "Exists"}]
                    }
                },
            ],
            "egressRules": [
                {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": "https"}]}
            ],
        },
    },
}


@pytest.mark.parametrize("spec", FINE.values(), ids=FINE.keys())
def test_it_is_accepted(spec: dict[str, Any]) -> None:
    assert violations(cluster(**spec)) == ()


ALLOWED_CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "a volume that grows": ({"storage": {"size": "1Gi"}}, {"storage": {"size": "1025Mi"}}),
    "the same size in another spelling": (
        {"storage": {"size": "1Gi"}},
        {"storage": {"size": "1024Mi"}},
    ),
    "the seal spelled out": ({}, {"unseal": {"type": "static"}}),
    "the default key spelled out": (
        {},
        {"unseal": {"static": {"currentKeyID": "operator-generated-v1"}}},
    ),
    "credentials of a seal that is not static": (
        {"unseal": {"type": "transit", "transit": TRANSIT}},
        {
            "unseal": {
                "type": "transit",
                "transit": TRANSIT,
                "credentialsSecretRef": {"name": "mine"},
            }
        },
    ),
}


@pytest.mark.parametrize(("before", "after"), ALLOWED_CHANGES.values(), ids=ALLOWED_CHANGES.keys())
def test_a_change_is_accepted(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert violations(cluster("c", **after), cluster("c", **before)) == ()


def test_without_the_former_object_no_change_is_refused() -> None:
    assert violations(cluster(storage={"size": "1Mi", "storageClassName": "x"})) == ()


def test_a_violation_reads_as_one_line_with_field_value_and_next_step() -> None:
    (found,) = violations(cluster(version="2.3.0"))
    assert str(found) == (
        "spec.version: must be 2.4.0 or newer, the first version with a static seal; choose a "
        "newer one (got 2.3.0)"
    )


def test_a_violation_shows_no_raw_bytes_and_no_long_value() -> None:
    issuer = "http://" + "\x1b" * 300
    spec = {"selfInit": {**with_request(), "oidc": {"enabled": True, "issuer": issuer}}}
    (found,) = violations(cluster("c", **spec))
    assert "\x1b" not in str(found)
    assert len(found.value) <= 80
