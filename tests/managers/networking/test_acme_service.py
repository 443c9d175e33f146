"""The Service at which an ACME server checks names, in mode ACME and in no other."""

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


def test_it_leads_both_ports_to_the_servers_ready_or_not() -> None:
    spec = services(gen.cluster().with_spec(replicas=1, tls=ACME))["x-acme"].body["spec"]
    assert [(port["port"], port["targetPort"]) for port in spec["ports"]] == [
        (80, 8200),
        (443, 8200),
    ]
    assert spec["publishNotReadyAddresses"] is True
    assert spec["selector"]["openbao.org/workload-pool"] == "voter"


def test_there_is_none_in_other_modes() -> None:
    assert "x-acme" not in services(gen.cluster())
