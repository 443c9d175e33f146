"""Mode External: the user provides the certificates, and the operator only validates them. Pure.

While they are invalid, the operator does not change the pods: the servers keep the certificate in
memory. Called by `managers.certs.plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from contracts.records.desired import Plan
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, SecretFacts
from runtime.outcome import Blocked, Done, Wait


@dataclass(frozen=True, slots=True)
class ExternalCheckInput:
    """Inputs of the checks."""

    server: SecretFacts
    certificate: CertificateFacts
    authority: SecretFacts
    server_name: str
    now: datetime


Check = Callable[[ExternalCheckInput], str | None]


def other_key(inputs: ExternalCheckInput) -> str | None:
    """The key does not match the certificate."""
    if inputs.certificate.key_matches:
        return None
    return f"Secret {inputs.server.name}: tls.key does not match tls.crt: replace both"


def no_chain(inputs: ExternalCheckInput) -> str | None:
    """Clients that trust ca.crt would reject the certificate."""
    if not inputs.server.chain_problem:
        return None
    return (
        f"Secret {inputs.server.name}: {inputs.server.chain_problem}. Append the intermediate CAs "
        "to tls.crt, and store the root CA in ca.crt"
    )


def no_authority(inputs: ExternalCheckInput) -> str | None:
    """The Secret for clients has no CA."""
    if inputs.authority.trusted:
        return None
    problem = inputs.authority.problem or "ca.crt missing"
    return f"Secret {inputs.authority.name}: {problem}. It requires the CA in ca.crt"


def other_authority(inputs: ExternalCheckInput) -> str | None:
    """The Secret for clients does not have the CA of the servers."""
    if inputs.server.chain_root in inputs.authority.trusted:
        return None
    return (
        f"Secret {inputs.authority.name}: its ca.crt does not contain the CA of tls.crt in Secret "
        f"{inputs.server.name}. Add that CA to it"
    )


def not_yet(inputs: ExternalCheckInput) -> str | None:
    """The certificate is not valid yet."""
    if inputs.certificate.not_before <= inputs.now:
        return None
    not_before = inputs.certificate.not_before.isoformat()
    return f"Secret {inputs.server.name}: tls.crt is not valid before {not_before}"


def expired(inputs: ExternalCheckInput) -> str | None:
    """The certificate or another one of its chain has expired."""
    until = min(filter(None, (inputs.certificate.not_after, inputs.server.chain_until)))
    if until > inputs.now:
        return None
    return (
        f"Secret {inputs.server.name}: tls.crt, or a certificate of its chain, expired at "
        f"{until.isoformat()}: replace it"
    )


def missing_name(inputs: ExternalCheckInput) -> str | None:
    """The certificate lacks the name that peers and the operator verify."""
    if _covers(inputs.certificate.dns_names, inputs.server_name):
        return None
    return (
        f"Secret {inputs.server.name}: the DNS subject alternative names of tls.crt do not include "
        f"{inputs.server_name}, which the operator and joining servers verify. Issue it with that "
        "name"
    )


CHAIN: tuple[tuple[str, Check], ...] = (
    ("other-key", other_key),
    ("no-chain", no_chain),
    ("no-authority", no_authority),
    ("other-authority", other_authority),
    ("not-yet", not_yet),
    ("expired", expired),
    ("missing-name", missing_name),
)


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Require both Secrets, and check that they are valid together."""
    secret_names = (resolved.tls.server_secret or "", resolved.tls.authority_secret or "")
    server, authority = (observed.secrets.get(name) for name in secret_names)
    if server is None or authority is None:
        missing = [name for name in secret_names if name not in observed.secrets]
        message = (
            f"Missing Secrets: {' and '.join(missing)}. With tls.mode External you create them, "
            "with tls.crt, tls.key and ca.crt for the servers and with ca.crt for clients"
        )
        return Plan(outcome=Wait("TLSSecretMissing", message), gate=True)
    if server.certificate is None:
        problem = server.problem or "it contains no certificate"
        return _invalid(f"Secret {server.name}: {problem}. It requires tls.crt, tls.key and ca.crt")
    check_input = ExternalCheckInput(
        server, server.certificate, authority, resolved.tls.server_name, observed.now
    )
    for _, check in CHAIN:
        if (violation := check(check_input)) is not None:
            return _invalid(violation)
    return Plan(outcome=Done())


def _invalid(message: str) -> Plan:
    return Plan(outcome=Blocked("TLSSecretInvalid", message), gate=True)


def _covers(names: frozenset[str], server_name: str) -> bool:
    """Return whether the names include the server name; a wildcard matches only the first label."""
    server_name = server_name.lower()
    _, _, parent = server_name.partition(".")
    return any(name.lower() in (server_name, f"*.{parent}") for name in names)
