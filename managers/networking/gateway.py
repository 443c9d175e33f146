"""Objects of the Gateway API: a route to the public Service, and the TLS policy of this backend.

All objects are in the namespace of the cluster. A Gateway in another namespace admits routes of
this namespace with its `allowedRoutes`; the operator never writes there.

Every default of the API server is set explicitly, including the empty group of core: an apply
replaces `rules` as a whole, so without the defaults every comparison would find a difference.
"""

from __future__ import annotations

from typing import Any

from contracts.builders.metadata import cluster_object
from contracts.naming import names
from contracts.naming.ports import API
from contracts.optional_kinds import GATEWAY_API
from contracts.records.exposure import GatewaySettings
from contracts.records.resolved import Resolved
from managers.networking.exposure_spec import AUTHORITY_KEY
from runtime.apply.intent import Intent
from runtime.builtin_kinds import CONFIG_MAP
from runtime.memo import memoize
from runtime.types import Resource

_GROUP = frozenset({"group"})


@memoize
def http_route(resolved: Resolved, spec: GatewaySettings, resource: Resource) -> Intent:
    """Build the HTTPRoute: the gateway terminates TLS and opens its own connection."""
    path = {"type": "PathPrefix", "value": spec.path}
    rule = {"matches": [{"path": path}], "backendRefs": [_backend(resolved)]}
    return _route(resolved, spec, resource, names.http_route(resolved.name), rule)


@memoize
def tls_route(resolved: Resolved, spec: GatewaySettings, resource: Resource) -> Intent:
    """Build the TLSRoute: the gateway passes TLS through and routes by host name only."""
    rule = {"backendRefs": [_backend(resolved)]}
    return _route(resolved, spec, resource, names.tls_route(resolved.name), rule)


def _route(
    resolved: Resolved,
    spec: GatewaySettings,
    resource: Resource,
    name: str,
    rule: dict[str, Any],
) -> Intent:
    parent = {
        "group": GATEWAY_API,
        "kind": "Gateway",
        "namespace": spec.gateway_namespace,
        "name": spec.gateway,
        "sectionName": spec.listener,
    }
    return cluster_object(
        resolved,
        resource,
        name,
        {"spec": {"parentRefs": [parent], "hostnames": [spec.hostname], "rules": [rule]}},
        annotations=spec.annotations,
        keep=_GROUP,
    )


def _backend(resolved: Resolved) -> dict[str, Any]:
    service = names.public_service(resolved.name)
    return {"group": "", "kind": "Service", "name": service, "port": API.number, "weight": 1}


@memoize
def backend_tls_policy(resolved: Resolved, hostname: str, resource: Resource) -> Intent:
    """Build the policy: the gateway uses TLS to the Service of the route and checks its name."""
    target = {"group": "", "kind": "Service", "name": names.public_service(resolved.name)}
    authority = {
        "group": "",
        "kind": "ConfigMap",
        "name": names.gateway_ca_config_map(resolved.name),
    }
    return cluster_object(
        resolved,
        resource,
        names.backend_tls_policy(resolved.name),
        {
            "spec": {
                "targetRefs": [target],
                "validation": {"caCertificateRefs": [authority], "hostname": hostname},
            }
        },
        keep=_GROUP,
    )


@memoize
def authority_config_map(resolved: Resolved, authority: str) -> Intent:
    """Publish the CA of the servers: gateways read it from a ConfigMap, not from a Secret."""
    return cluster_object(
        resolved,
        CONFIG_MAP,
        names.gateway_ca_config_map(resolved.name),
        {"data": {AUTHORITY_KEY: authority}},
    )
