"""The evaluator, on policies that the Kubernetes documentation explains."""

from typing import Any

import pytest

from tests.managers.networking.evaluator import Peer, Policy

POD = Peer("default", {"role": "frontend"})
ELSEWHERE = Peer("other", {"role": "frontend"}, namespace_labels={"user": "alice"})
OUTSIDE = Peer(address="172.17.1.5")


def ingress(*rules: Any, types: tuple[str, ...] = ("Ingress",)) -> Policy:
    return Policy(
        {
            "metadata": {"namespace": "default"},
            "spec": {"podSelector": {}, "policyTypes": list(types), "ingress": list(rules)},
        }
    )


DOCUMENTED: dict[str, tuple[Policy, Peer, int, bool]] = {
    "default deny": (ingress(), POD, 80, False),
    "allow all": (ingress({}), OUTSIDE, 80, True),
    "a policy for egress does not restrict ingress": (
        ingress(types=("Egress",)),
        OUTSIDE,
        80,
        True,
    ),
    "a pod selector matches the own namespace": (
        ingress({"from": [{"podSelector": {"matchLabels": {"role": "frontend"}}}]}),
        ELSEWHERE,
        80,
        False,
    ),
    "two selectors in one item must both match": (
        ingress(
            {
                "from": [
                    {
                        "namespaceSelector": {"matchLabels": {"user": "alice"}},
                        "podSelector": {"matchLabels": {"role": "client"}},
                    }
                ]
            }
        ),
        ELSEWHERE,
        80,
        False,
    ),
    "one of two items must match": (
        ingress(
            {
                "from": [
                    {"namespaceSelector": {"matchLabels": {"user": "alice"}}},
                    {"podSelector": {"matchLabels": {"role": "client"}}},
                ]
            }
        ),
        ELSEWHERE,
        80,
        True,
    ),
    "a range with an exception": (
        ingress({"from": [{"ipBlock": {"cidr": "172.17.0.0/16", "except": ["172.17.1.0/24"]}}]}),
        OUTSIDE,
        80,
        False,
    ),
    "a range of ports": (
        ingress({"ports": [{"protocol": "TCP", "port": 32000, "endPort": 32768}]}),
        OUTSIDE,
        32500,
        True,
    ),
    "beyond a range of ports": (
        ingress({"ports": [{"protocol": "TCP", "port": 32000, "endPort": 32768}]}),
        OUTSIDE,
        32769,
        False,
    ),
    "an empty namespace selector matches every namespace": (
        ingress({"from": [{"namespaceSelector": {}}]}),
        ELSEWHERE,
        80,
        True,
    ),
    "namespaces by expression": (
        ingress(
            {
                "from": [
                    {
                        "namespaceSelector": {
                            "matchExpressions": [
                                {"key": "user", "operator": "In", "values": ["alice", "bob"]},
                                {"key": "user", "operator": "Exists"},
                                {"key": "user", "operator": "NotIn", "values": ["mallory"]},
                                {"key": "retired", "operator": "DoesNotExist"},
                            ]
                        }
                    }
                ]
            }
        ),
        ELSEWHERE,
        80,
        True,
    ),
}


@pytest.mark.parametrize(
    ("policy", "peer", "port", "may"), DOCUMENTED.values(), ids=DOCUMENTED.keys()
)
def test_documented_policies(policy: Policy, peer: Peer, port: int, may: bool) -> None:
    assert policy.lets_in(peer, port) is may
