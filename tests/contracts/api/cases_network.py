"""What the rules about spec.network refuse."""

from tests.contracts.api.case import Broken, cases_of

_BROKEN: Broken = {
    ("api-server-cidr", "spec.network.apiServerCIDR"): {
        "an invalid API server range": {"network": {"apiServerCIDR": "10.0.0.1/33"}},
        "an API server range with a leading zero": {"network": {"apiServerCIDR": "10.0.0.0/08"}},
    },
    ("api-server-endpoint-ips", "spec.network.apiServerEndpointIPs[0]"): {
        "an invalid API server address": {"network": {"apiServerEndpointIPs": ["10.0.0.256"]}}
    },
    ("dns-endpoint-ips", "spec.network.dnsEndpointIPs[0]"): {
        "an invalid DNS address": {"network": {"dnsEndpointIPs": ["1.2.3"]}},
        "a DNS address of IPv4 in the form of IPv6": {
            "network": {"dnsEndpointIPs": ["::ffff:10.0.0.10"]}
        },
    },
    ("ip-block-trustedIngressPeers", "spec.network.trustedIngressPeers[0].ipBlock"): {
        "an invalid trusted range": {
            "network": {"trustedIngressPeers": [{"ipBlock": {"cidr": "1.2.3.4/64"}}]}
        }
    },
    ("ip-block-egressRules", "spec.network.egressRules[0].to[0].ipBlock"): {
        "an invalid egress exception": {
            "network": {
                "egressRules": [
                    {"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/99"]}}]}
                ]
            }
        },
        "an egress range of all IPv4 addresses in the form of IPv6": {
            "network": {"egressRules": [{"to": [{"ipBlock": {"cidr": "::ffff:0.0.0.0/96"}}]}]}
        },
    },
    ("ip-block-ingressRules", "spec.network.ingressRules[0].from[0].ipBlock"): {
        "an invalid ingress range": {
            "network": {"ingressRules": [{"from": [{"ipBlock": {"cidr": "::1/129"}}]}]}
        }
    },
    ("peer-trustedIngressPeers", "spec.network.trustedIngressPeers[0]"): {
        "an empty trusted peer": {"network": {"trustedIngressPeers": [{}]}}
    },
    ("peer-egressRules", "spec.network.egressRules[0].to[1]"): {
        "a destination that is an address and pods": {
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
        }
    },
    ("peer-ingressRules", "spec.network.ingressRules[0].from[0]"): {
        "an empty source": {"network": {"ingressRules": [{"from": [{}]}]}}
    },
}

CASES = cases_of(_BROKEN)
