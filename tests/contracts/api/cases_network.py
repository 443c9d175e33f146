"""What the rules about spec.network refuse."""

from tests.contracts.api.case import Case

CASES: dict[str, Case] = {
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
    "a trusted peer that is nobody": Case(
        "peer-trustedIngressPeers",
        "spec.network.trustedIngressPeers[0]",
        {"network": {"trustedIngressPeers": [{}]}},
    ),
    "a destination that is an address and pods": Case(
        "peer-egressRules",
        "spec.network.egressRules[0].to[1]",
        {
            "network": {
                "egressRules": [
                    {
                        "to": [
                            {"podSelector": {}},
                            {"ipBlock": {"cidr": "192.0.2.0/24"}, "podSelector": {}},
                        ]
                    }
                ]
            }
        },
    ),
    "a source that is nobody": Case(
        "peer-ingressRules",
        "spec.network.ingressRules[0].from[0]",
        {"network": {"ingressRules": [{"from": [{}]}]}},
    ),
}
