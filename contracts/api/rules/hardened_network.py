"""What profile Hardened refuses about networks: peers, routes, stores, scrapes.

Uses contracts.api.rules.combinators and the API models. Collected by contracts.api.rules.hardened.
"""

import ipaddress
from collections.abc import Callable, Iterator

from contracts.api.cluster.network import NetworkPolicyPeer, is_cidr
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules import combinators
from contracts.api.rules.network import peers_of
from contracts.api.rules.rule import Offence, Rule, either, is_set
from contracts.api.values.field_path import value_at
from contracts.api.values.pattern import Pattern

_IN = "in profile Hardened"
_SAFE_SCHEME = Pattern("^(https|s3)://")
_SNAPSHOTS = ("upgrade.preUpgradeSnapshot", "upgrade.blueGreen.preUpgradeSnapshot")
_IDENTITIES = ("credentialsSecretRef", "workloadIdentity", "roleArn", "pvc")


def _ingress_rules(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.network.ingress_rules:
        yield "spec.network.ingressRules", None


def _egress_rules(cluster: OpenBaoCluster) -> Iterator[Offence]:
    for position, rule in enumerate(cluster.spec.network.egress_rules):
        if not rule.to or not rule.ports:
            yield f"spec.network.egressRules[{position}]", None


def _is_too_wide(peer: NetworkPolicyPeer) -> bool:
    if peer.ip_block:
        return is_cidr(peer.ip_block.cidr) and _is_special(peer.ip_block.cidr)
    namespaces = peer.namespace_selector
    return namespaces is not None and not (namespaces.match_labels or namespaces.match_expressions)


def _is_special(cidr: str) -> bool:
    network = ipaddress.ip_network(cidr, strict=False)
    first = network.network_address
    return network.prefixlen == 0 or first.is_loopback or first.is_link_local


def _peers(cluster: OpenBaoCluster) -> Iterator[Offence]:
    for where in ("trustedIngressPeers[]", "egressRules[].to[]"):
        for path, peer in peers_of(cluster, where):
            if _is_too_wide(peer):
                yield path, peer.ip_block.cidr if peer.ip_block else None


def _backup_egress(cluster: OpenBaoCluster) -> Iterator[Offence]:
    spec = cluster.spec
    snapshots = any(value_at(spec, switch) for switch in _SNAPSHOTS)
    store = spec.backup.target if spec.backup else None
    leaves = store is None or store.provider != "pvc"
    if (store or snapshots) and leaves and not spec.network.egress_rules:
        yield "spec.network.egressRules", None


def _scheme(target: BackupTarget) -> Iterator[Offence]:
    if target.endpoint is not None and not _SAFE_SCHEME.found_in(target.endpoint):
        yield "endpoint", target.endpoint


def _identity(target: BackupTarget) -> Iterator[Offence]:
    if all(value_at(target, name) is None for name in _IDENTITIES):
        yield "", None


def _unchecked(target: BackupTarget) -> Iterator[Offence]:
    if target.insecure_skip_verify:
        yield "insecureSkipVerify", True


def _of_backup(find: Callable[[BackupTarget], Iterator[Offence]]) -> combinators.Find:
    """The offences of the store of spec.backup."""

    def offences(cluster: OpenBaoCluster) -> Iterator[Offence]:
        if cluster.spec.backup:
            for field, value in find(cluster.spec.backup.target):
                yield f"spec.{_TARGET}.{field}".rstrip("."), value

    return offences


def _backend_tls(cluster: OpenBaoCluster) -> Iterator[Offence]:
    gateway = cluster.spec.gateway
    backend = gateway.backend_tls if gateway else None
    if gateway and backend and gateway.enabled and not (backend.enabled or gateway.tls_passthrough):
        yield "spec.gateway.backendTLS.enabled", False


_TOO_WIDE = (
    "has(p.ipBlock) ? (isCIDR(p.ipBlock.cidr) && (p.ipBlock.cidr.endsWith('/0') || "
    "cidr(p.ipBlock.cidr).ip().isLoopback() || "
    "cidr(p.ipBlock.cidr).ip().isLinkLocalUnicast())) : "
    "has(p.namespaceSelector) && "
    "(!has(p.namespaceSelector.matchLabels) || p.namespaceSelector.matchLabels.size() == 0) && "
    "(!has(p.namespaceSelector.matchExpressions) || "
    "p.namespaceSelector.matchExpressions.size() == 0)"
)
_EGRESS = is_set("network.egressRules")
_TARGET = "backup.target"
_ENDPOINT = f"{_TARGET}.endpoint"
_PROVIDER = either(f"{_TARGET}.provider", "'s3'")
_GATEWAY_ON, _PASSTHROUGH = either("gateway.enabled", "false"), "gateway.tlsPassthrough"

NETWORK_RULES: tuple[Rule, ...] = (
    combinators.hardened(
        "ingress-rules",
        "spec.network.ingressRules",
        f"must be empty {_IN}; use trustedIngressPeers",
        _ingress_rules,
        f"!{is_set('network.ingressRules')} || self.network.ingressRules.size() == 0",
        "FieldValueForbidden",
    ),
    combinators.hardened(
        "egress-rules",
        "spec.network.egressRules",
        f"must each name destinations and ports {_IN}; add them",
        _egress_rules,
        f"!{_EGRESS} || self.network.egressRules.all(r, has(r.to) && r.to.size() > 0 && "
        "has(r.ports) && r.ports.size() > 0)",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "peers",
        "spec.network",
        "must not let everybody in or out, nor the node itself (a /0, loopback or link-local "
        f"range, an empty namespaceSelector) {_IN}; name the peers",
        _peers,
        "!has(self.network) || ("
        "(!has(self.network.trustedIngressPeers) || "
        f"self.network.trustedIngressPeers.all(p, !({_TOO_WIDE}))) && "
        "(!has(self.network.egressRules) || "
        f"self.network.egressRules.all(r, !has(r.to) || r.to.all(p, !({_TOO_WIDE})))))",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "backup-egress",
        "spec.network.egressRules",
        f"must not be empty {_IN} when snapshots are taken, because the NetworkPolicy lets nothing "
        "out to the store; add a rule with its address and port",
        _backup_egress,
        f"({_EGRESS} && self.network.egressRules.size() > 0) || "
        f"{_PROVIDER} == 'pvc' || (!has(self.backup) && "
        + " && ".join(f"!{either(switch, 'false')}" for switch in _SNAPSHOTS)
        + ")",
        "FieldValueRequired",
    ),
    combinators.hardened(
        "backup-scheme",
        f"spec.{_ENDPOINT}",
        f"must be of scheme https or s3 {_IN}; change it",
        _of_backup(_scheme),
        f"!{is_set(_ENDPOINT)} || {_SAFE_SCHEME.cel(f'self.{_ENDPOINT}')}",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "backup-identity",
        f"spec.{_TARGET}",
        f"must say who logs in to the store {_IN}, so that no node lends its identity; set "
        "credentialsSecretRef, workloadIdentity or roleArn",
        _of_backup(_identity),
        "!has(self.backup) || "
        + " || ".join(f"has(self.{_TARGET}.{name})" for name in _IDENTITIES),
        "FieldValueRequired",
    ),
    combinators.false(
        "backup-check",
        f"{_TARGET}.insecureSkipVerify",
        f"must not be true {_IN}, because anybody on the way could take the snapshot; put the "
        "authority into the key caCert of the Secret",
    ),
    combinators.hardened(
        "gateway-backend",
        "spec.gateway.backendTLS.enabled",
        f"must not be false {_IN} unless gateway.tlsPassthrough is true, because the Gateway would "
        "not check the servers; switch one of them on",
        _backend_tls,
        f"!{_GATEWAY_ON} || {either('gateway.backendTLS.enabled', 'true')} || "
        f"{either(_PASSTHROUGH, 'false')}",
        "FieldValueForbidden",
    ),
    combinators.false(
        "scrape-check",
        "observability.metrics.serviceMonitor.tlsConfig.insecureSkipVerify",
        f"must not be true {_IN}, because anybody on the way could take the scrape token; set "
        "caSecret or caConfigMap",
    ),
)

_RULES = {rule.id: rule for rule in NETWORK_RULES}
_OF_STORE = (
    (_RULES["hardened-backup-scheme"], _scheme),
    (_RULES["hardened-backup-identity"], _identity),
    (_RULES["hardened-backup-check"], _unchecked),
)


def store_offences(target: BackupTarget) -> Iterator[tuple[Rule, str, object]]:
    """What the profile refuses about a store in any object: rule, relative field and value.

    For objects that name a cluster, whose profile their own rules cannot see.
    """
    for rule, find in _OF_STORE:
        for field, value in find(target):
            yield rule, field, value
