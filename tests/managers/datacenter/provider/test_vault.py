"""The cluster of a datacenter, and what others are told of it."""

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


def test_the_cluster_has_the_spec_as_it_was_written() -> None:
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


def test_what_is_written_empty_stays() -> None:
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
def test_an_order_restarts_the_servers(fields: dict[str, Any], redeploy: str, runtime: Any) -> None:
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
def test_what_others_may_know(spec: dict[str, Any], vault: Vault) -> None:
    assert vault_of("vault", live(**spec)) == vault


@pytest.mark.parametrize(
    "broken",
    [live(version="none"), {**live(), "metadata": {"name": "x-public", "namespace": "n"}}],
    ids=["spec", "name"],
)
def test_nothing_is_told_of_one_that_cannot_be_read(broken: Object) -> None:
    assert vault_of("vault", broken) is None


def test_without_a_vault_or_its_authority_nothing_is_mounted() -> None:
    part = pod_part(())
    assert (part.env, part.mounts, part.volumes) == ((), (), ())
    assert facts(()) == {}
    part = pod_part((Vault("vault", ADDRESS, "", ("k/a",)),))
    variables = {item["name"]: item["value"] for item in part.env}
    assert variables == {"BAO_ADDR": ADDRESS, "BAO_ROLES": "k/a"}
    assert part.mounts == part.volumes == ()


SECOND = Vault("second", "https://second:8200", "", ("k/a", "k/b"))


def test_all_vaults_are_in_the_config_map_and_come_back() -> None:
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
    "told anew": ((PLAIN,), (NEWER,), {}, (NEWER,)),
    "not ready": ((PLAIN,), (), {"vault": live()}, (PLAIN,)),
    "gone": ((PLAIN,), (), {}, ()),
    "one of two is not ready": ((SECOND, PLAIN), (SECOND,), {"vault": live()}, (SECOND, PLAIN)),
    "what it says itself is newest": ((NEWER,), (NEWER,), {"vault": live()}, (PLAIN,)),
    "not to be read": ((PLAIN,), (), {"vault": live(version="none")}, (PLAIN,)),
    "nobody was told of it": ((), (), {"vault": live()}, ()),
}


@pytest.mark.parametrize(("before", "now", "there", "expected"), LASTING.values(), ids=LASTING)
def test_what_a_service_is_told_lasts(
    before: tuple[Vault, ...],
    now: tuple[Vault, ...],
    there: dict[str, Object],
    expected: tuple[Vault, ...],
) -> None:
    assert merge_vaults(facts(before), now, there) == expected
