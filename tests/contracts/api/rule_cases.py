"""What each rule refuses, as a table for the unit tests and for the API server.

A case is a change of the spec (or a name), the rule that it breaks, and the field that the
complaint names. For a rule about changes `before` is the spec that it is changed from.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from tests.contracts.api.clusters import with_request


@dataclass(frozen=True)
class Case:
    """One broken rule."""

    rule: str
    field: str
    spec: dict[str, Any] = dataclasses.field(default_factory=dict)
    before: dict[str, Any] | None = None
    name: str = "c"


def _hardened(**spec: Any) -> dict[str, Any]:
    """A spec that is fine in profile Hardened, changed by `spec`."""
    return {
        "profile": "Hardened",
        "tls": {"mode": "External"},
        "unseal": {"type": "transit", "transit": {"address": "https://kms.example.com"}},
        "selfInit": with_request(),
        **spec,
    }


_AUDIT = {"operation": "update", "path": "sys/audit/file", "data": None}
_FILE = {"type": "file", "fileOptions": {"filePath": "stdout"}}
_API_AUDIT = {"unsafeAllowAPIAuditCreation": True}
_OIDC = {"enabled": True}
_STATIC = {"type": "static"}

CASES: dict[str, Case] = {
    "a name that starts with a digit": Case("cluster-name", "metadata.name", name="1c"),
    "a name with a dot": Case("cluster-name", "metadata.name", name="c.d"),
    "a name of 41 characters": Case("cluster-name", "metadata.name", name="c" * 41),
    "the name of another cluster's Service": Case(
        "cluster-name-reserved", "metadata.name", name="c-public"
    ),
    "no TLS": Case("tls-enabled", "spec.tls.enabled", {"tls": {"enabled": False}}),
    "a rotation period below an hour": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "59m"}}
    ),
    "a rotation period of a whole certificate's life": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "8760h"}}
    ),
    "a rotation period too long to count": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "99999999999h"}}
    ),
    "a certificate name that is no name": Case(
        "extra-sans", "spec.tls.extraSANs[1]", {"tls": {"extraSANs": ["ok.example.com", "a:b"]}}
    ),
    "a volume of nothing": Case("storage-size", "spec.storage.size", {"storage": {"size": "0"}}),
    "a volume that shrinks": Case(
        "storage-size-shrinks",
        "spec.storage.size",
        {"storage": {"size": "1023Mi"}},
        before={"storage": {"size": "1Gi"}},
    ),
    "a storage class that is set later": Case(
        "storage-class-immutable",
        "spec.storage.storageClassName",
        {"storage": {"size": "1Gi", "storageClassName": "fast"}},
        before={"storage": {"size": "1Gi"}},
    ),
    "a storage class that is removed": Case(
        "storage-class-immutable",
        "spec.storage.storageClassName",
        {"storage": {"size": "1Gi"}},
        before={"storage": {"size": "1Gi", "storageClassName": "fast"}},
    ),
    "another seal": Case(
        "seal-immutable",
        "spec.unseal.type",
        {"unseal": {"type": "transit"}},
        before={},
    ),
    "another static key": Case(
        "static-key-immutable",
        "spec.unseal.static",
        {"unseal": {"static": {"currentKeyID": "two"}}},
        before={"unseal": {"static": {"currentKeyID": "one"}}},
    ),
    "a static key file that is set later": Case(
        "static-key-immutable",
        "spec.unseal.static",
        {"unseal": {"static": {"currentKey": "file:///etc/bao/unseal/other"}}},
        before={},
    ),
    "a Secret for the static key that is set later": Case(
        "static-secret-immutable",
        "spec.unseal.credentialsSecretRef",
        {"unseal": {**_STATIC, "credentialsSecretRef": {"name": "mine"}}},
        before={"unseal": _STATIC},
    ),
    "the operator's own Secret as credentials": Case(
        "system-secret",
        "spec.unseal.credentialsSecretRef.name",
        {"unseal": {"credentialsSecretRef": {"name": "other-unseal-key"}}},
    ),
    "a static seal on a server without one": Case(
        "static-seal-version", "spec.version", {"version": "2.3.9"}
    ),
    "the ServiceAccount default": Case(
        "service-account", "spec.serviceAccount.name", {"serviceAccount": {"name": "default"}}
    ),
    "a lease that is longer than the longest": Case(
        "lease-ttls",
        "spec.configuration.maxLeaseTTL",
        {"configuration": {"defaultLeaseTTL": "2h", "maxLeaseTTL": "119m"}},
    ),
    "an API server range that is none": Case(
        "api-server-cidr",
        "spec.network.apiServerCIDR",
        {"network": {"apiServerCIDR": "10.0.0.1/33"}},
    ),
    "an API server address that is none": Case(
        "api-server-endpoint-ips",
        "spec.network.apiServerEndpointIPs[0]",
        {"network": {"apiServerEndpointIPs": ["10.0.0.256"]}},
    ),
    "a DNS address that is none": Case(
        "dns-endpoint-ips",
        "spec.network.dnsEndpointIPs[0]",
        {"network": {"dnsEndpointIPs": ["1.2.3"]}},
    ),
    "a trusted range that is none": Case(
        "ip-block-trustedIngressPeers",
        "spec.network.trustedIngressPeers[0].ipBlock",
        {"network": {"trustedIngressPeers": [{"ipBlock": {"cidr": "1.2.3.4/64"}}]}},
    ),
    "an egress exception that is none": Case(
        "ip-block-egressRules",
        "spec.network.egressRules[0].to[0].ipBlock",
        {
            "network": {
                "egressRules": [
                    {"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/99"]}}]}
                ]
            }
        },
    ),
    "an ingress range that is none": Case(
        "ip-block-ingressRules",
        "spec.network.ingressRules[0].from[0].ipBlock",
        {"network": {"ingressRules": [{"from": [{"ipBlock": {"cidr": "::1/129"}}]}]}},
    ),
    "self-init without requests": Case(
        "self-init-requests", "spec.selfInit.requests", {"selfInit": {"enabled": True}}
    ),
    "a login of the operator without self-init": Case(
        "oidc-needs-self-init",
        "spec.selfInit.oidc.enabled",
        {"selfInit": {"enabled": False, "oidc": _OIDC}},
    ),
    "an issuer without https": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "http://k.example.com"}}},
    ),
    "an issuer with a user": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://u@k.example.com"}}},
    ),
    "an issuer with a query": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://k.example.com?a"}}},
    ),
    "a link-local issuer": Case(
        "oidc-issuer-place",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://169.254.169.254"}}},
    ),
    "an issuer that is its discovery document": Case(
        "oidc-issuer-place",
        "spec.selfInit.oidc.issuer",
        {
            "selfInit": {
                **with_request(),
                "oidc": {
                    **_OIDC,
                    "issuer": "https://k.example.com/.well-known/openid-configuration",
                },
            }
        },
    ),
    "a request to sys/audit without the flag": Case(
        "audit-request-needs-flag",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(**_AUDIT, auditDevice=_FILE)},
    ),
    "a role of a JWT login that nobody enables": Case(
        "jwt-needs-mount",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="auth/jwt/role/x")},
    ),
    "a role of the operator's login without that login": Case(
        "jwt-operator-needs-oidc",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="auth/jwt-operator/role/x")},
    ),
    "the operator's login enabled twice": Case(
        "jwt-operator-taken",
        "spec.selfInit.requests[0].path",
        {"selfInit": {**with_request(path="sys/auth/jwt-operator"), "oidc": _OIDC}},
    ),
    "the operator's own block name": Case(
        "request-name-reserved",
        "spec.selfInit.requests[0].name",
        {"selfInit": with_request(name="operator-bootstrap")},
    ),
    "a path that climbs": Case(
        "request-path",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="kv/../sys/raw")},
    ),
    "two payloads": Case(
        "request-one-payload",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(path="sys/mounts/x", secretEngine={"type": "kv"})},
    ),
    "a payload at a path that does not take it": Case(
        "request-payload-place",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(data=None, secretEngine={"type": "kv"})},
    ),
    "a mount of nothing": Case(
        "request-payload-missing",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(path="sys/mounts/x", data=None)},
    ),
    "an audit device with the options of another": Case(
        "audit-device-options",
        "spec.selfInit.requests[0].auditDevice",
        {
            "configuration": _API_AUDIT,
            "selfInit": with_request(
                **_AUDIT, auditDevice={"type": "syslog", "fileOptions": {"filePath": "stdout"}}
            ),
        },
    ),
    "a file audit device without a file": Case(
        "audit-device-options",
        "spec.selfInit.requests[0].auditDevice",
        {
            "configuration": _API_AUDIT,
            "selfInit": with_request(**_AUDIT, auditDevice={"type": "file"}),
        },
    ),
    "Hardened with two servers": Case("hardened-replicas", "spec.replicas", _hardened(replicas=2)),
    "Hardened with the operator's certificates": Case(
        "hardened-tls-mode", "spec.tls.mode", _hardened(tls=None)
    ),
    "Hardened with a static seal": Case(
        "hardened-seal", "spec.unseal.type", _hardened(unseal=None)
    ),
    "Hardened with a root token": Case(
        "hardened-self-init", "spec.selfInit.enabled", _hardened(selfInit=None)
    ),
    "Hardened with ingress rules of the user's own": Case(
        "hardened-ingress-rules",
        "spec.network.ingressRules",
        _hardened(network={"ingressRules": [{}]}),
    ),
    "Hardened with egress to every port": Case(
        "hardened-egress-rules",
        "spec.network.egressRules[0]",
        _hardened(network={"egressRules": [{"to": [{"podSelector": {}}]}]}),
    ),
    "Hardened with the whole internet as a peer": Case(
        "hardened-peers",
        "spec.network.trustedIngressPeers[0]",
        _hardened(network={"trustedIngressPeers": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}),
    ),
    "Hardened with every namespace as a destination": Case(
        "hardened-peers",
        "spec.network.egressRules[0].to[0]",
        _hardened(
            network={"egressRules": [{"to": [{"namespaceSelector": {}}], "ports": [{"port": 443}]}]}
        ),
    ),
    "Hardened with a dangerous flag": Case(
        "hardened-flags",
        "spec.configuration.rawStorageEndpoint",
        _hardened(configuration={"rawStorageEndpoint": True}),
    ),
}

# Rules that CEL cannot say, because it does not see into free data: the operator alone checks them.
CODE_CASES: dict[str, Case] = {
    "two requests of one name": Case(
        "self-init-names",
        "spec.selfInit.requests[1].name",
        {"selfInit": {"enabled": True, "requests": with_request()["requests"] * 2}},
    ),
    "a NUL in data": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": "b\x00"})},
    ),
    "half a character in data": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": ["\ud800"]})},
    ),
    "data that is nested without end": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]})},
    ),
    "a value read from a file of the pod": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {
            "selfInit": with_request(
                data={
                    "a": {
                        "eval_type": "string",
                        "eval_source": "file",
                        "path": "/etc/bao/unseal/key",
                    }
                }
            )
        },
    ),
    "a value read from the environment of the pod": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {
            "selfInit": with_request(
                data={"a": [{"eval_type": "string", "eval_source": "env", "env_var": "TOKEN"}]}
            )
        },
    ),
    "a computed value without a type": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {"selfInit": with_request(data={"a": {"eval_source": "response"}})},
    ),
    "an object in an object in a list": Case(
        "request-folded",
        "spec.selfInit.requests[0].data",
        {"selfInit": with_request(data={"a": [{"b": {"c": 1}}]})},
    ),
    "more requests than a ConfigMap holds": Case(
        "self-init-length",
        "spec.selfInit.requests",
        {"selfInit": with_request(data={"a": "x" * (512 * 1024)})},
    ),
}
