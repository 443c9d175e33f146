"""The traffic that a NetworkPolicy allows, by its documented semantics.

The network of the rig enforces no policies, so this evaluates the objects. Source: Kubernetes API
reference, NetworkPolicySpec; a peer is matched by selectors or by address, never by both.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Labels = Mapping[str, str]
NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Peer:
    """A pod (with the namespace that it is in) or, without a namespace, an address outside."""

    namespace: str = ""
    labels: Labels = field(default_factory=dict)
    address: str = ""
    namespace_labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """One NetworkPolicy object."""

    body: Mapping[str, Any]

    def selects(self, pod: Peer) -> bool:
        """Whether the policy selects the pod."""
        metadata = self.body["metadata"]
        return pod.namespace == metadata["namespace"] and _matches(
            self.body["spec"]["podSelector"], pod.labels
        )

    def lets_in(self, source: Peer, port: int, protocol: str = "TCP") -> bool:
        """Whether a selected pod accepts the connection."""
        return self._passes("Ingress", "ingress", "from", source, (port, protocol))

    def lets_out(self, target: Peer, port: int, protocol: str = "TCP") -> bool:
        """Whether a selected pod may open the connection."""
        return self._passes("Egress", "egress", "to", target, (port, protocol))

    def _passes(
        self, kind: str, field_name: str, side: str, peer: Peer, port: tuple[int, str]
    ) -> bool:
        spec = self.body["spec"]
        if kind not in spec["policyTypes"]:
            return True
        own = self.body["metadata"]["namespace"]
        return any(
            _any_peer(rule.get(side), peer, own) and _any_port(rule.get("ports"), *port)
            for rule in spec.get(field_name) or ()
        )


def _any_peer(peers: list[Mapping[str, Any]] | None, peer: Peer, own: str) -> bool:
    """An absent or empty list matches every peer."""
    return not peers or any(_is(rule_peer, peer, own) for rule_peer in peers)


def _is(rule_peer: Mapping[str, Any], peer: Peer, own: str) -> bool:
    block = rule_peer.get("ipBlock")
    if block is not None:
        return not peer.namespace and _within(block, peer.address)
    if not peer.namespace:
        return False
    spaces, pods = rule_peer.get("namespaceSelector"), rule_peer.get("podSelector")
    if spaces is None:
        right_space = peer.namespace == own
    else:
        right_space = _matches(spaces, {NAMESPACE_NAME: peer.namespace, **peer.namespace_labels})
    return right_space and (pods is None or _matches(pods, peer.labels))


def _within(block: Mapping[str, Any], address: str) -> bool:
    where = ipaddress.ip_address(address)
    inside = where in ipaddress.ip_network(block["cidr"], strict=False)
    return inside and not any(
        where in ipaddress.ip_network(hole, strict=False) for hole in block.get("except") or ()
    )


def _matches(selector: Mapping[str, Any], labels: Labels) -> bool:
    equal = selector.get("matchLabels") or {}
    return equal.items() <= labels.items() and all(
        _holds(requirement, labels) for requirement in selector.get("matchExpressions") or ()
    )


def _holds(requirement: Mapping[str, Any], labels: Labels) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(other)


def _any_port(ports: list[Mapping[str, Any]] | None, number: int, protocol: str) -> bool:
    """An absent or empty list matches every port; named ports are not used here."""
    if not ports:
        return True
    return any(
        port.get("protocol", "TCP") == protocol
        and ("port" not in port or port["port"] <= number <= port.get("endPort", port["port"]))
        for port in ports
    )
