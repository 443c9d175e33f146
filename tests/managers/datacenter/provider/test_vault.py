"""The cluster of a datacenter, and its facts for dependents."""

from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.workload_records import Vault
from contracts.naming import labels
from managers.datacenter.provider.vault import (
    cluster,
    facts,
    merge_vaults,
    parse_facts,
    pod_part,
    vault_of,
)
from runtime.types import Object
from tests.managers.datacenter import bodies

SPEC = {"version": "2.4.0", "replicas": 3, "storage": {"size": "1Gi"}}
ADDRESS = "https://fra1-vault-public.dc-fra1.svc:8200"
PLAIN = Vault("vault", ADDRESS, "fra1-vault-tls-ca")


def live(**spec: Any) -> Object:
    return {"metadata": {"name": "fra1-vault", "namespace": "dc-fra1"}, "spec": {**SPEC, **spec}}


def spec_of(redeploy: str = "", **openbao: Any) -> Object:
    body = bodies.openbao("vault", openbao={**SPEC, **openbao})
    return dict(
        cluster(bodies.record(bodies.desired_service(body, redeploy=redeploy))).body["spec"]
    )


def test_the_cluster_has_the_spec_of_the_body() -> None:
    body = bodies.openbao("vault", openbao=SPEC, labels={"team": "a", labels.CLUSTER: "x"})
    record = bodies.record(bodies.desired_service(body))
    intent = cluster(record)
    assert intent.resource == CLUSTERS
    assert intent.body == {
        "apiVersion": "openbao.org/v1alpha1",
        "kind": "OpenBaoCluster",
        "metadata": {
            "name": "fra1-vault",
            "namespace": "dc-fra1",
            "labels": {
                "team": "a",
                labels.MANAGED_BY: labels.OPERATOR,
                labels.NAME: "vault",
                labels.INSTANCE: "fra1",
                names.SYSTEM: "true",
                names.DATACENTER: "fra1",
                names.BOOTSTRAP: "vault",
            },
            "annotations": {names.DESIRED_HASH: record.desired.digest},
        },
        "spec": SPEC,
    }


def test_empty_fields_are_kept() -> None:
    request = {"name": "a", "data": {"deep": {"policy": ""}}}
    self_init = {"enabled": True, "requests": [request]}
    given: dict[str, Any] = {"selfInit": self_init, "tls": {}, "audit": []}
    assert spec_of(**given) == {**SPEC, **given}


@pytest.mark.parametrize(
    ("fields", "redeploy", "runtime"),
    [
        ({}, "", None),
        ({}, "again", {"restartAt": "again"}),
        ({"runtime": {"other": 1}}, "again", {"other": 1, "restartAt": "again"}),
        ({"runtime": {"restartAt": "mine"}}, "again", {"restartAt": "mine"}),
        ({"maintenance": {"restartAt": "mine"}}, "again", None),
    ],
)
def test_a_redeploy_token_restarts_the_servers(
    fields: dict[str, Any], redeploy: str, runtime: Any
) -> None:
    assert spec_of(redeploy, **fields).get("runtime") == runtime


def request(path: str) -> dict[str, Any]:
    return {"name": path.replace("/", "_"), "operation": "create", "path": path}


FACTS: dict[str, tuple[dict[str, Any], Vault]] = {
    "plain": ({}, PLAIN),
    "external": ({"tls": {"mode": "External"}}, PLAIN),
    "external with a name": (
        {"tls": {"mode": "External", "external": {"caSecretRef": {"name": "our-ca"}}}},
        Vault("vault", ADDRESS, "our-ca"),
    ),
    "acme": (
        {"tls": {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/d"}}},
        Vault("vault", ADDRESS, ""),
    ),
    "roles": (
        {
            "selfInit": {
                "enabled": True,
                "requests": [
                    request("auth/kubernetes/role/writer"),
                    request("auth/kubernetes/role/reader"),
                    request("auth/team/jwt/role/reader"),
                    request("auth/kubernetes/config"),
                    request("auth/kubernetes/role/reader/secret-id"),
                    request("sys/auth/kubernetes"),
                    request("identity/oidc/role/x"),
                ],
            }
        },
        Vault(
            "vault",
            ADDRESS,
            "fra1-vault-tls-ca",
            ("kubernetes/reader", "kubernetes/writer", "team/jwt/reader"),
        ),
    ),
}


@pytest.mark.parametrize(("spec", "vault"), FACTS.values(), ids=FACTS)
def test_the_facts_of_a_vault(spec: dict[str, Any], vault: Vault) -> None:
    assert vault_of("vault", live(**spec)) == vault


@pytest.mark.parametrize(
    "broken",
    [live(version="none"), {**live(), "metadata": {"name": "x-public", "namespace": "n"}}],
    ids=["spec", "name"],
)
def test_an_unreadable_vault_has_no_facts(broken: Object) -> None:
    assert vault_of("vault", broken) is None


def test_without_a_ca_nothing_is_mounted() -> None:
    part = pod_part(())
    assert (part.env, part.mounts, part.volumes) == ((), (), ())
    assert facts(()) == {}
    part = pod_part((Vault("vault", ADDRESS, "", ("k/a",)),))
    variables = {item["name"]: item["value"] for item in part.env}
    assert variables == {"BAO_ADDR": ADDRESS, "BAO_ROLES": "k/a"}
    assert part.mounts == part.volumes == ()


SECOND = Vault("second", "https://second:8200", "", ("k/a", "k/b"))


def test_vaults_survive_a_round_trip_through_the_config_map() -> None:
    data = facts((SECOND, PLAIN))
    assert data == {
        "BAO_ADDR": "https://second:8200",
        "second.address": "https://second:8200",
        "second.ca-secret": "",
        "second.roles": "k/a,k/b",
        "vault.address": ADDRESS,
        "vault.ca-secret": "fra1-vault-tls-ca",
        "vault.roles": "",
    }
    assert parse_facts(data) == (SECOND, PLAIN)
    assert parse_facts({}) == ()


NEWER = Vault("vault", "https://newer", "ca")
LASTING: dict[str, tuple[tuple[Vault, ...], tuple[Vault, ...], dict[str, Object], Any]] = {
    "nothing": ((), (), {}, ()),
    "told": ((), (NEWER,), {}, (NEWER,)),
    "changed": ((PLAIN,), (NEWER,), {}, (NEWER,)),
    "not ready": ((PLAIN,), (), {"vault": live()}, (PLAIN,)),
    "gone": ((PLAIN,), (), {}, ()),
    "one of two not ready": ((SECOND, PLAIN), (SECOND,), {"vault": live()}, (SECOND, PLAIN)),
    "the live object is newer": ((NEWER,), (NEWER,), {"vault": live()}, (PLAIN,)),
    "unreadable": ((PLAIN,), (), {"vault": live(version="none")}, (PLAIN,)),
    "never ready": ((), (), {"vault": live()}, ()),
}


@pytest.mark.parametrize(("before", "now", "there", "expected"), LASTING.values(), ids=LASTING)
def test_facts_of_an_unready_vault_are_kept(
    before: tuple[Vault, ...],
    now: tuple[Vault, ...],
    there: dict[str, Object],
    expected: tuple[Vault, ...],
) -> None:
    assert merge_vaults(facts(before), now, there) == expected
