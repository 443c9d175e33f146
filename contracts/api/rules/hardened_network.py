"""Rules of profile Hardened about networks: peers, routes, stores, scrapes.

Uses contracts.api.rules.combinators and the API models. Collected by contracts.api.rules.hardened.
"""

import ipaddress
from collections.abc import Callable, Iterator

from contracts.api.cluster.network import NetworkPolicyPeer, cel_of_wide, is_wide
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.checks import Predicate, all_of, any_of, either, group, has, is_set, it
from contracts.api.rules.combinators import OFF, false, hardened
from contracts.api.rules.rule import (
    FORBIDDEN,
    REQUIRED,
    FindInvalidFields,
    InvalidField,
    Old,
    Rule,
    RuleOf,
)
from contracts.api.values.field_path import value_at, values_at
from contracts.api.values.pattern import Pattern
from contracts.ip_address import is_cidr

_IN = "in profile Hardened"
_SAFE_SCHEME = Pattern("^(https|s3)://")
_IDENTITIES = ("credentialsSecretRef", "workloadIdentity", "roleArn", "pvc")


def _in_profile(find: Callable[[ClusterSpec], Iterator[InvalidField]]) -> FindInvalidFields:
    def find_invalid_fields(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
        if new.spec.profile == "Hardened":
            for field, value in find(new.spec):
                yield f"spec.{field}", value

    return find_invalid_fields


def _selects_all_namespaces(peer: NetworkPolicyPeer) -> bool:
    namespaces = peer.namespace_selector
    return namespaces is not None and not (namespaces.match_labels or namespaces.match_expressions)


def _is_of_the_node(cidr: str) -> bool:
    if not is_cidr(cidr):
        return False
    first = ipaddress.ip_interface(cidr).network.network_address
    return first.is_loopback or first.is_link_local


def _is_refused_out(peer: NetworkPolicyPeer) -> bool:
    return _is_of_the_node(peer.ip_block.cidr) if peer.ip_block else _selects_all_namespaces(peer)


def _is_refused_in(peer: NetworkPolicyPeer) -> bool:
    return _is_refused_out(peer) or bool(peer.ip_block and is_wide(peer.ip_block.cidr))


def _peers(spec: ClusterSpec) -> Iterator[InvalidField]:
    for where, is_refused in (
        ("trustedIngressPeers[]", _is_refused_in),
        ("ingressRules[].from[]", _is_refused_in),
        ("egressRules[].to[]", _is_refused_out),
    ):
        for path, peer in values_at(spec, f"network.{where}"):
            if is_refused(peer):
                yield path, peer.ip_block.cidr if peer.ip_block else None


def _wide_egress(spec: ClusterSpec) -> Iterator[InvalidField]:
    for path, rule in values_at(spec, "network.egressRules[]"):
        if not any(peer.ip_block and is_wide(peer.ip_block.cidr) for peer in rule.to or ()):
            continue
        for place, port in enumerate(rule.ports or ()):
            if port.port is None or port.end_port is not None:
                yield f"{path}.ports[{place}]", None


_CIDR = "p.ipBlock.cidr"
_ALL_NAMESPACES = (
    "has(p.namespaceSelector) && "
    "(!has(p.namespaceSelector.matchLabels) || p.namespaceSelector.matchLabels.size() == 0) && "
    "(!has(p.namespaceSelector.matchExpressions) || "
    "p.namespaceSelector.matchExpressions.size() == 0)"
)
# The range is in a loopback or link-local range. The NetworkPolicy excludes these from wider
# ranges.
_OF_THE_NODE = (
    f"isCIDR({_CIDR}) && (cidr({_CIDR}).masked().ip().isLoopback() || "
    f"cidr({_CIDR}).masked().ip().isLinkLocalUnicast())"
)
_WIDE = cel_of_wide(_CIDR)
_REFUSED_OUT = f"has(p.ipBlock) ? ({_OF_THE_NODE}) : ({_ALL_NAMESPACES})"
_REFUSED_IN = f"has(p.ipBlock) ? (({_OF_THE_NODE}) || ({_WIDE})) : ({_ALL_NAMESPACES})"
_EGRESS, _TARGET = "network.egressRules", "backup.target"


def _scheme(endpoint: str) -> Predicate:
    return ~is_set(endpoint) | it(endpoint).matches(_SAFE_SCHEME)


def _identity(*fields: str) -> Predicate:
    return any_of(map(has, fields))


def _is_checked(field: str) -> Predicate:
    return ~either(field, False).is_true()


def _needs_peers_and_ports(direction: str, peers: str, words: str) -> Rule:
    """Return the rule that each NetworkPolicy rule of this direction must have peers and ports."""
    rules = f"network.{direction}Rules"

    def find(spec: ClusterSpec) -> Iterator[InvalidField]:
        for path, rule in values_at(spec, f"{rules}[]"):
            body = rule.to_object()
            if not body.get(peers) or not body.get("ports"):
                yield path, None

    return RuleOf(
        f"hardened-{direction}-rules",
        "spec",
        f"spec.{rules}",
        f"must each have {words} and ports {_IN}; add them",
        _in_profile(find),
        cel=f"{OFF} || (!{is_set(rules)} || self.{rules}.all(r, has(r.{peers}) && "
        f"r.{peers}.size() > 0 && has(r.ports) && r.ports.size() > 0))",
    )


NETWORK_RULES: tuple[Rule, ...] = (
    _needs_peers_and_ports("ingress", "from", "sources"),
    _needs_peers_and_ports("egress", "to", "destinations"),
    RuleOf(
        "hardened-peers",
        "spec",
        "spec.network",
        "must not allow a range wider than /8 as a source, all namespaces (an empty "
        "namespaceSelector), or the node (a loopback or link-local range) "
        f"{_IN}; name the peers",
        _in_profile(_peers),
        cel=f"{OFF} || (!has(self.network) || ("
        "(!has(self.network.trustedIngressPeers) || "
        f"self.network.trustedIngressPeers.all(p, !({_REFUSED_IN}))) && "
        "(!has(self.network.ingressRules) || "
        f"self.network.ingressRules.all(r, !has(r.from) || r.from.all(p, !({_REFUSED_IN})))) && "
        "(!has(self.network.egressRules) || "
        f"self.network.egressRules.all(r, !has(r.to) || r.to.all(p, !({_REFUSED_OUT}))))))",
    ),
    RuleOf(
        "hardened-wide-egress",
        "spec",
        f"spec.{_EGRESS}",
        "must list individual ports, without endPort, where a destination is a range wider than "
        f"/8 {_IN}; set the ports",
        _in_profile(_wide_egress),
        cel=f"{OFF} || (!{is_set(_EGRESS)} || self.network.egressRules.all(r, !has(r.to) || "
        f"!has(r.ports) || !r.to.exists(p, has(p.ipBlock) && {_WIDE}) || "
        "r.ports.all(port, has(port.port) && !has(port.endPort))))",
    ),
    hardened(
        "backup-egress",
        _EGRESS,
        f"must not be empty {_IN} when snapshots are taken, because the NetworkPolicy would block "
        "the store; add a rule with its address and port",
        group(is_set(_EGRESS) & it(_EGRESS).size().above(0))
        | either(f"{_TARGET}.provider", "s3").equals("pvc")
        | group(
            ~has("backup")
            & all_of(
                ~either(switch, False).is_true()
                for switch in (
                    "upgrade.preUpgradeSnapshot",
                    "upgrade.blueGreen.preUpgradeSnapshot",
                )
            )
        ),
        shows=None,
        reason=REQUIRED,
    ),
    hardened(
        "backup-scheme",
        f"{_TARGET}.endpoint",
        f"must have scheme https or s3 {_IN}; change it",
        _scheme(f"{_TARGET}.endpoint"),
    ),
    hardened(
        "backup-identity",
        _TARGET,
        f"must have a login for the store {_IN}, so that the Job does not use the identity of its "
        "node; set credentialsSecretRef, workloadIdentity or roleArn",
        ~has("backup") | _identity(*(f"{_TARGET}.{name}" for name in _IDENTITIES)),
        shows=None,
        reason=REQUIRED,
    ),
    hardened(
        "backup-check",
        f"{_TARGET}.insecureSkipVerify",
        f"must not be true {_IN}, because an attacker in the network could read the snapshot; put "
        "the CA certificate into the key caCert of the Secret",
        _is_checked(f"{_TARGET}.insecureSkipVerify"),
        reason=FORBIDDEN,
    ),
    hardened(
        "gateway-backend",
        "gateway.backendTLS.enabled",
        f"must not be false {_IN} unless gateway.tlsPassthrough is true, because the Gateway would "
        "not verify the servers; set one of them to true",
        ~either("gateway.enabled", False).is_true()
        | either("gateway.backendTLS.enabled", True).is_true()
        | either("gateway.tlsPassthrough", False).is_true(),
        reason=FORBIDDEN,
    ),
    false(
        "scrape-check",
        "observability.metrics.serviceMonitor.tlsConfig.insecureSkipVerify",
        f"must not be true {_IN}, because an attacker in the network could read the scrape token; "
        "set caSecret or caConfigMap",
    ),
)

_RULES = {rule.id: rule for rule in NETWORK_RULES}
_OF_STORE = (
    (_RULES["hardened-backup-scheme"], "endpoint", _scheme("endpoint")),
    (_RULES["hardened-backup-identity"], "", _identity(*_IDENTITIES)),
    (_RULES["hardened-backup-check"], "insecureSkipVerify", _is_checked("insecureSkipVerify")),
)


def invalid_store_fields(target: BackupTarget) -> Iterator[tuple[Rule, str, object]]:
    """Yield the rules of the profile that a store breaks: rule, relative field and value.

    For objects that refer to a cluster: CEL rules of the object cannot read the cluster's profile.
    """
    for rule, field, check in _OF_STORE:
        if not check.holds(target, None):
            yield rule, field, value_at(target, field) if field else None
