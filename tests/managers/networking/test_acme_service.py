"""The Service at which an ACME server checks names, in mode ACME and in no other."""

from managers.networking.plan import plan
from runtime.apply.intent import Intent
from tests import gen

ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/dir"}}


def services(cluster: gen.Cluster) -> dict[str, Intent]:
    made = plan(gen.resolved(cluster), gen.world().facts())
    return {one.key.name: one for one in made.intents if one.resource.kind == "Service"}


def test_it_leads_both_ports_to_the_servers_ready_or_not() -> None:
    found = services(gen.cluster().wanting(replicas=1, tls=ACME))["x-acme"].body["spec"]
    assert [(port["port"], port["targetPort"]) for port in found["ports"]] == [
        (80, 8200),
        (443, 8200),
    ]
    assert found["publishNotReadyAddresses"] is True
    assert found["selector"]["openbao.org/workload-pool"] == "voter"


def test_there_is_none_in_other_modes() -> None:
    assert "x-acme" not in services(gen.cluster())
