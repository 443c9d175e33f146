"""Clusters with a Gateway, an Ingress or a ServiceMonitor, and worlds with these kinds."""

from __future__ import annotations

from typing import Any

from contracts.optional_kinds import OPTIONAL_KINDS
from contracts.records.exposure import (
    ClassFacts,
    ExposureFacts,
    GatewayFacts,
    IngressFacts,
    ListenerCondition,
    ListenerFacts,
    RouteFacts,
)
from contracts.records.observed import Observed
from runtime.cache.optional_kind import KindAvailability, OptionalKind
from tests import gen

HOST = "bao.example.com"
PEERS = {"trustedIngressPeers": [{"podSelector": {"matchLabels": {"app": "edge"}}}]}
ABSENT = KindAvailability(known=True)
YES = ListenerCondition("True", "Yes")
UNTOLD = ListenerCondition()


def gateway(**more: Any) -> gen.Cluster:
    """A cluster with the Gateway `public` of its own namespace."""
    wish: dict[str, Any] = {"enabled": True, "hostname": HOST, "gatewayRef": {"name": "public"}}
    return gen.cluster(gateway={**wish, **more})


def ingress(**more: Any) -> gen.Cluster:
    """A cluster with an Ingress."""
    return gen.cluster(ingress={"enabled": True, "host": HOST, **more}, network=PEERS)


def monitor(metrics: dict[str, Any] | None = None, **more: Any) -> gen.Cluster:
    """A cluster with a ServiceMonitor."""
    spec = {"enabled": True, **(metrics or {}), "serviceMonitor": {"enabled": True, **more}}
    return gen.cluster(version="2.5.0", observability={"metrics": spec})


def newest(kind: OptionalKind) -> KindAvailability:
    """The kind in its newest version."""
    return KindAvailability(True, kind.versions, kind.resources[0])


ALL = {kind.definition: newest(kind) for kind in OPTIONAL_KINDS}
NONE = {kind.definition: ABSENT for kind in OPTIONAL_KINDS}
HTTPS = ListenerFacts("https", "HTTPS", "", False, "Same", ())
PASSTHROUGH = ListenerFacts("tls", "TLS", "", True, "Same", ())
READY = ExposureFacts(
    ALL,
    gateway=GatewayFacts("edge", (HTTPS, PASSTHROUGH), YES),
    gateway_class=ClassFacts(YES, YES),
    route=RouteFacts(True, YES, YES),
    policy=RouteFacts(True, YES, YES),
    ingress=IngressFacts(True, ("192.0.2.1",)),
    monitor=True,
)


def seeing(cluster: gen.Cluster, ways: ExposureFacts) -> Observed:
    """The observation of a running cluster, with these exposure facts."""
    return gen.running(cluster.initialized()).with_exposure(ways).facts()
