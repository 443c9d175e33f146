"""What is told of accounts, networks and ways in from outside. Rows of test_conditions."""

from dataclasses import replace

from contracts.records.exposure import ExposureFacts, IngressFacts
from runtime.outcome import Done, Outcome
from tests import gen
from tests.managers.networking.ways_in import NONE, READY, gateway, ingress, monitor

OLD = gen.cluster().initialized()
NAMED = gen.cluster(serviceAccount={"name": "mine", "annotations": {"a": "b"}}).initialized()
FINE = gen.running(OLD)
THERE = FINE.with_ways(READY)
ABSENT = FINE.with_ways(ExposureFacts(NONE))

# sentence: (cluster, world, outcome of the pass, condition, "status reason")
WAYS_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "an account of somebody else is used": (
        NAMED,
        FINE.with_account("mine", annotations={"a": "b"}),
        Done(),
        "ServiceAccountReady",
        "True ServiceAccountReused",
    ),
    "an account of somebody else lacks what the spec asks": (
        NAMED,
        FINE.with_account("mine"),
        Done(),
        "ServiceAccountReady",
        "False ServiceAccountAnnotationsMissing",
    ),
    "nobody knows where the API server listens": (
        OLD,
        FINE.reaching("10.96.0.1"),
        Done(),
        "APIServerNetworkReady",
        "Unknown APIServerEndpointIPsRecommended",
    ),
    "nobody knows the API server at all": (
        OLD,
        FINE.reaching(endpoints=("192.0.2.1",)),
        Done(),
        "APIServerNetworkReady",
        "False APIServerNetworkConfigurationInvalid",
    ),
    "the Ingress has an address": (
        ingress().initialized(),
        THERE,
        Done(),
        "IngressIntegrationReady",
        "True IngressIntegrationReady",
    ),
    "the Ingress has none": (
        ingress().initialized(),
        FINE.with_ways(replace(READY, ingress=IngressFacts(True, ()))),
        Done(),
        "IngressIntegrationReady",
        "False IngressAddressMissing",
    ),
    "the Gateway lets clients in": (
        gateway().initialized(),
        THERE,
        Done(),
        "GatewayIntegrationReady",
        "True GatewayIntegrationReady",
    ),
    "there is no Gateway API": (
        gateway().initialized(),
        ABSENT,
        Done(),
        "GatewayIntegrationReady",
        "False GatewayAPIMissing",
    ),
    "the ServiceMonitor is there": (
        monitor().initialized("2.5.0"),
        THERE,
        Done(),
        "ServiceMonitorReady",
        "True ServiceMonitorReady",
    ),
    "there is no Prometheus operator": (
        monitor().initialized("2.5.0"),
        ABSENT,
        Done(),
        "ServiceMonitorReady",
        "False MonitoringAPIMissing",
    ),
}
