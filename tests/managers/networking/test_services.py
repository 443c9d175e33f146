"""managers.networking: the Services, and their order with the policy."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels, names
from managers.networking.plan import plan
from managers.networking.services import active_service, headless_service, public_service
from runtime.builtin_kinds import NETWORK_POLICY, SERVICE
from runtime.outcome import Done
from tests import gen

JOB = labels.component("x", "backup")


def specs(**spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    meant = gen.resolved(gen.cluster(**spec))
    return headless_service(meant).body["spec"], public_service(meant).body["spec"]


def test_peers_find_each_other_before_they_are_ready() -> None:
    headless, public = specs()
    assert headless["clusterIP"] == "None"
    assert headless["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in public


@pytest.mark.parametrize("which", [0, 1], ids=["headless", "public"])
def test_a_service_selects_the_servers_and_no_job(which: int) -> None:
    selector = specs()[which]["selector"]
    assert selector.items() <= labels.server_pod("x").items()
    assert not selector.items() <= JOB.items()


def test_clients_reach_only_the_api_port() -> None:
    headless, public = specs()
    assert [port["port"] for port in public["ports"]] == [8200]
    assert [port["port"] for port in headless["ports"]] == [8200, 8201]


def test_the_public_service_has_the_settings_of_the_user() -> None:
    wish = {"type": "NodePort", "annotations": {"example.com/lb": "internal"}}
    intent = public_service(gen.resolved(gen.cluster(service=wish)))
    assert intent.body["spec"]["type"] == "NodePort"
    assert intent.body["metadata"]["annotations"] == {"example.com/lb": "internal"}


def test_the_leader_service_is_internal() -> None:
    wish = {"type": "LoadBalancer", "annotations": {"example.com/lb": "internal"}}
    intent = active_service(gen.resolved(gen.cluster(service=wish)))
    assert intent.key.name == "x-active"
    assert "annotations" not in intent.body["metadata"]
    assert "type" not in intent.body["spec"]
    assert "publishNotReadyAddresses" not in intent.body["spec"]
    assert [port["port"] for port in intent.body["spec"]["ports"]] == [8200]


@pytest.mark.parametrize(
    "sent",
    [{}, {"traffic": "0123456789abcdef"}, {"traffic_first": True}],
    ids=["one pool", "to green", "to blue"],
)
@pytest.mark.parametrize("revision", ["", "0123456789abcdef"], ids=["blue", "green"])
def test_the_leader_service_selects_a_leader_of_either_pool(
    sent: dict[str, Any], revision: str
) -> None:
    resolved = replace(gen.resolved(gen.cluster()), **sent)
    selector = active_service(resolved).body["spec"]["selector"]
    pod = labels.of_revision(labels.server_pod("x"), revision)
    assert selector.items() <= {**pod, labels.SERVER_ACTIVE: "true"}.items()
    assert not selector.items() <= {**pod, labels.SERVER_ACTIVE: "false"}.items()
    assert not selector.items() <= pod.items()
    assert not selector.items() <= {**JOB, labels.SERVER_ACTIVE: "true"}.items()


def test_the_step_plans_the_services_and_the_policy() -> None:
    network_plan = plan(gen.resolved(gen.cluster()), gen.world().facts())
    assert [(intent.resource, intent.key.name) for intent in network_plan.intents] == [
        (SERVICE, names.headless_service("x")),
        (SERVICE, names.public_service("x")),
        (SERVICE, names.active_service("x")),
        (NETWORK_POLICY, names.network_policy("x")),
        (NETWORK_POLICY, names.jobs_network_policy("x")),
    ]
    assert (network_plan.effects, network_plan.outcome, network_plan.gate) == ((), Done(), False)
