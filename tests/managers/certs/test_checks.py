"""managers.certs.checks: the first reason to issue a server certificate anew."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.records.secrets import CertificateFacts
from managers.certs.checks import CHAIN, CheckInput, first_objection
from tests import gen
from tests.gen.secrets import AUTHORITY

GOOD = gen.certificate(dns_names=["a", "b"], addresses=["127.0.0.1"])
FAR = gen.NOW + timedelta(days=3000)


def given_that(
    certificate: CertificateFacts | None,
    *,
    problem: str = "",
    authority_until: datetime = FAR,
    trusted: tuple[str, ...] = (),
) -> CheckInput:
    return CheckInput(
        secret=gen.secret("s", certificate=certificate, problem=problem),
        authority=AUTHORITY,
        authority_until=authority_until,
        trusted=trusted,
        names=frozenset({"a", "b"}),
        addresses=frozenset({"127.0.0.1"}),
        now=gen.NOW,
        rotate_before=timedelta(days=30),
    )


def until(**left: float) -> CertificateFacts:
    return replace(GOOD, not_after=gen.NOW + timedelta(**left))


# sentence: (what is looked at, the check that objects, a word of what it says)
ROWS: dict[str, tuple[CheckInput, str | None, str]] = {
    "a good certificate": (given_that(GOOD), None, ""),
    "more names than asked for": (given_that(replace(GOOD, dns_names=frozenset("abc"))), None, ""),
    "content that cannot be read": (given_that(None, problem="it is soup"), "unusable", "soup"),
    "no certificate at all": (given_that(None), "unusable", "no certificate"),
    "a key of another certificate": (
        given_that(replace(GOOD, key_matches=False)),
        "unusable",
        "key",
    ),
    "another authority": (
        given_that(replace(GOOD, issuer_fingerprint="other")),
        "foreign-authority",
        "CA",
    ),
    "another bundle beside it": (given_that(GOOD, trusted=("new",)), "other-bundle", "ca.crt"),
    "no known authority": (
        given_that(replace(GOOD, issuer_fingerprint="")),
        "foreign-authority",
        "CA",
    ),
    "a name too few": (given_that(replace(GOOD, dns_names=frozenset("a"))), "missing-name", "b"),
    "an address too few": (
        given_that(replace(GOOD, ip_addresses=frozenset())),
        "missing-name",
        "127.0.0.1",
    ),
    "exactly the rotation period left": (given_that(until(days=30)), "near-expiry", "2030-01-31"),
    "a second more than that left": (given_that(until(days=30, seconds=1)), None, ""),
    "nothing left": (given_that(until(days=-1)), "near-expiry", "2029-12-31"),
    "a certificate that lives as long as its authority cannot live longer": (
        given_that(until(days=7), authority_until=gen.NOW + timedelta(days=7)),
        None,
        "",
    ),
    "one that could live longer is renewed, even if not by much": (
        given_that(until(days=7), authority_until=gen.NOW + timedelta(days=8)),
        "near-expiry",
        "2030-01-08",
    ),
    "of several objections the first of the chain is told": (
        given_that(replace(until(days=1), issuer_fingerprint="", key_matches=False)),
        "unusable",
        "key",
    ),
}


@pytest.mark.parametrize(("it", "check", "word"), ROWS.values(), ids=ROWS.keys())
def test_objection(it: CheckInput, check: str | None, word: str) -> None:
    found = first_objection(it)
    assert (found[0] if found else None) == check
    assert word in (found[1] if found else "")


def test_every_check_objects_in_some_row() -> None:
    told = {check for _, check, _ in ROWS.values() if check is not None}
    assert told == {name for name, _ in CHAIN}


@settings(deadline=None, max_examples=60)
@given(st.sets(st.sampled_from("abcd")), st.integers(0, 90))
def test_the_chain_objects_exactly_when_one_of_its_checks_does(
    dns_names: set[str], days: int
) -> None:
    certificate = replace(until(days=days), dns_names=frozenset(dns_names))
    it = given_that(certificate)
    objections = [(name, said) for name, check in CHAIN if (said := check(it)) is not None]
    assert first_objection(it) == (objections[0] if objections else None)
