"""managers.networking.exposure.

Which objects are wanted, as a table, and each of them word by word.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.api.rules.cluster import violations
from contracts.naming import labels, names
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, SERVICE_MONITOR, TLS_ROUTE
from contracts.records.exposure import NO_FACTS, ExposureFacts
from contracts.records.observed import Observed
from managers.networking.exposure import (
    GATEWAY_PENDING,
    GATEWAY_RECHECK,
    exposure_intents,
    gateway_outcome,
)
from managers.networking.plan import plan
from runtime.apply.intent import contains
from runtime.cache.optional_kind import KindAvailability
from runtime.outcome import Done
from runtime.types import Object
from tests import gen
from tests.managers.networking.exposure_objects import (
    ABSENT,
    ALL,
    HOST,
    NONE,
    READY,
    gateway,
    ingress,
    monitor,
    seeing,
)

GOLDEN = Path(__file__).parent / "golden"
THERE = ExposureFacts(ALL)
ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/d", "domain": HOST}}

CASES: dict[str, tuple[gen.Cluster, ExposureFacts, list[str]]] = {
    "no exposure requested": (gen.cluster(), THERE, []),
    "an Ingress": (ingress(), THERE, ["Ingress x"]),
    "a disabled Ingress": (ingress(enabled=False), THERE, []),
    "a route": (
        gateway(),
        THERE,
        ["ConfigMap x-tls-ca", "HTTPRoute x-httproute", "BackendTLSPolicy x-backend-tls-policy"],
    ),
    "a disabled route": (gateway(enabled=False), THERE, []),
    "a route without backend TLS": (
        gateway(backendTLS={"enabled": False}),
        THERE,
        ["ConfigMap x-tls-ca", "HTTPRoute x-httproute"],
    ),
    "passthrough": (gateway(tlsPassthrough=True), THERE, ["TLSRoute x-tlsroute"]),
    "no Gateway API": (gateway(), ExposureFacts(NONE), ["ConfigMap x-tls-ca"]),
    "available kinds not known yet": (gateway(), NO_FACTS, ["ConfigMap x-tls-ca"]),
    "no policy without the route kind": (
        gateway(),
        ExposureFacts({**ALL, HTTP_ROUTE.definition: ABSENT}),
        ["ConfigMap x-tls-ca"],
    ),
    "a route without the policy kind": (
        gateway(),
        ExposureFacts({**ALL, BACKEND_TLS_POLICY.definition: ABSENT}),
        ["ConfigMap x-tls-ca", "HTTPRoute x-httproute"],
    ),
    "a ServiceMonitor": (
        monitor(),
        THERE,
        ["ConfigMap x-tls-ca", "Service x-metrics", "ServiceMonitor x"],
    ),
    "a ServiceMonitor with its own CA": (
        monitor(tlsConfig={"caSecret": {"name": "mine"}}),
        THERE,
        ["Service x-metrics", "ServiceMonitor x"],
    ),
    "no Prometheus": (monitor(), ExposureFacts(NONE), ["ConfigMap x-tls-ca", "Service x-metrics"]),
    "metrics without a monitor": (
        gen.cluster(observability={"metrics": {"enabled": True}}),
        THERE,
        [],
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_which_objects_are_planned(sentence: str) -> None:
    cluster, facts, expected = CASES[sentence]
    observed = seeing(cluster, facts)
    made = plan(gen.resolved(cluster), observed).optional
    assert [f"{intent.resource.kind} {intent.key.name}" for intent in made] == expected
    assert all(intent.key.namespace == gen.NAMESPACE for intent in made)


def test_b09_pods_never_wait_for_exposure_objects() -> None:
    for cluster, facts, _ in CASES.values():
        exposure_plan = plan(gen.resolved(cluster), seeing(cluster, facts))
        kinds = {intent.resource.kind for intent in exposure_plan.intents}
        assert kinds <= {"Service", "NetworkPolicy"}
        assert "x-metrics" not in {intent.key.name for intent in exposure_plan.intents}
        assert isinstance(exposure_plan.outcome, Done)
        assert not exposure_plan.gate


def test_the_ca_is_published_once_it_is_known() -> None:
    cluster = gateway()
    bare = replace(gen.world().facts(), exposure=THERE)
    intents = exposure_intents(gen.resolved(cluster), bare)
    assert "ConfigMap" not in {intent.resource.kind for intent in intents}


GOLDEN_CASES: dict[str, gen.Cluster] = {
    "ingress": ingress(
        className="nginx",
        path="/bao",
        pathType="Exact",
        tlsSecretName="edge-tls",
        annotations={"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
    ),
    "gateway": gateway(
        gatewayRef={"name": "public", "namespace": "edge"},
        listenerName="https",
        path="/bao",
        annotations={"example.com/team": "a"},
        backendTLS={"hostname": "inside.example.com"},
    ),
    "passthrough": gateway(tlsPassthrough=True),
    "service-monitor": monitor(
        {"scrapeProfile": "AllNodes"},
        interval="1m",
        labels={"release": "prometheus", labels.INSTANCE: "another"},
        annotations={"example.com/team": "a"},
        authorization={"credentialsSecret": {"name": "scrape"}},
        tlsConfig={"insecureSkipVerify": True},
    ),
    "service-monitor-of-the-leader": monitor(
        authorization={"credentialsSecret": {"name": "scrape", "key": "t"}},
        tlsConfig={"serverName": HOST, "caConfigMap": {"name": "ca", "key": "root.crt"}},
    ),
}


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_golden(case: str) -> None:
    cluster = GOLDEN_CASES[case]
    intents = exposure_intents(gen.resolved(cluster), seeing(cluster, THERE))
    text = yaml.safe_dump_all([intent.body for intent in intents], sort_keys=True)
    assert text == (GOLDEN / f"{case}.yaml").read_text(encoding="utf-8")


def intents(cluster: gen.Cluster, facts: ExposureFacts = THERE) -> dict[str, Object]:
    intents = exposure_intents(gen.resolved(cluster), seeing(cluster, facts))
    return {intent.resource.kind: intent.body for intent in intents}


@pytest.mark.parametrize("hostname", [None, "inside.example.com"])
def test_b19_policy_route_service_and_certificate_fit_each_other(hostname: str | None) -> None:
    cluster = gateway(backendTLS={"hostname": hostname} if hostname else {})
    objects, meant = intents(cluster), gen.resolved(cluster)
    (backend,) = objects["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    (target,) = objects["BackendTLSPolicy"]["spec"]["targetRefs"]
    validation = objects["BackendTLSPolicy"]["spec"]["validation"]
    services = {
        intent.key.name: intent.body
        for intent in plan(meant, seeing(cluster, THERE)).intents
        if intent.resource.kind == "Service"
    }
    assert backend["name"] == target["name"] == names.public_service("x")
    assert backend["port"] in [port["port"] for port in services[backend["name"]]["spec"]["ports"]]
    assert validation["hostname"] in meant.certificate_names
    assert HOST in meant.certificate_names
    (authority,) = validation["caCertificateRefs"]
    assert authority["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert objects["ConfigMap"]["data"]["ca.crt"]


def test_the_host_of_an_ingress_joins_the_certificate() -> None:
    assert HOST in gen.resolved(ingress()).certificate_names
    assert HOST not in gen.resolved(ingress(enabled=False)).certificate_names


@pytest.mark.parametrize("version", TLS_ROUTE.versions)
def test_a_route_has_the_available_api_version(version: str) -> None:
    resource = next(kind for kind in TLS_ROUTE.resources if kind.version == version)
    offers = {**ALL, TLS_ROUTE.definition: KindAvailability(True, (version,), resource)}
    route = intents(gateway(tlsPassthrough=True), ExposureFacts(offers))["TLSRoute"]
    assert route["apiVersion"] == f"gateway.networking.k8s.io/{version}"


def test_defaults_of_the_api_server_are_explicit() -> None:
    """Otherwise each new process would write the route again: `rules` are compared as a whole."""
    for kind in ("HTTPRoute", "BackendTLSPolicy"):
        assert "'group': ''" in repr(intents(gateway())[kind])
    route = intents(gateway())["HTTPRoute"]
    stored: dict[str, Any] = {**route, "status": {"parents": []}}
    assert contains(stored, route)
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    assert backend == {
        "group": "",
        "kind": "Service",
        "name": "x-public",
        "port": 8200,
        "weight": 1,
    }


def test_attack_t04_nothing_is_written_to_the_namespace_of_the_gateway() -> None:
    cluster = gateway(gatewayRef={"name": "public", "namespace": "kube-system"})
    exposure_plan = plan(gen.resolved(cluster), seeing(cluster, THERE))
    assert {
        intent.key.namespace for intent in (*exposure_plan.intents, *exposure_plan.optional)
    } == {gen.NAMESPACE}
    assert not any("ReferenceGrant" in intent.resource.kind for intent in exposure_plan.optional)


def test_prometheus_finds_one_service_and_the_right_pods() -> None:
    every = intents(monitor({"scrapeProfile": "AllNodes"}))
    leader = intents(monitor())
    for objects in (every, leader):
        selector = objects["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
        assert selector.items() <= objects["Service"]["metadata"]["labels"].items()
        (endpoint,) = objects["ServiceMonitor"]["spec"]["endpoints"]
        assert endpoint["port"] in [port["name"] for port in objects["Service"]["spec"]["ports"]]
        others = plan(gen.resolved(monitor()), seeing(monitor(), THERE)).intents
        assert not any(
            selector.items() <= intent.body["metadata"]["labels"].items() for intent in others
        )
        job = labels.component("x", "backup")
        assert not objects["Service"]["spec"]["selector"].items() <= job.items()
    assert leader["Service"]["spec"]["selector"][labels.SERVER_ACTIVE] == "true"
    assert labels.SERVER_ACTIVE not in every["Service"]["spec"]["selector"]
    assert every["Service"]["spec"]["publishNotReadyAddresses"] is True
    # It cannot change when the profile changes.
    assert "clusterIP" not in {**leader["Service"]["spec"], **every["Service"]["spec"]}


def test_attack_t11_labels_of_a_monitor_cannot_override_ours() -> None:
    theirs = labels.users_own(dict.fromkeys(labels.base("x"), "mine"))
    assert theirs
    objects = intents(monitor(labels=theirs))
    assert objects["ServiceMonitor"]["metadata"]["labels"] == labels.base("x")


def test_with_acme_tls_is_passed_through() -> None:
    def broken(cluster: gen.Cluster) -> set[str]:
        return {violation.rule for violation in violations(cluster.read())}

    assert "gateway-acme" in broken(gateway().with_spec(tls=ACME))
    assert "gateway-acme" not in broken(gateway(tlsPassthrough=True).with_spec(tls=ACME))
    assert "gateway-acme" not in broken(gateway(enabled=False).with_spec(tls=ACME))
    passed = gateway(tlsPassthrough=True).with_spec(tls=ACME, replicas=1)
    assert set(intents(passed)) == {"TLSRoute"}


RECHECKS: dict[str, tuple[gen.Cluster, Observed, float | None]] = {
    "no gateway": (gen.cluster(), seeing(gen.cluster(), READY), None),
    "ready": (gateway(), seeing(gateway(), READY), GATEWAY_RECHECK),
    "missing": (gateway(), seeing(gateway(), replace(READY, gateway=None)), GATEWAY_PENDING),
    "no API": (gateway(), seeing(gateway(), ExposureFacts(NONE)), None),
}


@pytest.mark.parametrize("sentence", RECHECKS)
def test_a_gateway_is_checked_again_and_an_absent_api_is_not(sentence: str) -> None:
    cluster, observed, after = RECHECKS[sentence]
    assert gateway_outcome(gen.resolved(cluster), observed) == Done(after)


def test_only_available_kinds_may_be_pruned() -> None:
    assert ExposureFacts(NONE).usable == ()
    assert NO_FACTS.usable == ()
    assert SERVICE_MONITOR.resources[0] in THERE.usable
