"""managers.certs.plan: which certificate is made now, and when we look again."""

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
MEANT = gen.resolved(CLUSTER)
CA = gen.secret("x-tls-ca", certificate=authority_certificate())
SERVER = gen.secret("x-tls-server", certificate=server_certificate(MEANT))
NOTHING = gen.world()
ISSUE_CA = IssueAuthority("x-tls-ca")
PREPARE = PrepareAuthority("x-tls-ca", "uid-x-tls-ca")
ISSUE_SERVER = IssueServerCertificate("x-tls-server")


def planned(world: gen.World, cluster: gen.Cluster = CLUSTER) -> Plan:
    return plan(gen.resolved(cluster, world), world.facts())


def lasting(certificate: CertificateFacts, **left: float) -> CertificateFacts:
    return replace(certificate, not_after=gen.NOW + timedelta(**left))


def authority(**left: float) -> gen.World:
    """Our authority with that much left, and a server certificate that ends with it."""
    return NOTHING.with_secrets(
        gen.secret("x-tls-ca", certificate=lasting(authority_certificate(), **left)),
        gen.secret("x-tls-server", certificate=lasting(server_certificate(MEANT), **left)),
    )


# sentence: (world, effects, reason, are the pods held back)
ROWS: dict[str, tuple[gen.World, tuple[Effect, ...], str, bool]] = {
    "nothing is there": (NOTHING, (ISSUE_CA,), "PrerequisitesMissing", True),
    "the authority is there": (
        NOTHING.with_secrets(CA),
        (ISSUE_SERVER,),
        "PrerequisitesMissing",
        True,
    ),
    "both are there": (NOTHING.with_secrets(CA, SERVER), (), "", False),
    "the authority is gone and clients trust it": (
        NOTHING.with_secrets(SERVER),
        (),
        "CASecretMissing",
        False,
    ),
    "somebody else's authority": (
        NOTHING.with_secrets(gen.secret("x-tls-ca", of="Shop s (uid 1)"), SERVER),
        (),
        "ForeignObject",
        True,
    ),
    "somebody else's server certificate": (
        NOTHING.with_secrets(CA, gen.secret("x-tls-server", of="Shop s (uid 1)")),
        (),
        "ForeignObject",
        True,
    ),
    "an authority that cannot be read": (
        NOTHING.with_secrets(gen.secret("x-tls-ca", problem="garbage"), SERVER),
        (),
        "TLSSecretInvalid",
        True,
    ),
    "an authority with the key of another": (
        NOTHING.with_secrets(
            gen.secret("x-tls-ca", certificate=replace(authority_certificate(), key_matches=False))
        ),
        (),
        "TLSSecretInvalid",
        True,
    ),
    "an authority that ends now": (authority(days=0), (PREPARE,), "PrerequisitesMissing", True),
    "an authority that has ended": (authority(days=-1), (PREPARE,), "PrerequisitesMissing", True),
    "a server certificate that cannot be read": (
        NOTHING.with_secrets(CA, gen.secret("x-tls-server", problem="garbage")),
        (ISSUE_SERVER,),
        "PrerequisitesMissing",
        True,
    ),
    "a server certificate that ends soon": (
        NOTHING.with_secrets(
            CA, gen.secret("x-tls-server", certificate=lasting(server_certificate(MEANT), days=29))
        ),
        (ISSUE_SERVER,),
        "PrerequisitesMissing",
        True,
    ),
    "a server certificate that cannot live longer than its authority": (
        authority(days=29),
        (PREPARE,),
        "",
        True,
    ),
}


@pytest.mark.parametrize(("world", "effects", "reason", "gate"), ROWS.values(), ids=ROWS.keys())
def test_row(world: gen.World, effects: tuple[Effect, ...], reason: str, gate: bool) -> None:
    made = planned(world)
    assert made.effects == effects
    assert ("" if isinstance(made.outcome, Done) else made.outcome.reason) == reason
    assert made.gate is gate
    assert made.intents == ()
    if effects:
        assert timer_of(made.outcome) == 0.0


def test_a_new_name_is_asked_for_by_name() -> None:
    wider = CLUSTER.wanting(tls={"extraSANs": ["bao.example.com"]})
    made = planned(NOTHING.with_secrets(CA, SERVER), wider)
    assert made.effects == (ISSUE_SERVER,)
    assert "bao.example.com" in gen.expect(Wait, made.outcome).message


@pytest.mark.parametrize("world", [row[0] for row in ROWS.values()], ids=ROWS.keys())
def test_a_message_names_the_secret(world: gen.World) -> None:
    outcome = planned(world).outcome
    if isinstance(outcome, Blocked):
        assert "Secret x-tls-" in outcome.message


# sentence: (time left of the certificate, seconds until the next look)
TIMERS: dict[str, tuple[timedelta, float]] = {
    "a renewal that is far away needs no timer of its own": (
        timedelta(days=300),
        LONGEST_TIMER.total_seconds(),
    ),
    "a renewal within a day is met": (timedelta(days=30, hours=3), 3 * 3600.0),
    "a renewal in a second is met": (timedelta(days=30, seconds=1), 1.0),
}


@pytest.mark.parametrize(("left", "after"), TIMERS.values(), ids=TIMERS.keys())
def test_timer(left: timedelta, after: float) -> None:
    certificate = lasting(server_certificate(MEANT), seconds=left.total_seconds())
    world = NOTHING.with_secrets(CA, gen.secret("x-tls-server", certificate=certificate))
    outcome = planned(world).outcome
    assert outcome == Done(after)


def test_the_timer_ends_when_the_renewal_is_due() -> None:
    """Waking at the very moment must renew, or the pass would wake itself for ever."""
    certificate = lasting(server_certificate(MEANT), days=30, seconds=10)
    world = NOTHING.with_secrets(CA, gen.secret("x-tls-server", certificate=certificate))
    outcome = gen.expect(Done, planned(world).outcome)
    assert outcome.recheck_after is not None
    woken: datetime = gen.NOW + timedelta(seconds=outcome.recheck_after)
    assert planned(world.at(woken)).effects == (ISSUE_SERVER,)


def test_what_is_wrong_with_an_authority_is_told() -> None:
    spoiled = gen.secret("x-tls-ca", problem="its content is soup")
    stranger = replace(authority_certificate(), key_matches=False)
    for ca, word in (
        (spoiled, "soup"),
        (gen.secret("x-tls-ca", certificate=stranger), "key does not match"),
    ):
        assert word in gen.expect(Blocked, planned(NOTHING.with_secrets(ca)).outcome).message
