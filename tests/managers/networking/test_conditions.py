"""managers.networking.conditions: Ingress and ServiceMonitor."""

from dataclasses import replace

import pytest

from contracts.records.exposure import NO_FACTS, ExposureFacts, IngressFacts
from managers.networking.conditions import ingress_ready, monitor_ready
from managers.networking.exposure_spec import exposure_spec
from tests import gen
from tests.managers.networking.exposure_objects import ALL, NONE, READY, ingress, monitor

UNPUBLISHED = replace(READY, ingress=IngressFacts(True))

# sentence: (cluster, facts, "status reason")
INGRESS_ROWS: dict[str, tuple[gen.Cluster, ExposureFacts, str]] = {
    "an address is published": (ingress(), READY, "True IngressIntegrationReady"),
    "none is published": (ingress(), UNPUBLISHED, "False IngressAddressMissing"),
    "none is needed": (
        ingress(readinessMode="Created"),
        UNPUBLISHED,
        "True IngressIntegrationReady",
    ),
    "not created yet": (ingress(), NO_FACTS, "Unknown Reconciling"),
    "not created yet and no address needed": (
        ingress(readinessMode="Created"),
        NO_FACTS,
        "Unknown Reconciling",
    ),
    "a foreign Ingress": (
        ingress(readinessMode="Created"),
        replace(READY, ingress=IngressFacts(False, ("192.0.2.1",))),
        "False ForeignObject",
    ),
}


@pytest.mark.parametrize("sentence", INGRESS_ROWS)
def test_the_condition_of_an_ingress(sentence: str) -> None:
    cluster, facts, expected = INGRESS_ROWS[sentence]
    read = cluster.read()
    update = gen.present(ingress_ready(read.spec, exposure_spec(read).ingress, facts))
    assert f"{update.status} {update.reason}" == expected


MONITOR_ROWS: dict[str, tuple[ExposureFacts, str]] = {
    "there": (READY, "True ServiceMonitorReady"),
    "not created yet": (ExposureFacts(ALL), "Unknown Reconciling"),
    "no Prometheus operator": (ExposureFacts(NONE), "False MonitoringAPIMissing"),
    "not observed yet": (NO_FACTS, "Unknown Reconciling"),
}


@pytest.mark.parametrize("sentence", MONITOR_ROWS)
def test_the_condition_of_a_service_monitor(sentence: str) -> None:
    facts, expected = MONITOR_ROWS[sentence]
    update = gen.present(monitor_ready(exposure_spec(monitor().read()).monitor, facts))
    assert f"{update.status} {update.reason}" == expected


def test_unrequested_conditions_are_not_reported() -> None:
    spec = gen.cluster().read().spec
    assert ingress_ready(spec, None, READY) is None
    assert monitor_ready(None, READY) is None
