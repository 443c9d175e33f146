"""Reads exposure objects: Gateways, classes, and the status of our routes and Ingress. Pure.

Source of the fields: Gateway API v1 (Gateway, GatewayClass, RouteParentStatus, PolicyStatus),
networking.k8s.io/v1 (Ingress).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contracts.records.exposure import (
    ClassFacts,
    GatewayFacts,
    GatewaySettings,
    IngressFacts,
    ListenerCondition,
    ListenerFacts,
    RouteFacts,
)
from runtime.memo import memoize
from runtime.types import Object

EMPTY_OBJECT: Mapping[str, Any] = {}
Part = Mapping[str, Any]


def _dict(value: Any) -> Part:
    return value if isinstance(value, Mapping) else EMPTY_OBJECT


def _dicts(value: Any) -> list[Part]:
    return [item for item in value or () if isinstance(item, Mapping)]


def verdict(conditions: Any, kind: str, generation: int) -> ListenerCondition:
    """Return a condition; a condition of an older generation counts as missing."""
    for condition in _dicts(conditions):
        if condition.get("type") == kind:
            observed_generation = condition.get("observedGeneration")
            if observed_generation is not None and observed_generation < generation:
                return ListenerCondition()
            return ListenerCondition(
                str(condition.get("status") or ""),
                str(condition.get("reason") or ""),
                str(condition.get("message") or ""),
            )
    return ListenerCondition()


def _generation(live: Object) -> int:
    return int(_dict(live.get("metadata")).get("generation") or 0)


@memoize
def gateway_facts(live: Object) -> GatewayFacts:
    """Read a Gateway."""
    spec, status = _dict(live.get("spec")), _dict(live.get("status"))
    return GatewayFacts(
        class_name=str(spec.get("gatewayClassName") or ""),
        listeners=tuple(map(_listener, _dicts(spec.get("listeners")))),
        programmed=verdict(status.get("conditions"), "Programmed", _generation(live)),
    )


def _listener(listener: Part) -> ListenerFacts:
    allowed = _dict(listener.get("allowedRoutes"))
    return ListenerFacts(
        name=str(listener.get("name") or ""),
        protocol=str(listener.get("protocol") or ""),
        hostname=str(listener.get("hostname") or ""),
        passthrough=_dict(listener.get("tls")).get("mode") == "Passthrough",
        namespaces=str(_dict(allowed.get("namespaces")).get("from") or "Same"),
        kinds=tuple(str(kind.get("kind") or "") for kind in _dicts(allowed.get("kinds"))),
    )


@memoize
def class_facts(live: Object) -> ClassFacts:
    """Read a GatewayClass."""
    conditions, generation = _dict(live.get("status")).get("conditions"), _generation(live)
    return ClassFacts(
        accepted=verdict(conditions, "Accepted", generation),
        supported=verdict(conditions, "SupportedVersion", generation),
    )


@memoize
def route_facts(live: Object, owned: bool, spec: GatewaySettings) -> RouteFacts:
    """Read the status of our route; of several parents that are our Gateway, the worst counts."""
    entries = _entries_of_our_gateway(live, "parents", "parentRef", spec)
    return _status_facts(live, owned, entries)


@memoize
def policy_facts(live: Object, owned: bool, spec: GatewaySettings) -> RouteFacts:
    """Read the status of our BackendTLSPolicy."""
    entries = _entries_of_our_gateway(live, "ancestors", "ancestorRef", spec)
    return _status_facts(live, owned, entries)


def _entries_of_our_gateway(
    live: Object, entries: str, reference: str, spec: GatewaySettings
) -> list[Part]:
    """Return the entries of a status whose reference is our Gateway."""
    return [
        entry
        for entry in _dicts(_dict(live.get("status")).get(entries))
        if _is_our_gateway(_dict(entry.get(reference)), spec)
    ]


def _status_facts(live: Object, owned: bool, entries: Iterable[Part]) -> RouteFacts:
    generation, conditions = _generation(live), [entry.get("conditions") for entry in entries]
    return RouteFacts(
        owned,
        accepted=_worst(verdict(entry, "Accepted", generation) for entry in conditions),
        resolved=_worst(verdict(entry, "ResolvedRefs", generation) for entry in conditions),
    )


def _worst(verdicts: Iterable[ListenerCondition]) -> ListenerCondition:
    order = {"False": 0, "Unknown": 1, "": 2, "True": 3}
    return min(verdicts, key=lambda item: order.get(item.status, 1), default=ListenerCondition())


def _is_our_gateway(reference: Part, spec: GatewaySettings) -> bool:
    """Return whether a reference names our Gateway; a parent of another kind may share the name."""
    return (
        reference.get("name") == spec.gateway
        and (reference.get("kind") or "Gateway") == "Gateway"
        and (reference.get("namespace") or spec.namespace) == spec.gateway_namespace
    )


@memoize
def ingress_facts(live: Object, owned: bool) -> IngressFacts:
    """Read the addresses that the ingress controller published."""
    balancer = _dict(_dict(live.get("status")).get("loadBalancer"))
    entries = _dicts(balancer.get("ingress"))
    addresses = (str(entry.get("ip") or entry.get("hostname") or "") for entry in entries)
    return IngressFacts(owned, tuple(filter(None, addresses)))
