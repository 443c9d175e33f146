"""Reasons about connections to and from the servers. Uses contracts.conditions.reason."""

from contracts.conditions.reason import NO_ACTION, Reason

NETWORKING_REASONS: tuple[Reason, ...] = (
    Reason(
        "ServiceAccountReused",
        "The ServiceAccount of the spec has another owner. The operator uses it, and never "
        "changes it.",
        NO_ACTION,
    ),
    Reason(
        "ServiceAccountAnnotationsMissing",
        "The ServiceAccount has another owner and lacks annotations of the spec.",
        "Set the annotations on the ServiceAccount, or remove them from the spec.",
    ),
    Reason(
        "APIServerNetworkReady",
        "The NetworkPolicies allow the servers to reach the API server.",
        NO_ACTION,
    ),
    Reason(
        "APIServerNetworkConfigurationInvalid",
        "The NetworkPolicies do not allow the servers to reach the API server.",
        "Correct or set spec.network.apiServerCIDR; the message names the address.",
    ),
    Reason(
        "APIServerEndpointIPsRecommended",
        "The NetworkPolicies do not name each address behind the Service of the API server.",
        "Set spec.network.apiServerEndpointIPs to the addresses of the API server.",
    ),
    Reason("IngressIntegrationReady", "The Ingress meets spec.ingress.readinessMode.", NO_ACTION),
    Reason(
        "IngressAddressMissing",
        "No ingress controller has published an address for the Ingress.",
        "Wait a minute. If it takes longer, read the log of the ingress controller of "
        "spec.ingress.className.",
    ),
    Reason("GatewayIntegrationReady", "The Gateway accepts the route.", NO_ACTION),
    Reason(
        "GatewayAPIMissing",
        "The API server does not serve the Gateway API, or lacks a required kind of it.",
        "Install the CustomResourceDefinitions of the Gateway API. The operator requires no "
        "restart.",
    ),
    Reason(
        "GatewayVersionUnsupported",
        "The operator or the gateway controller does not support the installed version of the "
        "Gateway API.",
        "Install a release of the Gateway API that both support.",
    ),
    Reason(
        "GatewayReferenceMissing",
        "The Gateway does not exist, or does not allow routes from this namespace.",
        "Create the Gateway, ask its owner to set allowedRoutes, or correct "
        "spec.gateway.gatewayRef.",
    ),
    Reason(
        "GatewayClassMissing",
        "The GatewayClass of the Gateway does not exist.",
        "Install the gateway controller that provides it.",
    ),
    Reason(
        "GatewayClassPending",
        "No controller has accepted the GatewayClass yet.",
        "Wait a minute. If it persists, check that the gateway controller is running.",
    ),
    Reason(
        "GatewayClassNotAccepted",
        "The gateway controller rejects the GatewayClass.",
        "Run `kubectl describe gatewayclass <class>`, and correct what its condition Accepted "
        "names.",
    ),
    Reason(
        "GatewayListenerIncompatible",
        "No listener of the Gateway matches the route.",
        "Change the listeners, spec.gateway.listenerName, hostname or tlsPassthrough.",
    ),
    Reason(
        "GatewayNotProgrammed",
        "The gateway controller could not configure the Gateway.",
        "Run `kubectl describe gateway <gateway>`: the condition Programmed names the address or "
        "the listener.",
    ),
    Reason(
        "GatewayProgrammingPending",
        "The gateway controller has not reported a status yet.",
        "Wait; a controller reports within a minute. If not, read the log of the gateway "
        "controller.",
    ),
    Reason(
        "GatewayRouteRefused",
        "The gateway controller rejects the route, or the BackendTLSPolicy for the connection to "
        "the servers.",
        "Correct what the conditions Accepted and ResolvedRefs of the object in the message name "
        "(`kubectl describe`).",
    ),
    Reason("ServiceMonitorReady", "The ServiceMonitor exists.", NO_ACTION),
    Reason(
        "MonitoringAPIMissing",
        "The API server does not serve ServiceMonitors.",
        "Install the Prometheus operator. This operator requires no restart.",
    ),
)
