"""managers.networking.gateway_condition: the first cause that stands in the way is the one told."""

from dataclasses import replace
from typing import NamedTuple

import pytest

from contracts.conditions.condition import ConditionUpdate
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, TLS_ROUTE
from contracts.records.exposure import (
    NO_FACTS,
    ClassFacts,
    ExposureFacts,
    GatewayFacts,
    GatewaySettings,
    ListenerCondition,
    ListenerFacts,
    RouteFacts,
)
from managers.networking.exposure_spec import exposure_spec
from managers.networking.gateway_condition import gateway_ready, meets
from runtime.cache.optional_kind import KindAvailability
from tests import gen
from tests.managers.networking.exposure_objects import (
    ABSENT,
    ALL,
    HOST,
    HTTPS,
    NONE,
    PASSTHROUGH,
    READY,
    UNTOLD,
    YES,
    gateway,
)

NO = ListenerCondition("False", "Nope", "told so")
LATER = ListenerCondition("Unknown", "Pending")
PASSED = gateway(tlsPassthrough=True)
ELSEWHERE = gateway(gatewayRef={"name": "public", "namespace": "edge"})


def through(*listeners: ListenerFacts, programmed: ListenerCondition = YES) -> ExposureFacts:
    return replace(READY, gateway=GatewayFacts("edge", listeners, programmed))


def of_class(accepted: ListenerCondition, supported: ListenerCondition = UNTOLD) -> ExposureFacts:
    return replace(READY, gateway_class=ClassFacts(accepted, supported))


def route_facts(accepted: ListenerCondition, resolved: ListenerCondition = YES) -> ExposureFacts:
    return replace(READY, route=RouteFacts(True, accepted, resolved))


def policy_facts(accepted: ListenerCondition, resolved: ListenerCondition = YES) -> ExposureFacts:
    return replace(READY, policy=RouteFacts(True, accepted, resolved))


OLD_TLS = ExposureFacts({**ALL, TLS_ROUTE.definition: KindAvailability(True, ("v1beta1",))})


class Row(NamedTuple):
    cluster: gen.Cluster
    facts: ExposureFacts
    expected: str


