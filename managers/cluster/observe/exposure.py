"""Reads the exposure of a cluster: available optional kinds, our objects of them, the Gateway.

Reads only. A cluster without exposure costs nothing. While the kind of its route does not exist, no
request is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import names
from contracts.optional_kinds import (
    BACKEND_TLS_POLICY,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    SERVICE_MONITOR,
    TLS_ROUTE,
)
from contracts.records.exposure import ExposureFacts, GatewayFacts, GatewaySettings, IngressFacts
from managers.context.context import MARKS
from managers.networking.exposure_facts import (
    class_facts,
    gateway_facts,
    ingress_facts,
    policy_facts,
    route_facts,
)
from managers.networking.exposure_spec import exposure_spec
from runtime.apply.ownership import Owner, Ownership, ownership_of
from runtime.builtin_kinds import INGRESS
from runtime.cache.cache import Cache
from runtime.cache.cached_read import CachedAnswer, ObjectReads
from runtime.cache.optional import OptionalKinds
from runtime.cache.optional_kind import UNKNOWN, OptionalKind
from runtime.memo import memoize
from runtime.types import Object, ObjectKey, Resource

exposure_of = memoize(exposure_spec)


class ExposureObserver:
    """Facts about the exposure of a cluster."""

    def __init__(
        self,
        kinds: OptionalKinds,
        informers: Mapping[Resource, Cache],
        gateways: ObjectReads,
    ) -> None:
        self._kinds = kinds
        self._informers = informers
        self._gateways = gateways

    async def facts(self, cluster: OpenBaoCluster, owner: Owner) -> ExposureFacts:
        """Read the facts about the exposure in the spec. Raises the API's errors."""
        spec, offers = exposure_of(cluster), self._kinds.offers
        if spec.ingress is None and spec.gateway is None and spec.monitor is None:
            return ExposureFacts(offers)
        facts = ExposureFacts(
            offers,
            ingress=self._ingress(owner) if spec.ingress else None,
            monitor=self._exists(SERVICE_MONITOR, owner, names.service_monitor(owner.name)),
        )
        if spec.gateway is None:
            return facts
        return await self._gateway(facts, owner, spec.gateway)

    def _ingress(self, owner: Owner) -> IngressFacts | None:
        live = self._informers[INGRESS].get(ObjectKey(owner.namespace, names.ingress(owner.name)))
        return None if live is None else ingress_facts(live, _is_mine(live, owner))

    def _live(self, kind: OptionalKind, owner: Owner, name: str) -> Object | None:
        resource = self._kinds.offers.get(kind.definition, UNKNOWN).resource
        if resource is None:
            return None
        return self._informers[resource].get(ObjectKey(owner.namespace, name))

    def _exists(self, kind: OptionalKind, owner: Owner, name: str) -> bool:
        live = self._live(kind, owner, name)
        return live is not None and _is_mine(live, owner)

    async def _gateway(
        self, facts: ExposureFacts, owner: Owner, spec: GatewaySettings
    ) -> ExposureFacts:
        name = owner.name
        kind, route_name = (
            (TLS_ROUTE, names.tls_route(name))
            if spec.passthrough
            else (HTTP_ROUTE, names.http_route(name))
        )
        if facts.offer(kind).resource is None:
            return facts
        route = self._live(kind, owner, route_name)
        policy = self._live(BACKEND_TLS_POLICY, owner, names.backend_tls_policy(name))
        key = ObjectKey(spec.gateway_namespace, spec.gateway)
        gateway = await self._gateways.get((GATEWAY, key))
        gateway_status = gateway_facts(gateway.value) if gateway.value else None
        gateway_class = await self._class_of(gateway_status)
        return replace(
            facts,
            route=route_facts(route, _is_mine(route, owner), spec) if route else None,
            policy=policy_facts(policy, _is_mine(policy, owner), spec) if policy else None,
            gateway=gateway_status,
            gateway_readable=gateway.readable,
            gateway_class=class_facts(gateway_class.value) if gateway_class.value else None,
            class_readable=gateway_class.readable,
        )

    async def _class_of(self, gateway: GatewayFacts | None) -> CachedAnswer[Object]:
        if gateway is None or not gateway.class_name:
            return CachedAnswer(None)
        return await self._gateways.get((GATEWAY_CLASS, ObjectKey("", gateway.class_name)))


def _is_mine(live: Object, owner: Owner) -> bool:
    return ownership_of(live, owner, MARKS) is not Ownership.FOREIGN
