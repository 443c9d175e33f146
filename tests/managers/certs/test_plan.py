"""managers.certs.plan: the certificate that is issued next, and the timer of the next check."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from contracts.records.desired import Plan
from contracts.records.effects import (
    Effect,
    IssueAuthority,
    IssueServerCertificate,
    PrepareAuthority,
)
from contracts.records.secrets import CertificateFacts
from managers.certs.plan import LONGEST_TIMER, plan
from runtime.outcome import Blocked, Done, Wait, timer_of
from tests import gen
from tests.gen.worlds import authority_certificate, server_certificate

CLUSTER = gen.cluster()
RESOLVED = gen.resolved(CLUSTER)
CA = gen.secret("x-tls-ca", certificate=authority_certificate())
SERVER = gen.secret("x-tls-server", certificate=server_certificate(RESOLVED))
NOTHING = gen.world()
ISSUE_CA = IssueAuthority("x-tls-ca")
PREPARE = PrepareAuthority("x-tls-ca", "uid-x-tls-ca")
ISSUE_SERVER = IssueServerCertificate("x-tls-server")
RENEW_SERVER = IssueServerCertificate("x-tls-server", "uid-x-tls-server")


def plan_certificates(world: gen.World, cluster: gen.Cluster = CLUSTER) -> Plan:
    return plan(gen.resolved(cluster, world), world.facts())


def lasting(certificate: CertificateFacts, **left: float) -> CertificateFacts:
    return replace(certificate, not_after=gen.NOW + timedelta(**left))


def authority(**left: float) -> gen.World:
    """Return a CA that expires after this time, and a server certificate that expires with it."""
    return NOTHING.with_secrets(
        gen.secret("x-tls-ca", certificate=lasting(authority_certificate(), **left)),
        gen.secret("x-tls-server", certificate=lasting(server_certificate(RESOLVED), **left)),
    )


# sentence: (world, effects, reason, whether the pods are blocked)
ROWS: dict[str, tuple[gen.World, tuple[Effect, ...], str, bool]] = {
    "no Secret exists": (NOTHING, (ISSUE_CA,), "PrerequisitesMissing", True),
    "the CA exists": (NOTHING.with_secrets(CA), (ISSUE_SERVER,), "PrerequisitesMissing", True),
    "both exist": (NOTHING.with_secrets(CA, SERVER), (), "", False),
    "the CA was deleted and clients trust it": (
        NOTHING.with_secrets(SERVER),
        (),
        "CASecretMissing",
        False,
    ),
    "a foreign CA": (
        NOTHING.with_secrets(gen.secret("x-tls-ca", of="Shop s (uid 1)"), SERVER),
        (),
        "ForeignObject",
        True,
    ),
    "a foreign server certificate": (
        NOTHING.with_secrets(CA, gen.secret("x-tls-server", of="Shop s (uid 1)")),
        (),
        "ForeignObject",
        True,
    ),
    "an invalid CA": (
        NOTHING.with_secrets(gen.secret("x-tls-ca", problem="garbage"), SERVER),
        (),
        "TLSSecretInvalid",
        True,
    ),
    "a CA with the key of another": (
        NOTHING.with_secrets(
            gen.secret("x-tls-ca", certificate=replace(authority_certificate(), key_matches=False))
        ),
        (),
        "TLSSecretInvalid",
        True,
    ),
    "a CA that expires now": (authority(days=0), (PREPARE,), "PrerequisitesMissing", True),
    "an expired CA": (authority(days=-1), (PREPARE,), "PrerequisitesMissing", True),
    "an invalid server certificate": (
        NOTHING.with_secrets(CA, gen.secret("x-tls-server", problem="garbage")),
        (RENEW_SERVER,),
        "PrerequisitesMissing",
        True,
    ),
    "a server certificate that expires soon": (
        NOTHING.with_secrets(
            CA,
            gen.secret("x-tls-server", certificate=lasting(server_certificate(RESOLVED), days=29)),
        ),
        (RENEW_SERVER,),
        "PrerequisitesMissing",
        True,
    ),
    "a server certificate that expires with its CA": (authority(days=29), (PREPARE,), "", True),
}


@pytest.mark.parametrize(("world", "effects", "reason", "gate"), ROWS.values(), ids=ROWS.keys())
def test_row(world: gen.World, effects: tuple[Effect, ...], reason: str, gate: bool) -> None:
    plan = plan_certificates(world)
    assert plan.effects == effects
    assert ("" if isinstance(plan.outcome, Done) else plan.outcome.reason) == reason
    assert plan.gate is gate
    assert plan.intents == ()
    if effects:
        assert timer_of(plan.outcome) == 0.0


def test_the_message_names_a_missing_name() -> None:
    wider = CLUSTER.with_spec(tls={"extraSANs": ["bao.example.com"]})
    plan = plan_certificates(NOTHING.with_secrets(CA, SERVER), wider)
    assert plan.effects == (RENEW_SERVER,)
    assert "bao.example.com" in gen.expect(Wait, plan.outcome).message


@pytest.mark.parametrize("world", [row[0] for row in ROWS.values()], ids=ROWS.keys())
def test_a_message_names_the_secret(world: gen.World) -> None:
    outcome = plan_certificates(world).outcome
    if isinstance(outcome, Blocked):
        assert "Secret x-tls-" in outcome.message


# sentence: (time until the certificate expires, seconds until the next check)
TIMERS: dict[str, tuple[timedelta, float]] = {
    "a renewal in some months has the longest timer": (
        timedelta(days=300),
        LONGEST_TIMER.total_seconds(),
    ),
    "a renewal within a day": (timedelta(days=30, hours=3), 3 * 3600.0),
    "a renewal in a second": (timedelta(days=30, seconds=1), 1.0),
}


@pytest.mark.parametrize(("remaining", "after"), TIMERS.values(), ids=TIMERS.keys())
def test_timer(remaining: timedelta, after: float) -> None:
    certificate = lasting(server_certificate(RESOLVED), seconds=remaining.total_seconds())
    world = NOTHING.with_secrets(CA, gen.secret("x-tls-server", certificate=certificate))
    outcome = plan_certificates(world).outcome
    assert outcome == Done(after)


def test_the_timer_ends_when_the_renewal_is_due() -> None:
    """The pass at that time must renew the certificate; otherwise it would requeue forever."""
    certificate = lasting(server_certificate(RESOLVED), days=30, seconds=10)
    world = NOTHING.with_secrets(CA, gen.secret("x-tls-server", certificate=certificate))
    outcome = gen.expect(Done, plan_certificates(world).outcome)
    assert outcome.recheck_after is not None
    due: datetime = gen.NOW + timedelta(seconds=outcome.recheck_after)
    assert plan_certificates(world.at(due)).effects == (RENEW_SERVER,)


def test_the_message_names_the_problem_of_the_ca() -> None:
    invalid = gen.secret("x-tls-ca", problem="its content is soup")
    mismatch = replace(authority_certificate(), key_matches=False)
    for ca, word in (
        (invalid, "soup"),
        (gen.secret("x-tls-ca", certificate=mismatch), "key does not match"),
    ):
        assert (
            word in gen.expect(Blocked, plan_certificates(NOTHING.with_secrets(ca)).outcome).message
        )


GARBAGE = gen.secret("x-tls-server", problem="garbage")
# sentence: (world, the Secret and the cause in the message, whether the pods are blocked)
UNWRITABLE: dict[str, tuple[gen.World, tuple[str, str], bool]] = {
    "an immutable server certificate": (
        NOTHING.with_secrets(CA, replace(GARBAGE, immutable=True)),
        ("x-tls-server: garbage", "immutable"),
        True,
    ),
    "a server certificate in a Secret of another type": (
        NOTHING.with_secrets(CA, replace(GARBAGE, type="Opaque")),
        ("x-tls-server: garbage", "type is Opaque"),
        True,
    ),
    "an immutable CA that must be rotated": (
        NOTHING.with_secrets(
            *(replace(secret, immutable=True) for secret in authority(days=29).secrets)
        ),
        ("x-tls-ca: the CA", "immutable"),
        False,
    ),
    "an immutable CA that has expired": (
        NOTHING.with_secrets(
            *(replace(secret, immutable=True) for secret in authority(days=-1).secrets)
        ),
        ("x-tls-ca: the CA", "immutable"),
        False,
    ),
}


@pytest.mark.parametrize(("world", "words", "blocks"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_secret_that_cannot_be_changed_is_reported(
    world: gen.World, words: tuple[str, str], blocks: bool
) -> None:
    planned = plan_certificates(world)
    blocked = gen.expect(Blocked, planned.outcome)
    assert (planned.effects, planned.gate, blocked.reason) == ((), blocks, "TLSSecretInvalid")
    assert all(word in blocked.message for word in words)
    assert "Delete it" in blocked.message or "Create it again" in blocked.message


def test_a_secret_that_needs_no_change_may_be_immutable() -> None:
    fixed = (replace(secret, immutable=True) for secret in (CA, SERVER))
    assert isinstance(plan_certificates(NOTHING.with_secrets(*fixed)).outcome, Done)
