"""Rules about spec.ingress and spec.gateway.

Uses the API models. Collected by contracts.api.rules.
"""

from collections.abc import Iterator

from contracts.api.cluster import OpenBaoCluster
from contracts.api.rule import Offence, Rule, is_set

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


_ON = "has(self.enabled) && self.enabled"
_INGRESS_ON = f"{is_set('ingress.enabled')} && self.ingress.enabled"
_PEERS = is_set("network.trustedIngressPeers")

ACCESS_RULES: tuple[Rule, ...] = (
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
)
