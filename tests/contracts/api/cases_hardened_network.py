"""What the rules of profile Hardened refuse about the ways in and out."""

from typing import Any

from tests.contracts.api.case import Case, hardened

_EGRESS = [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 443}]}]
_TARGET = {
    "endpoint": "https://s3.example.com",
    "bucket": "b",
    "credentialsSecretRef": {"name": "store"},
}


def _backup(target: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Hardened spec with backups, changed; None removes a field of the target."""
    fields = {**_TARGET, **(target or {})}
    return hardened(
        backup={
            "schedule": "0 3 * * *",
            "jwtAuthRole": "backup",
            "target": {key: value for key, value in fields.items() if value is not None},
        },
        **{"network": {"egressRules": _EGRESS}, **spec},
    )


def _trusted(**peer: Any) -> dict[str, Any]:
    return hardened(network={"trustedIngressPeers": [peer]})


def _ingress_from(**peer: Any) -> dict[str, Any]:
    rule = {"from": [peer], "ports": [{"port": 8201}]}
    return hardened(network={"ingressRules": [rule]})


def _egress_to(*ports: dict[str, Any], **peer: Any) -> dict[str, Any]:
    rule = {"to": [peer], "ports": list(ports) or [{"port": 443}]}
    return hardened(network={"egressRules": [rule]})


CASES: dict[str, Case] = {
    "Hardened with ingress from everywhere": Case(
        "hardened-ingress-rules",
        "spec.network.ingressRules[0]",
        hardened(network={"ingressRules": [{"ports": [{"port": 8201}]}]}),
    ),
    "Hardened with ingress to every port": Case(
        "hardened-ingress-rules",
        "spec.network.ingressRules[0]",
        hardened(network={"ingressRules": [{"from": [{"podSelector": {}}]}]}),
    ),
    "Hardened with ingress from half of the internet": Case(
        "hardened-peers",
        "spec.network.ingressRules[0].from[0]",
        _ingress_from(ipBlock={"cidr": "128.0.0.0/1"}),
    ),
    "Hardened with ingress from every namespace": Case(
        "hardened-peers",
        "spec.network.ingressRules[0].from[0]",
        _ingress_from(namespaceSelector={}),
    ),
    "Hardened with egress to every port": Case(
        "hardened-egress-rules",
        "spec.network.egressRules[0]",
        hardened(network={"egressRules": [{"to": [{"podSelector": {}}]}]}),
    ),
    "Hardened with the whole internet as a peer": Case(
        "hardened-peers",
        "spec.network.trustedIngressPeers[0]",
        _trusted(ipBlock={"cidr": "0.0.0.0/0"}),
    ),
    "Hardened with the whole other internet as a peer": Case(
        "hardened-peers", "spec.network.trustedIngressPeers[0]", _trusted(ipBlock={"cidr": "::/0"})
    ),
    "Hardened with half of the internet as a peer": Case(
        "hardened-peers",
        "spec.network.trustedIngressPeers[0]",
        _trusted(ipBlock={"cidr": "128.0.0.0/1"}),
    ),
    "Hardened with the node itself as a peer": Case(
        "hardened-peers",
        "spec.network.trustedIngressPeers[0]",
        _trusted(ipBlock={"cidr": "127.0.0.0/8"}),
    ),
    "Hardened with the metadata server of the cloud as a destination": Case(
        "hardened-peers",
        "spec.network.egressRules[0].to[0]",
        _egress_to(ipBlock={"cidr": "169.254.169.254/32"}),
    ),
    "Hardened with the link of the node as a destination, with bits behind the prefix": Case(
        "hardened-peers",
        "spec.network.egressRules[0].to[0]",
        _egress_to(ipBlock={"cidr": "fe80::1:2/64"}),
    ),
    "Hardened with every port of the whole internet": Case(
        "hardened-wide-egress",
        "spec.network.egressRules[0].ports[0]",
        _egress_to({"protocol": "TCP"}, ipBlock={"cidr": "0.0.0.0/0"}),
    ),
    "Hardened with a range of ports of the whole other internet": Case(
        "hardened-wide-egress",
        "spec.network.egressRules[0].ports[1]",
        _egress_to({"port": 443}, {"port": 1, "endPort": 65535}, ipBlock={"cidr": "::/0"}),
    ),
    "Hardened with every port of a range that is as good as the whole internet": Case(
        "hardened-wide-egress",
        "spec.network.egressRules[0].ports[0]",
        _egress_to({}, ipBlock={"cidr": "128.0.0.0/1"}),
    ),
    "Hardened with every namespace as a destination": Case(
        "hardened-peers", "spec.network.egressRules[0].to[0]", _egress_to(namespaceSelector={})
    ),
    "Hardened with a store that nobody may reach": Case(
        "hardened-backup-egress", "spec.network.egressRules", _backup(network={})
    ),
    "Hardened with a store in the clear": Case(
        "hardened-backup-scheme",
        "spec.backup.target.endpoint",
        _backup({"endpoint": "http://s3.example.com"}),
    ),
    "Hardened with the node's identity at the store": Case(
        "hardened-backup-identity", "spec.backup.target", _backup({"credentialsSecretRef": None})
    ),
    "Hardened with a store that nobody checks": Case(
        "hardened-backup-check",
        "spec.backup.target.insecureSkipVerify",
        _backup({"insecureSkipVerify": True}),
    ),
    "Hardened with a Gateway that checks nothing": Case(
        "hardened-gateway-backend",
        "spec.gateway.backendTLS.enabled",
        hardened(
            gateway={
                "enabled": True,
                "gatewayRef": {"name": "g"},
                "hostname": "bao.example.com",
                "backendTLS": {"enabled": False},
            }
        ),
    ),
    "Hardened with a scrape that checks nothing": Case(
        "hardened-scrape-check",
        "spec.observability.metrics.serviceMonitor.tlsConfig.insecureSkipVerify",
        hardened(
            observability={
                "metrics": {
                    "enabled": True,
                    "serviceMonitor": {"enabled": True, "tlsConfig": {"insecureSkipVerify": True}},
                }
            }
        ),
    ),
}
