"""managers.networking.exposure_facts: facts from complete and invalid objects."""

from typing import Any

import pytest

from contracts.records.exposure import (
    ClassFacts,
    GatewayFacts,
    GatewaySettings,
    IngressFacts,
    ListenerCondition,
    ListenerFacts,
    RouteFacts,
)
from managers.networking.exposure_facts import (
    class_facts,
    gateway_facts,
    ingress_facts,
    policy_facts,
    route_facts,
    verdict,
)
from managers.networking.exposure_spec import exposure_spec
from tests import gen
from tests.managers.networking.exposure_objects import gateway

YES = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "fine"}
NO = {"type": "Accepted", "status": "False", "reason": "Nope", "message": "told so"}
PARENT = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}


def gateway_settings(**more: Any) -> GatewaySettings:
    return gen.present(exposure_spec(gateway(**more).read()).gateway)


def route_status(*answers: tuple[dict[str, Any], dict[str, Any]], generation: int = 2) -> Any:
    parents = [
        {"parentRef": parent, "conditions": [route_parent]} for parent, route_parent in answers
    ]
    return {"metadata": {"generation": generation}, "status": {"parents": parents}}


def test_a_gateway_is_read() -> None:
    live = {
        "metadata": {"generation": 1},
        "spec": {
            "gatewayClassName": "edge",
            "listeners": [
                {"name": "plain", "protocol": "HTTP"},
                {
                    "name": "pass",
                    "protocol": "TLS",
                    "hostname": "*.example.com",
                    "tls": {"mode": "Passthrough"},
                    "allowedRoutes": {
                        "namespaces": {"from": "All"},
                        "kinds": [{"kind": "TLSRoute"}],
                    },
                },
            ],
        },
        "status": {"conditions": [{**YES, "type": "Programmed"}]},
    }
    assert gateway_facts(live) == GatewayFacts(
        "edge",
        (
            ListenerFacts("plain", "HTTP", "", False, "Same", ()),
            ListenerFacts("pass", "TLS", "*.example.com", True, "All", ("TLSRoute",)),
        ),
        ListenerCondition("True", "Accepted", "fine"),
    )


def test_a_class_is_read() -> None:
    live = {"status": {"conditions": [YES, {**NO, "type": "SupportedVersion"}]}}
    facts = class_facts(live)
    assert (facts.accepted.status, facts.supported.status) == ("True", "False")


@pytest.mark.parametrize("odd", [{}, {"spec": None, "status": None}, {"status": {"parents": None}}])
def test_an_empty_status_is_unknown(odd: dict[str, Any]) -> None:
    assert gateway_facts(odd) == GatewayFacts("", (), ListenerCondition())
    assert class_facts(odd) == ClassFacts(ListenerCondition(), ListenerCondition())
    assert route_facts(odd, True, gateway_settings()) == RouteFacts(True)
    assert policy_facts(odd, False, gateway_settings()) == RouteFacts(False)
    assert ingress_facts(odd, True) == IngressFacts(True)


def test_attack_t17_an_invalid_status_causes_no_crash() -> None:
    odd: dict[str, Any] = {
        "spec": {"listeners": ["no", 1], "gatewayClassName": 7},
        "status": {"parents": [1, {"parentRef": "x"}], "conditions": ["y"], "loadBalancer": []},
    }
    assert gateway_facts(odd).listeners == ()
    assert route_facts(odd, True, gateway_settings()) == RouteFacts(True)
    assert ingress_facts(odd, True) == IngressFacts(True)


# sentence: (wish, parentRef of the answer, counts)
PARENTS: dict[str, tuple[GatewaySettings, dict[str, Any], bool]] = {
    "ours": (gateway_settings(), {**PARENT, "namespace": "ns"}, True),
    "ours without a namespace": (gateway_settings(), PARENT, True),
    "another name": (gateway_settings(), {**PARENT, "name": "other"}, False),
    "another namespace": (gateway_settings(), {**PARENT, "namespace": "edge"}, False),
    "another kind": (gateway_settings(), {**PARENT, "kind": "Service"}, False),
    "ours in another namespace": (
        gateway_settings(gatewayRef={"name": "public", "namespace": "edge"}),
        {**PARENT, "namespace": "edge"},
        True,
    ),
}


@pytest.mark.parametrize("sentence", PARENTS)
def test_only_the_condition_for_our_gateway_counts(sentence: str) -> None:
    requests, parent, counts = PARENTS[sentence]
    assert (
        route_facts(route_status((parent, NO)), True, requests).accepted.status == "False"
    ) is counts


def test_the_worst_of_several_conditions_counts() -> None:
    for answers in ([(PARENT, YES), (PARENT, NO)], [(PARENT, NO), (PARENT, YES)]):
        assert (
            route_facts(route_status(*answers), True, gateway_settings()).accepted.reason == "Nope"
        )


def test_a_condition_of_an_older_generation_is_ignored() -> None:
    old, new = {**YES, "observedGeneration": 1}, {**YES, "observedGeneration": 2}
    assert verdict([old], "Accepted", 2) == ListenerCondition()
    assert verdict([new], "Accepted", 2).status == "True"
    assert verdict([YES], "Accepted", 2).status == "True"


def test_the_condition_of_a_policy_is_read_from_its_ancestors() -> None:
    live = {"status": {"ancestors": [{"ancestorRef": PARENT, "conditions": [NO]}]}}
    assert policy_facts(live, True, gateway_settings()).accepted == ListenerCondition(
        "False", "Nope", "told so"
    )


def test_addresses_of_an_ingress() -> None:
    published = [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}, {}]
    live = {"status": {"loadBalancer": {"ingress": published}}}
    assert ingress_facts(live, True).addresses == ("192.0.2.1", "lb.example.com")