ROWS = {
    "all is well": Row(gateway(), READY, "True GatewayIntegrationReady"),
    "nobody looked yet": Row(gateway(), NO_FACTS, "Unknown Reconciling"),
    "no API": Row(gateway(), ExposureFacts(NONE), "False GatewayAPIMissing"),
    "no policies": Row(
        gateway(),
        ExposureFacts({**ALL, BACKEND_TLS_POLICY.definition: ABSENT}),
        "False GatewayAPIMissing",
    ),
    "no policies, and none wanted": Row(
        gateway(backendTLS={"enabled": False}),
        replace(READY, offers={**ALL, BACKEND_TLS_POLICY.definition: ABSENT}, policy=None),
        "True GatewayIntegrationReady",
    ),
    "no TLSRoutes, and none wanted": Row(
        gateway(),
        replace(READY, offers={**ALL, TLS_ROUTE.definition: ABSENT}),
        "True GatewayIntegrationReady",
    ),
    "no HTTPRoutes, and TLS is passed": Row(
        PASSED,
        replace(READY, offers={**ALL, HTTP_ROUTE.definition: ABSENT}),
        "True GatewayIntegrationReady",
    ),
    "a version that nobody can write": Row(PASSED, OLD_TLS, "False GatewayVersionUnsupported"),
    "no Gateway": Row(gateway(), replace(READY, gateway=None), "False GatewayReferenceMissing"),
    "a Gateway that may not be read": Row(
        gateway(),
        replace(READY, gateway=None, gateway_class=None, gateway_readable=False),
        "True GatewayIntegrationReady",
    ),
    "no class": Row(gateway(), replace(READY, gateway_class=None), "False GatewayClassMissing"),
    "a class that may not be read": Row(
        gateway(),
        replace(READY, gateway_class=None, class_readable=False),
        "True GatewayIntegrationReady",
    ),
    "a class nobody took": Row(gateway(), of_class(UNTOLD), "Unknown GatewayClassPending"),
    "a class that waits": Row(gateway(), of_class(LATER), "Unknown GatewayClassPending"),
    "a class that is refused": Row(gateway(), of_class(NO), "False GatewayClassNotAccepted"),
    "a class for another API": Row(gateway(), of_class(YES, NO), "False GatewayVersionUnsupported"),
    "no listener": Row(gateway(), through(), "False GatewayListenerIncompatible"),
    "a listener for passthrough alone": Row(
        gateway(), through(PASSTHROUGH), "False GatewayListenerIncompatible"
    ),
    "a listener that ends TLS, and TLS is passed": Row(
        PASSED,
        through(HTTPS, replace(PASSTHROUGH, passthrough=False)),
        "False GatewayListenerIncompatible",
    ),
    "a listener of another host": Row(
        gateway(),
        through(replace(HTTPS, hostname="other.example.com")),
        "False GatewayListenerIncompatible",
    ),
    "a listener of another name": Row(
        gateway(listenerName="special"), READY, "False GatewayListenerIncompatible"
    ),
    "a listener for other routes": Row(
        gateway(),
        through(replace(HTTPS, kinds=("GRPCRoute",))),
        "False GatewayListenerIncompatible",
    ),
    "a listener for nobody": Row(
        gateway(), through(replace(HTTPS, namespaces="None")), "False GatewayListenerIncompatible"
    ),
    "one listener of several fits": Row(
        gateway(listenerName="https"),
        through(PASSTHROUGH, replace(HTTPS, kinds=("HTTPRoute",), hostname="*.example.com")),
        "True GatewayIntegrationReady",
    ),
    "a Gateway elsewhere for everybody": Row(
        ELSEWHERE, through(replace(HTTPS, namespaces="All")), "True GatewayIntegrationReady"
    ),
    "a Gateway elsewhere for chosen namespaces": Row(
        ELSEWHERE, through(replace(HTTPS, namespaces="Selector")), "True GatewayIntegrationReady"
    ),
    "not programmed": Row(gateway(), through(HTTPS, programmed=NO), "False GatewayNotProgrammed"),
    "not programmed yet": Row(
        gateway(),
        through(HTTPS, programmed=ListenerCondition("False", "Pending")),
        "Unknown GatewayProgrammingPending",
    ),
    "nobody has programmed it": Row(
        gateway(), through(HTTPS, programmed=UNTOLD), "Unknown GatewayProgrammingPending"
    ),
    "the route is not written": Row(gateway(), replace(READY, route=None), "Unknown Reconciling"),
    "the policy is not written": Row(gateway(), replace(READY, policy=None), "Unknown Reconciling"),
    "the route is somebody else's": Row(
        gateway(), replace(READY, route=RouteFacts(False)), "False ForeignObject"
    ),
    "the policy is somebody else's": Row(
        gateway(), replace(READY, policy=RouteFacts(False)), "False ForeignObject"
    ),
    "the route is refused": Row(gateway(), route_facts(NO), "False GatewayRouteRefused"),
    "the Service is not found": Row(gateway(), route_facts(YES, NO), "False GatewayRouteRefused"),
    "no answer to the route": Row(
        gateway(), route_facts(UNTOLD), "Unknown GatewayProgrammingPending"
    ),
    "the policy is refused": Row(gateway(), policy_facts(NO), "False GatewayRouteRefused"),
    "the authority is not found": Row(
        gateway(), policy_facts(YES, NO), "False GatewayRouteRefused"
    ),
    "no answer to the policy": Row(gateway(), policy_facts(UNTOLD), "True GatewayIntegrationReady"),
}


def condition_of(cluster: gen.Cluster, facts: ExposureFacts) -> ConditionUpdate:
    return gen.present(gateway_ready(exposure_spec(cluster.read()).gateway, facts))


@pytest.mark.parametrize("sentence", ROWS)
def test_what_is_told(sentence: str) -> None:
    cluster, facts, expected = ROWS[sentence]
    update = condition_of(cluster, facts)
    assert f"{update.status} {update.reason}" == expected
    assert update.message


def test_nothing_is_told_of_a_gateway_that_nobody_asks_for() -> None:
    assert gateway_ready(None, READY) is None
    assert exposure_spec(gateway(enabled=False).read()).gateway is None


def test_attack_t04_nobody_learns_what_there_is_in_other_namespaces() -> None:
    """A Gateway that does not let this namespace in is answered like one that is not there."""
    private = through(HTTPS, programmed=NO)
    update, unseen = (
        condition_of(ELSEWHERE, private),
        condition_of(ELSEWHERE, replace(READY, gateway=None)),
    )
    assert update == unseen
    assert update.reason == "GatewayReferenceMissing"


def test_the_cause_is_told_in_the_words_of_the_gateway() -> None:
    assert "Nope: told so" in condition_of(gateway(), route_facts(NO)).message
    assert HOST in condition_of(gateway(), through()).message


@pytest.mark.parametrize(
    ("listener", "host", "common"),
    [
        ("", HOST, True),
        (HOST, HOST, True),
        ("*.example.com", HOST, True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "a.b.example.com", True),
        ("*.other.com", HOST, False),
        (HOST, "*.example.com", True),
        ("bao.example.org", HOST, False),
        ("ao.example.com", HOST, False),
    ],
)
def test_host_names_meet(listener: str, host: str, common: bool) -> None:
    assert meets(listener, host) is common


def test_the_wish_says_where_the_gateway_is() -> None:
    wish = gen.expect(GatewaySettings, exposure_spec(ELSEWHERE.read()).gateway)
    assert (wish.namespace, wish.gateway_namespace) == (gen.NAMESPACE, "edge")
