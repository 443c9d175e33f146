"""Kinds of the Gateway API and of Prometheus, which the operator uses if the API server has them.

Pure data. The versions are those that the builders of managers.networking support; the Gateway API
moved TLSRoute and BackendTLSPolicy to v1 without a change to the fields used here (Gateway API
releases 1.1 to 1.6).
"""

from runtime.cache.optional_kind import OptionalKind
from runtime.types import Resource

GATEWAY_API = "gateway.networking.k8s.io"

HTTP_ROUTE = OptionalKind(GATEWAY_API, "HTTPRoute", "httproutes", ("v1",))
TLS_ROUTE = OptionalKind(GATEWAY_API, "TLSRoute", "tlsroutes", ("v1", "v1alpha3", "v1alpha2"))
BACKEND_TLS_POLICY = OptionalKind(
    GATEWAY_API, "BackendTLSPolicy", "backendtlspolicies", ("v1", "v1alpha3")
)
SERVICE_MONITOR = OptionalKind(
    "monitoring.coreos.com", "ServiceMonitor", "servicemonitors", ("v1",)
)

OPTIONAL_KINDS = (HTTP_ROUTE, TLS_ROUTE, BACKEND_TLS_POLICY, SERVICE_MONITOR)

# Read by name, and only while a cluster has a route to them.
GATEWAY = Resource(GATEWAY_API, "v1", "Gateway", "gateways")
GATEWAY_CLASS = Resource(GATEWAY_API, "v1", "GatewayClass", "gatewayclasses", namespaced=False)
