"""Exposure of a cluster: what its spec requests, and what is observed.

Pure. managers.networking.exposure_spec creates the specs, managers.networking.exposure_facts the
facts; read by the builders and conditions of managers.networking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.cache.optional_kind import UNKNOWN, KindAvailability, OptionalKind
from runtime.types import Resource


@dataclass(frozen=True, slots=True)
class IngressSettings:
    """An Ingress in front of the public Service."""

    host: str
    path: str
    path_type: str
    class_name: str | None
    annotations: Mapping[str, str]
    tls_secret: str | None
    """Secret with the certificate of the Ingress; None: the default of its controller."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """A route of the Gateway API to the public Service."""

    namespace: str
    """Namespace of the cluster and of the route."""
    gateway: str
    gateway_namespace: str
    listener: str | None
    hostname: str
    path: str
    annotations: Mapping[str, str]
    passthrough: bool
    backend_hostname: str | None
    """Name that the Gateway verifies in the certificate of the servers; None: the spec requests no
    verification."""


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """A ServiceMonitor of the Prometheus operator, and the Service that it selects."""

    every_node: bool
    port: int | None
    """The separate port for metrics; None: the API port."""
    interval: str
    scrape_timeout: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    job_label: str
    authorization: Mapping[str, object] | None
    server_name: str
    skip_verify: bool
    authority: Mapping[str, object] | None
    """The `tlsConfig.ca` of a scrape; None: the CAs of the host are trusted."""


@dataclass(frozen=True, slots=True)
class ExposureSpec:
    """The requested exposure; None: the spec does not request it."""

    ingress: IngressSettings | None = None
    gateway: GatewaySettings | None = None
    monitor: MonitorSettings | None = None
    needs_authority: bool = False
    """A Gateway or Prometheus reads the CA of the servers from a ConfigMap."""

    @property
    def hostnames(self) -> tuple[str, ...]:
        """Names that clients and gateways verify in the certificate of the servers."""
        hosts = (
            self.ingress.host if self.ingress else None,
            self.gateway.hostname if self.gateway else None,
            self.gateway.backend_hostname if self.gateway else None,
        )
        return tuple(dict.fromkeys(name for name in hosts if name))


@dataclass(frozen=True, slots=True)
class ListenerCondition:
    """One condition in the status of an exposure object; status "": it does not exist."""

    status: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ListenerFacts:
    """The fields of a listener that decide whether our route may attach."""

    name: str
    protocol: str
    hostname: str
    """"" for every host."""
    passthrough: bool
    namespaces: str
    """allowedRoutes.namespaces.from: All, Same, Selector or None."""
    kinds: tuple[str, ...]
    """allowedRoutes.kinds; empty: all kinds for its protocol."""


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """The Gateway that a route names."""

    class_name: str
    listeners: tuple[ListenerFacts, ...]
    programmed: ListenerCondition


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """The GatewayClass of that Gateway."""

    accepted: ListenerCondition
    supported: ListenerCondition


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """The status of our route or its policy, from a gateway."""

    owned: bool
    accepted: ListenerCondition = ListenerCondition()
    resolved: ListenerCondition = ListenerCondition()


@dataclass(frozen=True, slots=True)
class IngressFacts:
    """The status of our Ingress."""

    owned: bool
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExposureFacts:
    """The observed exposure objects, and the kinds that the API server serves."""

    offers: Mapping[str, KindAvailability] = field(default_factory=dict)
    """By name of the CustomResourceDefinition."""
    gateway: GatewayFacts | None = None
    gateway_class: ClassFacts | None = None
    gateway_readable: bool = True
    """False: the operator may not read Gateways, so `gateway` None does not mean missing."""
    class_readable: bool = True
    route: RouteFacts | None = None
    policy: RouteFacts | None = None
    ingress: IngressFacts | None = None
    monitor: bool = False
    """Our ServiceMonitor exists."""

    def offer(self, kind: OptionalKind) -> KindAvailability:
        """Return the availability of a kind at the API server."""
        return self.offers.get(kind.definition, UNKNOWN)

    @property
    def usable(self) -> tuple[Resource, ...]:
        """Every optional kind that the operator can use, in the version to use."""
        offers = self.offers.values()
        return tuple(offer.resource for offer in offers if offer.resource is not None)


NO_EXPOSURE = ExposureSpec()
NO_FACTS = ExposureFacts()
