"""Rows of test_conditions about accounts, networks and exposure."""

from dataclasses import replace

from contracts.records.exposure import ExposureFacts, IngressFacts
from tests import gen
from tests.managers.cluster.passes import Row
from tests.managers.networking.ways_in import NONE, READY, gateway, ingress, monitor

OLD = gen.cluster().initialized()
NAMED = gen.cluster(serviceAccount={"name": "mine", "annotations": {"a": "b"}}).initialized()
FINE = gen.running(OLD)
THERE = FINE.with_exposure(READY)
ABSENT = FINE.with_exposure(ExposureFacts(NONE))

WAYS_ROWS = {
    "an account of somebody else is used": Row(
        NAMED,
        FINE.with_account("mine", annotations={"a": "b"}),
        "ServiceAccountReady=True ServiceAccountReused",
    ),
    "an account of somebody else lacks what the spec asks": Row(
        NAMED,
        FINE.with_account("mine"),
        "ServiceAccountReady=False ServiceAccountAnnotationsMissing",
    ),
    "nobody knows where the API server listens": Row(
        OLD,
        FINE.reaching("10.96.0.1"),
        "APIServerNetworkReady=Unknown APIServerEndpointIPsRecommended",
    ),
    "nobody knows the API server at all": Row(
        OLD,
        FINE.reaching(endpoints=("192.0.2.1",)),
        "APIServerNetworkReady=False APIServerNetworkConfigurationInvalid",
    ),
    "the Ingress has an address": Row(
        ingress().initialized(), THERE, "IngressIntegrationReady=True IngressIntegrationReady"
    ),
    "the Ingress has none": Row(
        ingress().initialized(),
        FINE.with_exposure(replace(READY, ingress=IngressFacts(True, ()))),
        "IngressIntegrationReady=False IngressAddressMissing",
    ),
    "the Gateway lets clients in": Row(
        gateway().initialized(), THERE, "GatewayIntegrationReady=True GatewayIntegrationReady"
    ),
    "there is no Gateway API": Row(
        gateway().initialized(), ABSENT, "GatewayIntegrationReady=False GatewayAPIMissing"
    ),
    "the ServiceMonitor is there": Row(
        monitor().initialized("2.5.0"), THERE, "ServiceMonitorReady=True ServiceMonitorReady"
    ),
    "there is no Prometheus operator": Row(
        monitor().initialized("2.5.0"), ABSENT, "ServiceMonitorReady=False MonitoringAPIMissing"
    ),
}
