"""What the rules about spec.ingress and spec.gateway refuse."""

from typing import Any

from tests.contracts.api.case import Case

_PEERS: dict[str, Any] = {"trustedIngressPeers": [{"podSelector": {}}]}
_GATEWAY: dict[str, Any] = {
    "enabled": True,
    "gatewayRef": {"name": "g"},
    "hostname": "bao.example.com",
}


def _gateway(field: str) -> dict[str, Any]:
    return {"gateway": {key: value for key, value in _GATEWAY.items() if key != field}}


CASES: dict[str, Case] = {
    "a path that ends a statement of a proxy": Case(
        "ingress-path", "spec.ingress.path", {"ingress": {"path": "/x;}location"}}
    ),
    "a route with an encoded parent segment": Case(
        "gateway-path", "spec.gateway.path", {"gateway": {"path": "/a/%2E%2e/b"}}
    ),
    "an Ingress without a host": Case(
        "ingress-host", "spec.ingress.host", {"ingress": {"enabled": True}, "network": _PEERS}
    ),
    "an Ingress without trusted peers": Case(
        "ingress-peers",
        "spec.network.trustedIngressPeers",
        {"ingress": {"enabled": True, "host": "bao.example.com"}},
    ),
    "a route without a Gateway": Case(
        "gateway-name", "spec.gateway.gatewayRef.name", _gateway("gatewayRef")
    ),
    "a route without a host": Case(
        "gateway-hostname", "spec.gateway.hostname", _gateway("hostname")
    ),
    "a route that terminates TLS in mode ACME": Case(
        "gateway-acme",
        "spec.gateway.tlsPassthrough",
        {
            "gateway": _GATEWAY,
            "replicas": 1,
            "tls": {
                "mode": "ACME",
                "acme": {
                    "directoryURL": "https://acme.example.com/directory",
                    "domain": "bao.example.com",
                },
            },
        },
    ),
}
