"""Reasons about the ways to the servers and from them. Uses contracts.conditions.reason."""

from contracts.conditions.reason import NOTHING, Reason

NETWORKING_REASONS: tuple[Reason, ...] = (
    Reason(
        "ServiceAccountReused",
        "A person made the ServiceAccount that the spec names: it is used and never changed.",
        NOTHING,
    ),
    Reason(
        "ServiceAccountAnnotationsMissing",
        "A person made the ServiceAccount, and it lacks annotations that the spec asks for.",
        "Set the annotations on the ServiceAccount, or remove them from the spec.",
    ),
    Reason(
        "APIServerNetworkReady",
        "The NetworkPolicies let the servers reach the API server, as the spec asks.",
        NOTHING,
    ),
    Reason(
        "APIServerNetworkConfigurationInvalid",
        "The NetworkPolicies do not let the servers reach the API server.",
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
        "Look after the ingress controller of its class; see spec.ingress.className.",
    ),
    Reason("GatewayIntegrationReady", "The Gateway lets clients in.", NOTHING),
    Reason(
        "GatewayAPIMissing",
        "The API server has no Gateway API, or lacks a kind of it that is needed.",
        "Install the CustomResourceDefinitions of the Gateway API; they are noticed at once.",
    ),
    Reason(
        "GatewayVersionUnsupported",
        "The installed Gateway API serves no version that the operator, or the controller of the "
        "GatewayClass, knows.",
        "Install a release of the Gateway API that both know.",
    ),
    Reason(
        "GatewayReferenceMissing",
        "The Gateway does not exist, or admits no routes of this namespace.",
        "Create it, have its owner set allowedRoutes, or correct spec.gateway.gatewayRef.",
    ),
    Reason(
        "GatewayClassMissing",
        "The GatewayClass of the Gateway does not exist.",
        "Install the gateway controller that brings it.",
    ),
    Reason(
        "GatewayClassPending",
        "No controller has accepted the GatewayClass yet.",
        "Wait; if it lasts, look whether the gateway controller runs.",
    ),
    Reason(
        "GatewayClassNotAccepted",
        "The controller of the GatewayClass refuses it.",
        "Read the message and correct the GatewayClass.",
    ),
    Reason(
        "GatewayListenerIncompatible",
        "No listener of the Gateway fits the route.",
        "Change the listeners, spec.gateway.listenerName, hostname or tlsPassthrough.",
    ),
    Reason(
        "GatewayNotProgrammed",
        "The controller of the Gateway could not set it up.",
        "Read the message and the status of the Gateway.",
    ),
    Reason(
        "GatewayProgrammingPending",
        "The controller of the Gateway has not answered yet.",
        "Wait; if it lasts, look whether the gateway controller runs.",
    ),
    Reason(
        "GatewayRouteRefused",
        "The Gateway refuses the route, or the policy for its connection to the servers.",
        "Read the message; it is the Gateway's own.",
    ),
    Reason("ServiceMonitorReady", "The ServiceMonitor is there.", NOTHING),
    Reason(
        "MonitoringAPIMissing",
        "The API server has no ServiceMonitors.",
        "Install the Prometheus operator; its arrival is noticed at once.",
    ),
)
