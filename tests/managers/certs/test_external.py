"""managers.certs.external: problems of the user's certificates, and their messages."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.records.desired import Plan
from contracts.records.secrets import SecretFacts
from managers.certs.external import CHAIN
from managers.certs.plan import plan
from runtime.outcome import Blocked, Done, Wait
from tests import gen

CLUSTER = gen.cluster().with_spec(tls={"mode": "External"})
NAMED = gen.cluster().with_spec(
    tls={
        "mode": "External",
        "external": {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "roots"}},
    }
)
LEAF = gen.certificate(dns_names=["openbao-cluster-x.local"])
SERVER = replace(
    gen.secret("x-tls-server", of="nobody", certificate=LEAF),
    trusted=("root",),
    chain_root="root",
    chain_until=gen.NOW + timedelta(days=200),
)
AUTHORITY = replace(
    gen.secret("x-tls-ca", of="nobody", problem="ca.key missing"), trusted=("root", "more")
)


def plan_certificates(*secrets: SecretFacts, cluster: gen.Cluster = CLUSTER) -> Plan:
    world = gen.world().with_secrets(*secrets)
    return plan(gen.resolved(cluster, world), world.facts())


def leaf(**fields: object) -> SecretFacts:
    return replace(SERVER, certificate=replace(LEAF, **fields))  # type: ignore[arg-type]


# check: (Secrets, words of the message)
WRONG: dict[str, tuple[SecretFacts, SecretFacts, tuple[str, ...]]] = {
    "other-key": (leaf(key_matches=False), AUTHORITY, ("tls.key",)),
    "no-chain": (replace(SERVER, chain_problem="nobody signed it"), AUTHORITY, ("nobody signed",)),
    "no-authority": (SERVER, replace(AUTHORITY, trusted=()), ("x-tls-ca", "ca.crt")),
    "other-authority": (SERVER, replace(AUTHORITY, trusted=("more",)), ("x-tls-ca", "ca.crt")),
    "not-yet": (leaf(not_before=gen.LATER), AUTHORITY, ("2030-01-01T01:00",)),
    "expired": (leaf(not_after=gen.NOW), AUTHORITY, ("2030-01-01T00:00",)),
    "missing-name": (leaf(dns_names=frozenset({"a"})), AUTHORITY, ("openbao-cluster-x.local",)),
}


@pytest.mark.parametrize(("server", "authority", "words"), WRONG.values(), ids=WRONG.keys())
def test_b27_an_invalid_certificate_is_reported_and_no_pod_is_replaced(
    server: SecretFacts, authority: SecretFacts, words: tuple[str, ...]
) -> None:
    plan = plan_certificates(server, authority)
    assert isinstance(plan.outcome, Blocked)
    assert plan.outcome.reason == "TLSSecretInvalid"
    assert plan.gate
    assert plan.effects == ()
    assert "Secret x-tls-" in plan.outcome.message
    for word in words:
        assert word in plan.outcome.message


def test_every_check_has_a_case() -> None:
    assert set(WRONG) == {name for name, _ in CHAIN}


def test_content_that_cannot_be_read() -> None:
    plan = plan_certificates(
        gen.secret("x-tls-server", of="nobody", problem="it is soup"), AUTHORITY
    )
    assert "soup" in gen.expect(Blocked, plan.outcome).message


def test_an_expired_certificate_of_the_chain_is_an_error() -> None:
    plan = plan_certificates(replace(SERVER, chain_until=gen.NOW), AUTHORITY)
    assert isinstance(plan.outcome, Blocked)


def test_b27_valid_certificates_of_any_owner_are_used() -> None:
    plan = plan_certificates(SERVER, AUTHORITY)
    assert isinstance(plan.outcome, Done)
    assert (plan.intents, plan.effects, plan.gate) == ((), (), False)


def test_a_wildcard_matches_the_first_label() -> None:
    assert isinstance(
        plan_certificates(leaf(dns_names=frozenset({"*.local"})), AUTHORITY).outcome, Done
    )
    wrong = plan_certificates(leaf(dns_names=frozenset({"*"})), AUTHORITY)
    assert isinstance(wrong.outcome, Blocked)


@pytest.mark.parametrize(
    ("there", "absent"), [((), ("x-tls-server", "x-tls-ca")), ((SERVER,), ("x-tls-ca",))]
)
def test_missing_secrets_are_waited_for(
    there: tuple[SecretFacts, ...], absent: tuple[str, ...]
) -> None:
    plan = plan_certificates(*there)
    assert isinstance(plan.outcome, Wait)
    assert plan.outcome.reason == "TLSSecretMissing"
    assert plan.gate
    for name in absent:
        assert name in plan.outcome.message


def test_references_of_the_spec_are_used() -> None:
    plan = plan_certificates(SERVER, AUTHORITY, cluster=NAMED)
    assert "mine and roots" in gen.expect(Wait, plan.outcome).message
    there = plan_certificates(
        replace(SERVER, name="mine"), replace(AUTHORITY, name="roots"), cluster=NAMED
    )
    assert isinstance(there.outcome, Done)
