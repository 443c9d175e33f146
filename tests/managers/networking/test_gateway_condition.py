"""managers.networking.gateway_condition: the first cause is reported."""

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
    "ready": Row(gateway(), READY, "True GatewayIntegrationReady"),
    "not observed yet": Row(gateway(), NO_FACTS, "Unknown Reconciling"),
    "no API": Row(gateway(), ExposureFacts(NONE), "False GatewayAPIMissing"),
    "no policies": Row(
        gateway(),
        ExposureFacts({**ALL, BACKEND_TLS_POLICY.definition: ABSENT}),
        "False GatewayAPIMissing",
    ),
    "no policies and none requested": Row(
        gateway(backendTLS={"enabled": False}),
        replace(READY, offers={**ALL, BACKEND_TLS_POLICY.definition: ABSENT}, policy=None),
        "True GatewayIntegrationReady",
    ),
    "no TLSRoutes and none requested": Row(
        gateway(),
        replace(READY, offers={**ALL, TLS_ROUTE.definition: ABSENT}),
        "True GatewayIntegrationReady",
    ),
    "no HTTPRoutes with TLS passthrough": Row(
        PASSED,
        replace(READY, offers={**ALL, HTTP_ROUTE.definition: ABSENT}),
        "True GatewayIntegrationReady",
    ),
    "an unsupported version": Row(PASSED, OLD_TLS, "False GatewayVersionUnsupported"),
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
    "a class without a status": Row(gateway(), of_class(UNTOLD), "Unknown GatewayClassPending"),
    "a pending class": Row(gateway(), of_class(LATER), "Unknown GatewayClassPending"),
    "a refused class": Row(gateway(), of_class(NO), "False GatewayClassNotAccepted"),
    "a class for another API": Row(gateway(), of_class(YES, NO), "False GatewayVersionUnsupported"),
    "no listener": Row(gateway(), through(), "False GatewayListenerIncompatible"),
    "a listener for passthrough only": Row(
        gateway(), through(PASSTHROUGH), "False GatewayListenerIncompatible"
    ),
    "a listener that terminates TLS with passthrough requested": Row(
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
    "a listener for no namespace": Row(
        gateway(), through(replace(HTTPS, namespaces="None")), "False GatewayListenerIncompatible"
    ),
    "one listener of several fits": Row(
        gateway(listenerName="https"),
        through(PASSTHROUGH, replace(HTTPS, kinds=("HTTPRoute",), hostname="*.example.com")),
        "True GatewayIntegrationReady",
    ),
    "a Gateway of another namespace for all namespaces": Row(
        ELSEWHERE, through(replace(HTTPS, namespaces="All")), "True GatewayIntegrationReady"
    ),
    "a Gateway of another namespace with a namespace selector": Row(
        ELSEWHERE, through(replace(HTTPS, namespaces="Selector")), "True GatewayIntegrationReady"
    ),
    "not programmed": Row(gateway(), through(HTTPS, programmed=NO), "False GatewayNotProgrammed"),
    "not programmed yet": Row(
        gateway(),
        through(HTTPS, programmed=ListenerCondition("False", "Pending")),
        "Unknown GatewayProgrammingPending",
    ),
    "no programmed condition": Row(
        gateway(), through(HTTPS, programmed=UNTOLD), "Unknown GatewayProgrammingPending"
    ),
    "the route is not created yet": Row(
        gateway(), replace(READY, route=None), "Unknown Reconciling"
    ),
    "the policy is not created yet": Row(
        gateway(), replace(READY, policy=None), "Unknown Reconciling"
    ),
    "a foreign route": Row(
        gateway(), replace(READY, route=RouteFacts(False)), "False ForeignObject"
    ),
    "a foreign policy": Row(
        gateway(), replace(READY, policy=RouteFacts(False)), "False ForeignObject"
    ),
    "the route is refused": Row(gateway(), route_facts(NO), "False GatewayRouteRefused"),
    "the Service is not found": Row(gateway(), route_facts(YES, NO), "False GatewayRouteRefused"),
    "a route without a status": Row(
        gateway(), route_facts(UNTOLD), "Unknown GatewayProgrammingPending"
    ),
    "the policy is refused": Row(gateway(), policy_facts(NO), "False GatewayRouteRefused"),
    "the CA is not found": Row(gateway(), policy_facts(YES, NO), "False GatewayRouteRefused"),
    "a policy without a status": Row(
        gateway(), policy_facts(UNTOLD), "True GatewayIntegrationReady"
    ),
}


def condition_of(cluster: gen.Cluster, facts: ExposureFacts) -> ConditionUpdate:
    return gen.present(gateway_ready(exposure_spec(cluster.read()).gateway, facts))


@pytest.mark.parametrize("sentence", ROWS)
def test_the_condition_of_a_gateway(sentence: str) -> None:
    cluster, facts, expected = ROWS[sentence]
    update = condition_of(cluster, facts)
    assert f"{update.status} {update.reason}" == expected
    assert update.message


def test_an_unrequested_gateway_has_no_condition() -> None:
    assert gateway_ready(None, READY) is None
    assert exposure_spec(gateway(enabled=False).read()).gateway is None


def test_attack_t04_the_condition_does_not_reveal_objects_of_other_namespaces() -> None:
    """A Gateway that refuses this namespace is reported like a missing one."""
    private = through(HTTPS, programmed=NO)
    update, unseen = (
        condition_of(ELSEWHERE, private),
        condition_of(ELSEWHERE, replace(READY, gateway=None)),
    )
    assert update == unseen
    assert update.reason == "GatewayReferenceMissing"


def test_the_message_quotes_the_gateway() -> None:
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
def test_which_host_names_match(listener: str, host: str, common: bool) -> None:
    assert meets(listener, host) is common


def test_the_settings_have_the_namespace_of_the_gateway() -> None:
    wish = gen.expect(GatewaySettings, exposure_spec(ELSEWHERE.read()).gateway)
    assert (wish.namespace, wish.gateway_namespace) == (gen.NAMESPACE, "edge")
