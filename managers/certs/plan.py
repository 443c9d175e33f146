"""The certificate step: are CA and server certificate there and good, and what is done if not."""

from __future__ import annotations

from datetime import datetime, timedelta

from contracts import names
from contracts.desired import Effect, Plan
from contracts.observed import CertificateFacts, Observed, SecretFacts
from contracts.resolved import Resolved
from managers.certs.checks import Input, first_objection
from runtime.outcome import Blocked, Done, Wait

ISSUE_AUTHORITY = "issue-authority"
ISSUE_SERVER_CERTIFICATE = "issue-server-certificate"
# A timer further away than this would only sit in the queue: the next resync asks again.
LONGEST_TIMER = timedelta(days=1)


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Want both Secrets to be good, and ask to be woken when the certificate is to be renewed."""
    ca_name = names.tls_ca_secret(resolved.name)
    server_name = names.tls_server_secret(resolved.name)
    ca, server = observed.secrets.get(ca_name), observed.secrets.get(server_name)
    for secret in (ca, server):
        if secret is not None and not secret.mine:
            return _blocked("ForeignObject", _foreign(secret))
    if ca is None:
        return _without_authority(ca_name, server)
    if ca.certificate is None or not ca.certificate.key_matches:
        return _blocked(
            "TLSSecretInvalid",
            f"Secret {ca_name}: {ca.problem or 'its key does not fit its certificate'}. Restore "
            f"it, or delete it together with {server_name} to have a new authority issued",
        )
    if ca.certificate.not_after <= observed.now:
        return _blocked(
            "TLSSecretInvalid",
            f"Secret {ca_name}: the authority ended at {ca.certificate.not_after.isoformat()}. "
            f"Delete it together with {server_name} to have a new one issued (clients must then "
            "trust it)",
        )
    return _server(resolved, observed, ca.certificate, server)


def _without_authority(ca_name: str, server: SecretFacts | None) -> Plan:
    """Make the first authority; never a second one behind the back of those who trust the first."""
    if server is None:
        return _making("the certificate authority is made", Effect(ISSUE_AUTHORITY, ca_name))
    blocked = Blocked(
        "CASecretMissing",
        f"Secret {ca_name} is gone and {server.name} still carries its certificate. Restore it, "
        f"or delete {server.name} too to have a new authority issued (clients must then trust it)",
    )
    return Plan(outcome=blocked)


def _server(
    resolved: Resolved, observed: Observed, ca: CertificateFacts, server: SecretFacts | None
) -> Plan:
    name = names.tls_server_secret(resolved.name)
    if server is None:
        return _making("the server certificate is issued", Effect(ISSUE_SERVER_CERTIFICATE, name))
    given = Input(
        secret=server,
        authority=ca.fingerprint,
        authority_until=ca.not_after,
        names=frozenset(resolved.certificate_names),
        addresses=frozenset(resolved.certificate_addresses),
        now=observed.now,
        rotate_before=resolved.rotate_before,
    )
    objection = first_objection(given)
    if objection is not None:
        return _making(
            f"the server certificate is renewed: {objection[1]}",
            Effect(ISSUE_SERVER_CERTIFICATE, name),
        )
    return Plan(outcome=Done(_until_renewal(server, observed.now, resolved.rotate_before)))


def _until_renewal(server: SecretFacts, now: datetime, rotate_before: timedelta) -> float | None:
    if server.certificate is None:
        return None
    left = server.certificate.not_after - rotate_before - now
    # Nothing is left where the authority ends as soon: then a day is soon enough, too.
    return (min(left, LONGEST_TIMER) if left > timedelta(0) else LONGEST_TIMER).total_seconds()


def _making(message: str, effect: Effect) -> Plan:
    return Plan(effects=(effect,), outcome=Wait("PrerequisitesMissing", message, 0.0), gate=True)


def _blocked(reason: str, message: str) -> Plan:
    return Plan(outcome=Blocked(reason, message), gate=True)


def _foreign(secret: SecretFacts) -> str:
    return (
        f"Secret {secret.name} exists and belongs to {secret.owner}: it is neither used nor "
        "changed. Rename or delete it, or hand it over with the annotation openbao.org/adopt set "
        "to the name of the cluster"
    )
