"""What profile Hardened refuses.

Uses the API models. Collected by contracts.api.rules.
"""

from collections.abc import Callable, Iterator

from contracts.api.cluster import OpenBaoCluster
from contracts.api.network import NetworkPolicyPeer
from contracts.api.rule import Broken, Offence, Rule, either
from contracts.api.rules_network import peers_of

Old = OpenBaoCluster | None
Find = Callable[[OpenBaoCluster], Iterator[Offence]]

REPLICAS_MIN = 3
_OFF = "!has(self.profile) || self.profile != 'Hardened' || "


def _replicas(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.replicas < REPLICAS_MIN:
        yield "spec.replicas", cluster.spec.replicas


def _tls_mode(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.tls.mode == "OperatorManaged":
        yield "spec.tls.mode", cluster.spec.tls.mode


def _seal(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.unseal.type == "static":
        yield "spec.unseal.type", cluster.spec.unseal.type


def _self_init(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if not (cluster.spec.self_init and cluster.spec.self_init.enabled):
        yield "spec.selfInit.enabled", False


def _ingress_rules(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.network.ingress_rules:
        yield "spec.network.ingressRules", None


def _egress_rules(cluster: OpenBaoCluster) -> Iterator[Offence]:
    for position, rule in enumerate(cluster.spec.network.egress_rules):
        if not rule.to or not rule.ports:
            yield f"spec.network.egressRules[{position}]", None


def _is_everyone(peer: NetworkPolicyPeer) -> bool:
    if peer.ip_block:
        return peer.ip_block.cidr.endswith("/0")
    namespaces = peer.namespace_selector
    return namespaces is not None and not (namespaces.match_labels or namespaces.match_expressions)


def _peers(cluster: OpenBaoCluster) -> Iterator[Offence]:
    for where in ("trustedIngressPeers[]", "egressRules[].to[]"):
        for path, peer in peers_of(cluster, where):
            if _is_everyone(peer):
                yield path, peer.ip_block.cidr if peer.ip_block else None


def _dangerous_flags(cluster: OpenBaoCluster) -> Iterator[Offence]:
    settings = cluster.spec.configuration
    flags = {
        "detectDeadlocks": settings.detect_deadlocks,
        "rawStorageEndpoint": settings.raw_storage_endpoint,
        "introspectionEndpoint": settings.introspection_endpoint,
        "unsafeAllowAPIAuditCreation": settings.unsafe_allow_api_audit_creation,
    }
    for name, value in flags.items():
        if value:
            yield f"spec.configuration.{name}", True


def _when_hardened(find: Find) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if new.spec.profile == "Hardened":
            yield from find(new)

    return broken


_OWN, _STATIC = "'OperatorManaged'", "'static'"
_EVERYONE = (
    "has(p.ipBlock) ? p.ipBlock.cidr.endsWith('/0') : has(p.namespaceSelector) && "
    "(!has(p.namespaceSelector.matchLabels) || p.namespaceSelector.matchLabels.size() == 0) && "
    "(!has(p.namespaceSelector.matchExpressions) || "
    "p.namespaceSelector.matchExpressions.size() == 0)"
)
_DANGEROUS = (
    "detectDeadlocks",
    "rawStorageEndpoint",
    "introspectionEndpoint",
    "unsafeAllowAPIAuditCreation",
)

HARDENED_RULES: tuple[Rule, ...] = (
    Rule(
        id="hardened-replicas",
        at="spec",
        field="spec.replicas",
        message=f"must be {REPLICAS_MIN} or more in profile Hardened; raise it",
        broken=_when_hardened(_replicas),
        cel=f"{_OFF}self.replicas >= {REPLICAS_MIN}",
    ),
    Rule(
        id="hardened-tls-mode",
        at="spec",
        field="spec.tls.mode",
        message=(
            "must be External or ACME in profile Hardened, so that the operator does not hold the "
            "key of the certificate authority; change it or use profile Development"
        ),
        broken=_when_hardened(_tls_mode),
        cel=f"{_OFF}{either('tls.mode', _OWN)} != {_OWN}",
    ),
    Rule(
        id="hardened-seal",
        at="spec",
        field="spec.unseal.type",
        message=(
            "must not be static in profile Hardened, so that the unseal key does not lie beside "
            "the data; choose another seal or use profile Development"
        ),
        broken=_when_hardened(_seal),
        cel=f"{_OFF}{either('unseal.type', _STATIC)} != {_STATIC}",
    ),
    Rule(
        id="hardened-self-init",
        at="spec",
        field="spec.selfInit.enabled",
        message=(
            "must be true in profile Hardened, so that no root token is kept; add self-init "
            "requests or use profile Development"
        ),
        broken=_when_hardened(_self_init),
        cel=f"{_OFF}{either('selfInit.enabled', 'false')}",
    ),
    Rule(
        id="hardened-ingress-rules",
        at="spec",
        field="spec.network.ingressRules",
        message="must be empty in profile Hardened; use trustedIngressPeers",
        broken=_when_hardened(_ingress_rules),
        cel=f"{_OFF}!has(self.network) || !has(self.network.ingressRules) || "
        "self.network.ingressRules.size() == 0",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="hardened-egress-rules",
        at="spec",
        field="spec.network.egressRules",
        message="must each name destinations and ports in profile Hardened; add them",
        broken=_when_hardened(_egress_rules),
        cel=(
            f"{_OFF}!has(self.network) || !has(self.network.egressRules) || "
            "self.network.egressRules.all(r, has(r.to) && r.to.size() > 0 && "
            "has(r.ports) && r.ports.size() > 0)"
        ),
    ),
    Rule(
        id="hardened-peers",
        at="spec",
        field="spec.network",
        message=(
            "must not let everybody in or out (a /0 range, an empty namespaceSelector) in profile "
            "Hardened; name the peers"
        ),
        broken=_when_hardened(_peers),
        cel=(
            f"{_OFF}!has(self.network) || ("
            "(!has(self.network.trustedIngressPeers) || "
            f"self.network.trustedIngressPeers.all(p, !({_EVERYONE}))) && "
            "(!has(self.network.egressRules) || "
            f"self.network.egressRules.all(r, !has(r.to) || r.to.all(p, !({_EVERYONE})))))"
        ),
    ),
    Rule(
        id="hardened-flags",
        at="spec",
        field="spec.configuration",
        message=(f"must not set {', '.join(_DANGEROUS)} in profile Hardened; remove them"),
        broken=_when_hardened(_dangerous_flags),
        cel=_OFF
        + "("
        + " && ".join(f"!{either(f'configuration.{flag}', 'false')}" for flag in _DANGEROUS)
        + ")",
        reason="FieldValueForbidden",
    ),
)
