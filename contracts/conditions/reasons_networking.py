"""Reasons about the ways to the servers and from them. Uses contracts.conditions.reason."""

from contracts.conditions.reason import NOTHING, Reason

NETWORKING_REASONS: tuple[Reason, ...] = (
    Reason(
        "ServiceAccountReused",
        "The ServiceAccount of the spec has another owner: the operator uses it and never changes"
        " it.",
        NOTHING,
    ),
    Reason(
        "ServiceAccountAnnotationsMissing",
        "The ServiceAccount has another owner, and lacks annotations of the spec.",
        "Set the annotations on the ServiceAccount, or remove them from the spec.",
    ),
    Reason(
        "APIServerNetworkReady",
        "The NetworkPolicies allow the servers to reach the API server.",
        NOTHING,
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
    Reason("IngressIntegrationReady", "The Ingress is as ready as the spec asks.", NOTHING),
    Reason(
        "IngressAddressMissing",
        "No ingress controller has published an address for the Ingress.",
        "Check the ingress controller of its class; see spec.ingress.className.",
    ),
    Reason("GatewayIntegrationReady", "The Gateway accepts the route.", NOTHING),
    Reason(
        "GatewayAPIMissing",
        "The API server does not serve the Gateway API, or lacks a required kind of it.",
        "Install the CustomResourceDefinitions of the Gateway API; the operator notices them at "
        "once.",
    ),
    Reason(
        "GatewayVersionUnsupported",
        "The installed Gateway API serves no version that the operator, or the controller of the "
        "GatewayClass, knows.",
        "Install a release of the Gateway API that both know.",
    ),
    Reason(
        "GatewayReferenceMissing",
        "The Gateway does not exist, or does not admit routes of this namespace.",
        "Create it, have its owner set allowedRoutes, or correct spec.gateway.gatewayRef.",
    ),
    Reason(
        "GatewayClassMissing",
        "The GatewayClass of the Gateway does not exist.",
        "Install the gateway controller that provides it.",
    ),
    Reason(
        "GatewayClassPending",
        "No controller has accepted the GatewayClass yet.",
        "Wait a minute; then check that the gateway controller runs.",
    ),
    Reason(
        "GatewayClassNotAccepted",
        "The controller of the GatewayClass refuses it.",
        "Read the message and correct the GatewayClass.",
    ),
    Reason(
        "GatewayListenerIncompatible",
        "No listener of the Gateway matches the route.",
        "Change the listeners, spec.gateway.listenerName, hostname or tlsPassthrough.",
    ),
    Reason(
        "GatewayNotProgrammed",
        "The controller of the Gateway could not set it up.",
        "Read the message and the status of the Gateway.",
    ),
    Reason(
        "GatewayProgrammingPending",
        "The controller of the Gateway has not reported a status yet.",
        "Wait a minute; then check that the gateway controller runs.",
    ),
    Reason(
        "GatewayRouteRefused",
        "The Gateway rejects the route, or the policy for its connection to the servers.",
        "Read the message of the Gateway.",
    ),
    Reason("ServiceMonitorReady", "The ServiceMonitor exists.", NOTHING),
    Reason(
        "MonitoringAPIMissing",
        "The API server does not serve ServiceMonitors.",
        "Install the Prometheus operator; the operator notices it at once.",
    ),
)
