"""The egress rules of a user as NetworkPolicies have them. Pure.

Called by `managers.cluster.resolve.resolve`. In profile Hardened a range of addresses never
includes the link of the node, nor where a cloud serves the metadata of machines outside of it: the
rule of a user for the internet must not open the credentials of the node.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.network import EgressRule, IpBlock, NetworkPolicyPeer
from contracts.api.cluster.spec import ClusterSpec
from contracts.cloud_metadata import LINK_LOCAL, METADATA, Network

CLOSED: tuple[Network, ...] = (*LINK_LOCAL, *METADATA)


def egress_rules(spec: ClusterSpec) -> tuple[Mapping[str, Any], ...]:
    """Return the rules of `spec.network.egressRules`, with what profile Hardened leaves out."""
    rules = spec.network.egress_rules
    if spec.profile == "Hardened":
        rules = tuple(map(_without_metadata, rules))
    return tuple(rule.to_object() for rule in rules)


def _without_metadata(rule: EgressRule) -> EgressRule:
    if rule.to is None:
        return rule
    return rule.model_copy(update={"to": tuple(map(_narrowed, rule.to))})


def _narrowed(peer: NetworkPolicyPeer) -> NetworkPolicyPeer:
    block = peer.ip_block
    missing = tuple(map(str, _missing(block))) if block else ()
    if block is None or not missing:
        return peer
    ranges = (*(block.except_ or ()), *missing)
    return peer.model_copy(update={"ip_block": block.model_copy(update={"except_": ranges})})


def _missing(block: IpBlock) -> Iterator[Network]:
    """What is closed within the block, and not left out of it yet.

    An exception must be smaller than its block, so a metadata server stays open to a rule that
    names its very range.
    """
    outer = _network(block.cidr)
    present = [_network(text) for text in block.except_ or ()]
    for inner in CLOSED:
        left_out = any(_is_within(inner, one) for one in present)
        if inner != outer and _is_within(inner, outer) and not left_out:
            yield inner


def _network(cidr: str) -> Network:
    return ipaddress.ip_network(cidr, strict=False)


def _is_within(inner: Network, outer: Network) -> bool:
    return (
        inner.version == outer.version
        and inner.prefixlen >= outer.prefixlen
        and inner.network_address in outer
    )
