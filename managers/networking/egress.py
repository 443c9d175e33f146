"""Converts the egress rules of a user to NetworkPolicy rules. Pure.

Called by `managers.cluster.resolve.resolve`. In profile Hardened every CIDR excludes link-local
addresses and the metadata servers of clouds at other addresses: a rule for the internet must not
give access to the credentials of the node.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.network import EgressRule, IpBlock, NetworkPolicyPeer
from contracts.api.cluster.spec import ClusterSpec
from contracts.cloud_metadata import LINK_LOCAL, METADATA, Network

EXCLUDED: tuple[Network, ...] = (*LINK_LOCAL, *METADATA)


def egress_rules(spec: ClusterSpec) -> tuple[Mapping[str, Any], ...]:
    """Return the rules of `spec.network.egressRules`, with the exceptions of profile Hardened."""
    rules = spec.network.egress_rules
    if spec.profile == "Hardened":
        rules = tuple(map(_without_metadata, rules))
    return tuple(rule.to_object() for rule in rules)


def _without_metadata(rule: EgressRule) -> EgressRule:
    if rule.to is None:
        return rule
    return rule.model_copy(update={"to": tuple(map(_exclude_metadata, rule.to))})


def _exclude_metadata(peer: NetworkPolicyPeer) -> NetworkPolicyPeer:
    block = peer.ip_block
    missing = tuple(map(str, _missing(block))) if block else ()
    if block is None or not missing:
        return peer
    ranges = (*(block.except_ or ()), *missing)
    return peer.model_copy(update={"ip_block": block.model_copy(update={"except_": ranges})})


def _missing(block: IpBlock) -> Iterator[Network]:
    """Yield the ranges of EXCLUDED in a block that are not among its exceptions.

    An exception must be smaller than its block, so a rule whose block is exactly the range of a
    metadata server still allows access to it.
    """
    outer = _network(block.cidr)
    exceptions = [_network(text) for text in block.except_ or ()]
    for inner in EXCLUDED:
        is_exception = any(_is_within(inner, exception) for exception in exceptions)
        if inner != outer and _is_within(inner, outer) and not is_exception:
            yield inner


def _network(cidr: str) -> Network:
    return ipaddress.ip_network(cidr, strict=False)


def _is_within(inner: Network, outer: Network) -> bool:
    return (
        inner.version == outer.version
        and inner.prefixlen >= outer.prefixlen
        and inner.network_address in outer
    )
