"""Whether the Gateway lets clients in: one ordered table of questions, the first answer counts.

Pure. What our own route says in its status counts most, but it says nothing while no controller
looks at it; so the Gateway and its class are judged too, to name the cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.conditions.condition import ConditionUpdate, Status
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, TLS_ROUTE
from contracts.records.exposure import (
    ExposureFacts,
    GatewayWishes,
    ListenerCondition,
    ListenerFacts,
)
from runtime.cache.optional_kind import OptionalKind

KIND = "GatewayIntegrationReady"
_HTTP = ("HTTP", "HTTPS")
_MISSING = (
    "install the CustomResourceDefinitions of the Gateway API (standard channel), or set "
    "spec.gateway.enabled to false; the servers are not touched by this"
)


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """What is judged."""

    wishes: GatewayWishes
    facts: ExposureFacts

    @property
    def route(self) -> OptionalKind:
        """The kind of the route that is wanted."""
        return TLS_ROUTE if self.wishes.passthrough else HTTP_ROUTE

    @property
    def kinds(self) -> tuple[OptionalKind, ...]:
        """Every kind that is needed."""
        checked = self.wishes.backend_hostname is not None
        return (self.route, BACKEND_TLS_POLICY) if checked else (self.route,)

    @property
    def gateway(self) -> str:
        """The Gateway, for a message."""
        return f"Gateway {self.wishes.gateway_namespace}/{self.wishes.gateway}"


def gateway_ready(wishes: GatewayWishes | None, facts: ExposureFacts) -> ConditionUpdate | None:
    """Judge the way in through a Gateway; None when none is asked for."""
    if wishes is None:
        return None
    look = GatewayFacts(wishes, facts)
    answers = (question(look) for question in QUESTIONS)
    return next((answer for answer in answers if answer is not None), _ready(look))


def _say(status: Status, reason: str, message: str) -> ConditionUpdate:
    return ConditionUpdate(KIND, status, reason, message)


def _unknown(look: GatewayFacts) -> ConditionUpdate | None:
    for kind in look.kinds:
        if not look.facts.offer(kind).known:
            message = f"Whether there are {kind.plural}.{kind.group} is being looked up"
            return _say("Unknown", "Reconciling", message)
    return None


def _api(look: GatewayFacts) -> ConditionUpdate | None:
    for kind in look.kinds:
        offer = look.facts.offer(kind)
        if offer.resource is not None:
            continue
        if not offer.versions:
            message = f"The API server has no {kind.definition}: {_MISSING}"
            return _say("False", "GatewayAPIMissing", message)
        return _say(
            "False",
            "GatewayVersionUnsupported",
            f"The API server serves {kind.definition} as {', '.join(offer.versions)} alone, and "
            f"the operator writes {', '.join(kind.versions)}: install a release of the Gateway API "
            "that serves one of these",
        )
    return None


def _reference(look: GatewayFacts) -> ConditionUpdate | None:
    """A Gateway elsewhere that lets nobody of our namespace in is answered as if there were none.

    Whoever may write a cluster would learn from anything else what exists in other namespaces.
    """
    facts = look.facts
    if not facts.gateway_readable:
        return None
    elsewhere = look.wishes.gateway_namespace != look.wishes.namespace
    if facts.gateway is not None and not (elsewhere and not _admitted(look)):
        return None
    hint = (
        f", or has no listener that admits routes of namespace {look.wishes.namespace}"
        if elsewhere
        else ""
    )
    return _say(
        "False",
        "GatewayReferenceMissing",
        f"spec.gateway.gatewayRef: {look.gateway} does not exist{hint}; create it, have its owner "
        "set allowedRoutes, or name another one",
    )


def _class(look: GatewayFacts) -> ConditionUpdate | None:
    facts = look.facts
    if facts.gateway is None or not facts.class_readable:
        return None
    name = f"GatewayClass {facts.gateway.class_name}"
    if facts.gateway_class is None:
        message = f"{name} of {look.gateway} does not exist: install its controller"
        return _say("False", "GatewayClassMissing", message)
    accepted, supported = facts.gateway_class.accepted, facts.gateway_class.supported
    if supported.status == "False":
        message = f"{name} does not support the installed Gateway API: {_told(supported)}"
        return _say("False", "GatewayVersionUnsupported", message)
    if accepted.status == "False":
        message = f"No controller accepts {name}: {_told(accepted)}"
        return _say("False", "GatewayClassNotAccepted", message)
    if accepted.status != "True":
        message = f"No controller has accepted {name} yet: is it running?"
        return _say("Unknown", "GatewayClassPending", message)
    return None


def _listener(look: GatewayFacts) -> ConditionUpdate | None:
    gateway, name = look.facts.gateway, look.wishes.listener
    if gateway is None or any(_fits(one, look) for one in gateway.listeners):
        return None
    which = f"has no listener {name} that" if name else "has no listener that"
    wanted = "TLS with mode Passthrough" if look.wishes.passthrough else "HTTP or HTTPS"
    return _say(
        "False",
        "GatewayListenerIncompatible",
        f"{look.gateway} {which} takes {wanted}, host {look.wishes.hostname} and a "
        f"{look.route.kind} of namespace {look.wishes.namespace}: change the Gateway, "
        "spec.gateway.listenerName or spec.gateway.hostname",
    )


def _programmed(look: GatewayFacts) -> ConditionUpdate | None:
    gateway = look.facts.gateway
    if gateway is None or gateway.programmed.status == "True":
        return None
    verdict = gateway.programmed
    if verdict.status == "False" and verdict.reason != "Pending":
        message = f"{look.gateway} is not programmed: {_told(verdict)}"
        return _say("False", "GatewayNotProgrammed", message)
    message = f"{look.gateway} has not been programmed yet by its controller"
    return _say("Unknown", "GatewayProgrammingPending", message)


def _written(look: GatewayFacts) -> ConditionUpdate | None:
    route, policy = look.facts.route, look.facts.policy
    wanted: list[tuple[str, object]] = [(look.route.kind, route)]
    if look.wishes.backend_hostname is not None:
        wanted.append((BACKEND_TLS_POLICY.kind, policy))
    missing = [kind for kind, there in wanted if there is None]
    if missing:
        return _say("Unknown", "Reconciling", f"Not written yet: {', '.join(missing)}")
    if any(one is not None and not one.mine for one in (route, policy)):
        return _say("False", "ForeignObject", "The route belongs to somebody else; see Conflict")
    return None


def _answered(look: GatewayFacts) -> ConditionUpdate | None:
    route = look.facts.route
    if route is None:
        return None
    for verdict in (route.accepted, route.resolved):
        if verdict.status == "False":
            message = f"{look.gateway} refuses the {look.route.kind}: {_told(verdict)}"
            return _say("False", "GatewayRouteRefused", message)
    if route.accepted.status != "True":
        message = f"{look.gateway} has not answered to the {look.route.kind} yet"
        return _say("Unknown", "GatewayProgrammingPending", message)
    return None


def _backend(look: GatewayFacts) -> ConditionUpdate | None:
    policy = look.facts.policy
    if policy is None or look.wishes.backend_hostname is None:
        return None
    for verdict in (policy.accepted, policy.resolved):
        if verdict.status == "False":
            message = f"{look.gateway} refuses the BackendTLSPolicy: {_told(verdict)}"
            return _say("False", "GatewayRouteRefused", message)
    return None


def _ready(look: GatewayFacts) -> ConditionUpdate:
    message = f"{look.gateway} lets clients in at {look.wishes.hostname}"
    return _say("True", "GatewayIntegrationReady", message)


QUESTIONS: tuple[Callable[[GatewayFacts], ConditionUpdate | None], ...] = (
    _unknown,
    _api,
    _reference,
    _class,
    _listener,
    _programmed,
    _written,
    _answered,
    # Many gateways do not report on it, so that silence counts as consent.
    _backend,
)


def _admitted(look: GatewayFacts) -> bool:
    """Whether some listener may let routes of our namespace in.

    A selector is judged by the gateway's controller: labels of namespaces are not ours to read.
    """
    gateway = look.facts.gateway
    return gateway is not None and any(_admits(one, look.wishes) for one in gateway.listeners)


def _admits(listener: ListenerFacts, wishes: GatewayWishes) -> bool:
    if listener.namespaces == "Same":
        return wishes.gateway_namespace == wishes.namespace
    return listener.namespaces in ("All", "Selector")


def _fits(listener: ListenerFacts, look: GatewayFacts) -> bool:
    wishes = look.wishes
    if wishes.listener is not None and listener.name != wishes.listener:
        return False
    spoken = (
        listener.protocol == "TLS" and listener.passthrough
        if wishes.passthrough
        else listener.protocol in _HTTP
    )
    kinds = not listener.kinds or look.route.kind in listener.kinds
    return (
        spoken and kinds and _admits(listener, wishes) and meets(listener.hostname, wishes.hostname)
    )


def meets(listener: str, host: str) -> bool:
    """Whether two host names have one in common; "" and "*." stand for any (Gateway API v1)."""
    if not listener or listener == host:
        return True
    wild, other = (listener, host) if listener.startswith("*.") else (host, listener)
    return wild.startswith("*.") and other.endswith(wild[1:])


def _told(verdict: ListenerCondition) -> str:
    return ": ".join(filter(None, (verdict.reason, verdict.message))) or "no reason given"
