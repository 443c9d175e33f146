"""Rules about spec.ingress and spec.gateway.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule, either, is_set
from contracts.api.values.pattern import Pattern

Old = OpenBaoCluster | None


def _ingress_host(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    ingress = new.spec.ingress
    if ingress and ingress.enabled and not ingress.host:
        yield "spec.ingress.host", None


def _ingress_peers(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    ingress = new.spec.ingress
    if ingress and ingress.enabled and not new.spec.network.trusted_ingress_peers:
        yield "spec.network.trustedIngressPeers", None


def _gateway_name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    gateway = new.spec.gateway
    if gateway and gateway.enabled and not (gateway.gateway_ref and gateway.gateway_ref.name):
        yield "spec.gateway.gatewayRef.name", None


def _gateway_hostname(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    gateway = new.spec.gateway
    if gateway and gateway.enabled and not gateway.hostname:
        yield "spec.gateway.hostname", None


def _gateway_acme(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    gateway = new.spec.gateway
    if gateway and gateway.enabled and new.spec.tls.mode == "ACME" and not gateway.tls_passthrough:
        yield "spec.gateway.tlsPassthrough", None


def _path(where: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        way = new.spec.ingress if where == "ingress" else new.spec.gateway
        if way and (not _PATH.found_in(way.path) or _CLIMBS.found_in(way.path)):
            yield f"spec.{where}.path", way.path

    return broken


def _path_rule(where: str) -> Rule:
    at = f"spec.{where}.path"
    return Rule(
        id=f"{where}-path",
        at=at,
        field=at,
        message=(
            "must be the path of a URL: letters, digits, slashes and -._~!$&'()*+,=:@%, without .. "
            "between slashes; / is a good value"
        ),
        broken=_path(where),
        cel=f"{_PATH.cel('self')} && !{_CLIMBS.cel('self')}",
        got="self",
    )


# RFC 3986, without the semicolon, which ends a statement in configurations of proxies.
_PATH = Pattern(r"^/[A-Za-z0-9/._~!$&\x27()*+,=:@%-]*$")
_CLIMBS = Pattern(r"(?i)(^|/)(\.|%2e){1,2}(/|$)")
_ON = "has(self.enabled) && self.enabled"
_MODE = either("tls.mode", "'OperatorManaged'")
_GATEWAY_ON = either("gateway.enabled", "false")
_INGRESS_ON = f"{is_set('ingress.enabled')} && self.ingress.enabled"
_PEERS = is_set("network.trustedIngressPeers")

ACCESS_RULES: tuple[Rule, ...] = (
    *map(_path_rule, ("ingress", "gateway")),
    Rule(
        id="ingress-host",
        at="spec.ingress",
        field="spec.ingress.host",
        message="must be set when ingress.enabled is true; name the host that clients use",
        broken=_ingress_host,
        cel=f"!({_ON}) || has(self.host)",
        reason="FieldValueRequired",
    ),
    Rule(
        id="ingress-peers",
        at="spec",
        field="spec.network.trustedIngressPeers",
        message=(
            "must not be empty when ingress.enabled is true, because the NetworkPolicy lets nobody "
            "else in; name the pods of the ingress controller"
        ),
        broken=_ingress_peers,
        cel=(f"!({_INGRESS_ON}) || ({_PEERS} && self.network.trustedIngressPeers.size() > 0)"),
        reason="FieldValueRequired",
    ),
    Rule(
        id="gateway-name",
        at="spec.gateway",
        field="spec.gateway.gatewayRef",
        message="must name a Gateway when gateway.enabled is true; set gatewayRef.name",
        broken=_gateway_name,
        cel=f"!({_ON}) || {is_set('gatewayRef.name')}",
        reason="FieldValueRequired",
    ),
    Rule(
        id="gateway-hostname",
        at="spec.gateway",
        field="spec.gateway.hostname",
        message="must be set when gateway.enabled is true; name the host that clients use",
        broken=_gateway_hostname,
        cel=f"!({_ON}) || has(self.hostname)",
        reason="FieldValueRequired",
    ),
    Rule(
        id="gateway-acme",
        at="spec",
        field="spec.gateway.tlsPassthrough",
        message=(
            "must be true when tls.mode is ACME, because the servers answer the ACME server "
            "themselves and no authority is known that a Gateway could check them by"
        ),
        broken=_gateway_acme,
        cel=(
            f"!({_GATEWAY_ON}) || {_MODE} != 'ACME' || {either('gateway.tlsPassthrough', 'false')}"
        ),
    ),
)
