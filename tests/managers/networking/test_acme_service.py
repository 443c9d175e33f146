"""The Service for the challenges of an ACME server, which exists in mode ACME only."""

from managers.networking.plan import plan
from runtime.apply.intent import Intent
from tests import gen

ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/dir"}}


def services(cluster: gen.Cluster) -> dict[str, Intent]:
    network_plan = plan(gen.resolved(cluster), gen.world().facts())
    return {
        intent.key.name: intent
        for intent in network_plan.intents
        if intent.resource.kind == "Service"
    }


def test_the_service_maps_both_ports_to_servers_ready_or_not() -> None:
    spec = services(gen.cluster().with_spec(replicas=1, tls=ACME))["x-acme"].body["spec"]
    assert [(port["port"], port["targetPort"]) for port in spec["ports"]] == [
        (80, 8200),
        (443, 8200),
    ]
    assert spec["publishNotReadyAddresses"] is True
    assert spec["selector"]["openbao.org/workload-pool"] == "voter"


def test_other_modes_have_no_acme_service() -> None:
    assert "x-acme" not in services(gen.cluster())
