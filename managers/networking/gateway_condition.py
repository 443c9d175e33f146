"""Condition GatewayIntegrationReady: an ordered list of checks, whose first result is reported.

Pure. The status of our route is empty while no controller handles the route, so the Gateway and its
class are checked too, to name the cause. Called by `managers.cluster.status.conditions` and
`managers.networking.exposure`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.conditions.condition import ConditionUpdate, Status
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, TLS_ROUTE
from contracts.records.exposure import (
    ExposureFacts,
    GatewaySettings,
    ListenerCondition,
    ListenerFacts,
)
from runtime.cache.optional_kind import OptionalKind

KIND = "GatewayIntegrationReady"
_HTTP = ("HTTP", "HTTPS")
_MISSING = (
    "install the CustomResourceDefinitions of the Gateway API (standard channel), or set "
    "spec.gateway.enabled to false; the servers are not affected"
)


@dataclass(frozen=True, slots=True)
class GatewayInput:
    """Inputs of the checks."""

    spec: GatewaySettings
    facts: ExposureFacts

    @property
    def route(self) -> OptionalKind:
        """Kind of the requested route."""
        return TLS_ROUTE if self.spec.passthrough else HTTP_ROUTE

    @property
    def kinds(self) -> tuple[OptionalKind, ...]:
        """All kinds that the spec needs."""
        verifies_backend = self.spec.backend_hostname is not None
        return (self.route, BACKEND_TLS_POLICY) if verifies_backend else (self.route,)

    @property
    def gateway(self) -> str:
        """The Gateway, for a message."""
        return f"Gateway {self.spec.gateway_namespace}/{self.spec.gateway}"


def gateway_ready(spec: GatewaySettings | None, facts: ExposureFacts) -> ConditionUpdate | None:
    """Check the exposure through a Gateway; None without a Gateway in the spec."""
    if spec is None:
        return None
    inputs = GatewayInput(spec, facts)
    results = (check(inputs) for check in CHECKS)
    return next((result for result in results if result is not None), _ready(inputs))


def _update(status: Status, reason: str, message: str) -> ConditionUpdate:
    return ConditionUpdate(KIND, status, reason, message)


def _unknown(inputs: GatewayInput) -> ConditionUpdate | None:
    for kind in inputs.kinds:
        if not inputs.facts.offer(kind).known:
            message = f"The operator has not read the definition {kind.definition} yet"
            return _update("Unknown", "Reconciling", message)
    return None


def _api(inputs: GatewayInput) -> ConditionUpdate | None:
    for kind in inputs.kinds:
        offer = inputs.facts.offer(kind)
        if offer.resource is not None:
            continue
        if not offer.versions:
            message = f"The API server does not serve {kind.definition}: {_MISSING}"
            return _update("False", "GatewayAPIMissing", message)
        return _update(
            "False",
            "GatewayVersionUnsupported",
            f"The API server serves {kind.definition} only as {', '.join(offer.versions)}, and "
            f"the operator writes {', '.join(kind.versions)}: install a release of the Gateway API "
            "that serves one of these",
        )
    return None


def _reference(inputs: GatewayInput) -> ConditionUpdate | None:
    """Report a Gateway as missing if it is in another namespace and does not admit our routes.

    Any other message would reveal to the author of a cluster which objects other namespaces have.
    """
    facts = inputs.facts
    if not facts.gateway_readable:
        return None
    elsewhere = inputs.spec.gateway_namespace != inputs.spec.namespace
    if facts.gateway is not None and not (elsewhere and not _admitted(inputs)):
        return None
    hint = (
        f", or has no listener that admits routes of namespace {inputs.spec.namespace}"
        if elsewhere
        else ""
    )
    return _update(
        "False",
        "GatewayReferenceMissing",
        f"spec.gateway.gatewayRef: {inputs.gateway} does not exist{hint}; create it, ask its owner "
        "to set allowedRoutes, or name another Gateway",
    )


def _class(inputs: GatewayInput) -> ConditionUpdate | None:
    facts = inputs.facts
    if facts.gateway is None or not facts.class_readable:
        return None
    name = f"GatewayClass {facts.gateway.class_name}"
    if facts.gateway_class is None:
        message = f"{name} of {inputs.gateway} does not exist: install its controller"
        return _update("False", "GatewayClassMissing", message)
    accepted, supported = facts.gateway_class.accepted, facts.gateway_class.supported
    if supported.status == "False":
        message = f"{name} does not support the installed Gateway API: {_reason(supported)}"
        return _update("False", "GatewayVersionUnsupported", message)
    if accepted.status == "False":
        message = f"No controller accepts {name}: {_reason(accepted)}"
        return _update("False", "GatewayClassNotAccepted", message)
    if accepted.status != "True":
        message = f"No controller has accepted {name} yet: is it running?"
        return _update("Unknown", "GatewayClassPending", message)
    return None


def _listener(inputs: GatewayInput) -> ConditionUpdate | None:
    gateway, name = inputs.facts.gateway, inputs.spec.listener
    if gateway is None or any(_fits(listener, inputs) for listener in gateway.listeners):
        return None
    listener_name = f"listener {name}" if name else "listener"
    protocols = "TLS with mode Passthrough" if inputs.spec.passthrough else "HTTP or HTTPS"
    return _update(
        "False",
        "GatewayListenerIncompatible",
        f"{inputs.gateway} has no {listener_name} that accepts {protocols}, host "
        f"{inputs.spec.hostname} and a {inputs.route.kind} of namespace {inputs.spec.namespace}: "
        "change the Gateway, spec.gateway.listenerName or spec.gateway.hostname",
    )


def _programmed(inputs: GatewayInput) -> ConditionUpdate | None:
    gateway = inputs.facts.gateway
    if gateway is None or gateway.programmed.status == "True":
        return None
    verdict = gateway.programmed
    if verdict.status == "False" and verdict.reason != "Pending":
        message = f"{inputs.gateway} is not programmed: {_reason(verdict)}"
        return _update("False", "GatewayNotProgrammed", message)
    message = f"The controller of {inputs.gateway} has not programmed it yet"
    return _update("Unknown", "GatewayProgrammingPending", message)


def _written(inputs: GatewayInput) -> ConditionUpdate | None:
    route, policy = inputs.facts.route, inputs.facts.policy
    objects: list[tuple[str, object]] = [(inputs.route.kind, route)]
    if inputs.spec.backend_hostname is not None:
        objects.append((BACKEND_TLS_POLICY.kind, policy))
    missing = [kind for kind, live in objects if live is None]
    if missing:
        return _update("Unknown", "Reconciling", f"These do not exist yet: {', '.join(missing)}")
    if any(facts is not None and not facts.owned for facts in (route, policy)):
        message = "The route or its policy has another owner; see the condition Conflict"
        return _update("False", "ForeignObject", message)
    return None


def _accepted(inputs: GatewayInput) -> ConditionUpdate | None:
    route = inputs.facts.route
    if route is None:
        return None
    for verdict in (route.accepted, route.resolved):
        if verdict.status == "False":
            message = f"{inputs.gateway} refuses the {inputs.route.kind}: {_reason(verdict)}"
            return _update("False", "GatewayRouteRefused", message)
    if route.accepted.status != "True":
        message = f"{inputs.gateway} has not accepted the {inputs.route.kind} yet"
        return _update("Unknown", "GatewayProgrammingPending", message)
    return None


def _backend(inputs: GatewayInput) -> ConditionUpdate | None:
    policy = inputs.facts.policy
    if policy is None or inputs.spec.backend_hostname is None:
        return None
    for verdict in (policy.accepted, policy.resolved):
        if verdict.status == "False":
            message = f"{inputs.gateway} refuses the BackendTLSPolicy: {_reason(verdict)}"
            return _update("False", "GatewayRouteRefused", message)
    return None


def _ready(inputs: GatewayInput) -> ConditionUpdate:
    message = f"Clients can connect through {inputs.gateway} at {inputs.spec.hostname}"
    return _update("True", "GatewayIntegrationReady", message)


CHECKS: tuple[Callable[[GatewayInput], ConditionUpdate | None], ...] = (
    _unknown,
    _api,
    _reference,
    _class,
    _listener,
    _programmed,
    _written,
    _accepted,
    # Many gateways report no status for a policy, so a missing status counts as accepted.
    _backend,
)


def _admitted(inputs: GatewayInput) -> bool:
    """Return whether a listener may admit routes of our namespace.

    A selector counts as admission: the operator may not read the labels of namespaces.
    """
    gateway = inputs.facts.gateway
    return gateway is not None and any(
        _admits(listener, inputs.spec) for listener in gateway.listeners
    )


def _admits(listener: ListenerFacts, spec: GatewaySettings) -> bool:
    if listener.namespaces == "Same":
        return spec.gateway_namespace == spec.namespace
    return listener.namespaces in ("All", "Selector")


def _fits(listener: ListenerFacts, inputs: GatewayInput) -> bool:
    spec = inputs.spec
    if spec.listener is not None and listener.name != spec.listener:
        return False
    protocol = (
        listener.protocol == "TLS" and listener.passthrough
        if spec.passthrough
        else listener.protocol in _HTTP
    )
    kind = not listener.kinds or inputs.route.kind in listener.kinds
    return protocol and kind and _admits(listener, spec) and meets(listener.hostname, spec.hostname)


def meets(listener: str, host: str) -> bool:
    """Return whether two host names intersect; "" and "*." match any (Gateway API v1)."""
    if not listener or listener == host:
        return True
    wild, other = (listener, host) if listener.startswith("*.") else (host, listener)
    return wild.startswith("*.") and other.endswith(wild[1:])


def _reason(verdict: ListenerCondition) -> str:
    return ": ".join(filter(None, (verdict.reason, verdict.message))) or "no reason given"
