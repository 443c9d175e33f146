"""What the rules of profile Hardened refuse about ingress and egress."""

from typing import Any

from tests.contracts.api.case import Broken, cases_of, hardened_spec

_EGRESS = [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 443}]}]
_TARGET = {
    "endpoint": "https://s3.example.com",
    "bucket": "b",
    "credentialsSecretRef": {"name": "store"},
}


def _backup(target: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Hardened spec with backups, changed; None removes a field of the target."""
    fields = {**_TARGET, **(target or {})}
    return hardened_spec(
        backup={
            "schedule": "0 3 * * *",
            "jwtAuthRole": "backup",
            "target": {key: value for key, value in fields.items() if value is not None},
        },
        **{"network": {"egressRules": _EGRESS}, **spec},
    )


def _trusted_peer_spec(**peer: Any) -> dict[str, Any]:
    return hardened_spec(network={"trustedIngressPeers": [peer]})


def _ingress_from(**peer: Any) -> dict[str, Any]:
    rule = {"from": [peer], "ports": [{"port": 8201}]}
    return hardened_spec(network={"ingressRules": [rule]})


def _egress_to(*ports: dict[str, Any], **peer: Any) -> dict[str, Any]:
    rule = {"to": [peer], "ports": list(ports) or [{"port": 443}]}
    return hardened_spec(network={"egressRules": [rule]})


_BROKEN: Broken = {
    ("hardened-ingress-rules", "spec.network.ingressRules[0]"): {
        "Hardened with ingress from everywhere": hardened_spec(
            network={"ingressRules": [{"ports": [{"port": 8201}]}]}
        ),
        "Hardened with ingress to every port": hardened_spec(
            network={"ingressRules": [{"from": [{"podSelector": {}}]}]}
        ),
    },
    ("hardened-peers", "spec.network.ingressRules[0].from[0]"): {
        "Hardened with ingress from half of the internet": _ingress_from(
            ipBlock={"cidr": "128.0.0.0/1"}
        ),
        "Hardened with ingress from every namespace": _ingress_from(namespaceSelector={}),
    },
    ("hardened-egress-rules", "spec.network.egressRules[0]"): {
        "Hardened with egress to every port": hardened_spec(
            network={"egressRules": [{"to": [{"podSelector": {}}]}]}
        )
    },
    ("hardened-peers", "spec.network.trustedIngressPeers[0]"): {
        "Hardened with all IPv4 addresses as a peer": _trusted_peer_spec(
            ipBlock={"cidr": "0.0.0.0/0"}
        ),
        "Hardened with all IPv6 addresses as a peer": _trusted_peer_spec(ipBlock={"cidr": "::/0"}),
        "Hardened with half of the internet as a peer": _trusted_peer_spec(
            ipBlock={"cidr": "128.0.0.0/1"}
        ),
        "Hardened with the loopback as a peer": _trusted_peer_spec(ipBlock={"cidr": "127.0.0.0/8"}),
    },
    ("hardened-peers", "spec.network.egressRules[0].to[0]"): {
        "Hardened with the metadata server of the cloud as a destination": _egress_to(
            ipBlock={"cidr": "169.254.169.254/32"}
        ),
        "Hardened with the node's link as a destination, with bits behind the prefix": _egress_to(
            ipBlock={"cidr": "fe80::1:2/64"}
        ),
        "Hardened with every namespace as a destination": _egress_to(namespaceSelector={}),
    },
    ("hardened-wide-egress", "spec.network.egressRules[0].ports[0]"): {
        "Hardened with every port of all IPv4 addresses": _egress_to(
            {"protocol": "TCP"}, ipBlock={"cidr": "0.0.0.0/0"}
        ),
        "Hardened with every port of a range that is as good as the whole internet": _egress_to(
            {}, ipBlock={"cidr": "128.0.0.0/1"}
        ),
    },
    ("hardened-wide-egress", "spec.network.egressRules[0].ports[1]"): {
        "Hardened with a port range of all IPv6 addresses": _egress_to(
            {"port": 443}, {"port": 1, "endPort": 65535}, ipBlock={"cidr": "::/0"}
        )
    },
    ("hardened-backup-egress", "spec.network.egressRules"): {
        "Hardened with backups and no egress to the store": _backup(network={})
    },
    ("hardened-backup-scheme", "spec.backup.target.endpoint"): {
        "Hardened with a store in the clear": _backup({"endpoint": "http://s3.example.com"})
    },
    ("hardened-backup-identity", "spec.backup.target"): {
        "Hardened with the node's identity at the store": _backup({"credentialsSecretRef": None})
    },
    ("hardened-backup-check", "spec.backup.target.insecureSkipVerify"): {
        "Hardened with a store without TLS verification": _backup({"insecureSkipVerify": True})
    },
    ("hardened-gateway-backend", "spec.gateway.backendTLS.enabled"): {
        "Hardened with a Gateway without backend TLS": hardened_spec(
            gateway={
                "enabled": True,
                "gatewayRef": {"name": "g"},
                "hostname": "bao.example.com",
                "backendTLS": {"enabled": False},
            }
        )
    },
    (
        "hardened-scrape-check",
        "spec.observability.metrics.serviceMonitor.tlsConfig.insecureSkipVerify",
    ): {
        "Hardened with a scrape that checks nothing": hardened_spec(
            observability={
                "metrics": {
                    "enabled": True,
                    "serviceMonitor": {"enabled": True, "tlsConfig": {"insecureSkipVerify": True}},
                }
            }
        )
    },
}

CASES = cases_of(_BROKEN)
