"""Specs and changes of specs of a cluster that the rules allow."""

from typing import Any

from tests.contracts.api.case import TRANSIT, hardened_spec
from tests.contracts.api.clusters import with_request

FINE: dict[str, dict[str, Any]] = {
    "the smallest spec": {},
    "one server": {"replicas": 1},
    "a name or address in the certificate": {
        "tls": {"extraSANs": ["*.example.com", "a_b.example.com", "::1", "192.0.2.1", "x"]}
    },
    "the shortest and the longest rotation period": {"tls": {"rotationPeriod": "1h"}},
    "a fence around a server": {"fencedPods": ["c-2"]},
    "a fence around a server of a pool with a revision": {"fencedPods": ["c-0123456789abcdef-2"]},
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
    "Hardened with a store at any address": hardened_spec(
        network={
            "egressRules": [
                {
                    "to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}, {"ipBlock": {"cidr": "::/0"}}],
                    "ports": [{"port": 443, "protocol": "TCP"}],
                },
                # It contains the link of the node, which the NetworkPolicy leaves out.
                {"to": [{"ipBlock": {"cidr": "169.0.0.0/8"}}], "ports": [{"port": 443}]},
                {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"protocol": "TCP"}]},
            ]
        }
    ),
    "Hardened with every setting": {
        "profile": "Hardened",
        "tls": {
            "mode": "ACME",
            "acme": {
                "directoryURL": "https://acme.example.com/directory",
                "sharedCache": {"mode": "ManagedPVC", "size": "1Gi"},
            },
        },
        "unseal": {"type": "awskms", "awskms": {"region": "eu-central-1", "kmsKeyID": "alias/bao"}},
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
