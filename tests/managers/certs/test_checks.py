"""managers.certs.checks: the first reason to issue a server certificate again."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.records.secrets import CertificateFacts
from managers.certs.checks import CHAIN, CheckInput, first_problem
from tests import gen
from tests.gen.secrets import AUTHORITY

GOOD = gen.certificate(dns_names=["a", "b"], addresses=["127.0.0.1"])
FAR = gen.NOW + timedelta(days=3000)


def inputs_with(
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


# sentence: (inputs, the check that fails, a word of its message)
ROWS: dict[str, tuple[CheckInput, str | None, str]] = {
    "a good certificate": (inputs_with(GOOD), None, ""),
    "more names than required": (inputs_with(replace(GOOD, dns_names=frozenset("abc"))), None, ""),
    "content that cannot be read": (inputs_with(None, problem="it is soup"), "unusable", "soup"),
    "no certificate": (inputs_with(None), "unusable", "no certificate"),
    "a key of another certificate": (
        inputs_with(replace(GOOD, key_matches=False)),
        "unusable",
        "key",
    ),
    "another CA": (
        inputs_with(replace(GOOD, issuer_fingerprint="other")),
        "foreign-authority",
        "CA",
    ),
    "another CA bundle": (inputs_with(GOOD, trusted=("new",)), "other-bundle", "ca.crt"),
    "an unknown issuer": (
        inputs_with(replace(GOOD, issuer_fingerprint="")),
        "foreign-authority",
        "CA",
    ),
    "a missing name": (inputs_with(replace(GOOD, dns_names=frozenset("a"))), "missing-name", "b"),
    "a missing address": (
        inputs_with(replace(GOOD, ip_addresses=frozenset())),
        "missing-name",
        "127.0.0.1",
    ),
    "issued while the clock was ahead": (
        inputs_with(replace(GOOD, not_before=gen.NOW + timedelta(seconds=1))),
        "not-yet-valid",
        "2030-01-01T00:00:01",
    ),
    "valid from now on": (inputs_with(replace(GOOD, not_before=gen.NOW)), None, ""),
    "exactly the rotation period left": (inputs_with(until(days=30)), "near-expiry", "2030-01-31"),
    "a second more than that left": (inputs_with(until(days=30, seconds=1)), None, ""),
    "nothing left": (inputs_with(until(days=-1)), "near-expiry", "2029-12-31"),
    "a new certificate could not be valid for longer than the CA": (
        inputs_with(until(days=7), authority_until=gen.NOW + timedelta(days=7)),
        None,
        "",
    ),
    "a new certificate would be valid for a little longer": (
        inputs_with(until(days=7), authority_until=gen.NOW + timedelta(days=8)),
        "near-expiry",
        "2030-01-08",
    ),
    "several checks fail: the first one is reported": (
        inputs_with(replace(until(days=1), issuer_fingerprint="", key_matches=False)),
        "unusable",
        "key",
    ),
}


@pytest.mark.parametrize(("inputs", "check", "word"), ROWS.values(), ids=ROWS.keys())
def test_objection(inputs: CheckInput, check: str | None, word: str) -> None:
    problem = first_problem(inputs)
    assert (problem[0] if problem else None) == check
    assert word in (problem[1] if problem else "")


def test_every_check_has_an_example() -> None:
    failed = {check for _, check, _ in ROWS.values() if check is not None}
    assert failed == {name for name, _ in CHAIN}


@settings(deadline=None, max_examples=60)
@given(st.sets(st.sampled_from("abcd")), st.integers(0, 90))
def test_an_objection_is_that_of_the_first_failed_check(dns_names: set[str], days: int) -> None:
    certificate = replace(until(days=days), dns_names=frozenset(dns_names))
    inputs = inputs_with(certificate)
    failed = [(name, message) for name, check in CHAIN if (message := check(inputs)) is not None]
    assert first_problem(inputs) == (failed[0] if failed else None)
