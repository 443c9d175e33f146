"""Mode External: certificates of the user are read and validated together, never written. Pure.

While they are not valid the pods are not changed: they keep what they have in memory.
Called by `managers.certs.plan`.
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


def other_key(it: ExternalCheckInput) -> str | None:
    """The key is that of another certificate."""
    if it.certificate.key_matches:
        return None
    return f"Secret {it.server.name}: tls.key does not fit tls.crt; write both of them anew"


def no_chain(it: ExternalCheckInput) -> str | None:
    """Clients that trust ca.crt would refuse it."""
    if not it.server.chain_problem:
        return None
    return (
        f"Secret {it.server.name}: {it.server.chain_problem}. Put the intermediates behind the "
        "certificate in tls.crt, and the authority into ca.crt"
    )


def no_authority(it: ExternalCheckInput) -> str | None:
    """There is no CA for clients."""
    if it.authority.trusted:
        return None
    problem = it.authority.problem or "ca.crt missing"
    return f"Secret {it.authority.name}: {problem}. It needs the authority in ca.crt"


def other_authority(it: ExternalCheckInput) -> str | None:
    """The two Secrets have different CAs."""
    if it.server.chain_root in it.authority.trusted:
        return None
    return (
        f"Secret {it.authority.name}: its ca.crt does not hold the authority that tls.crt of "
        f"Secret {it.server.name} leads to. Put that authority into it"
    )


def not_yet(it: ExternalCheckInput) -> str | None:
    """It is not valid yet."""
    if it.certificate.not_before <= it.now:
        return None
    begins = it.certificate.not_before.isoformat()
    return f"Secret {it.server.name}: tls.crt is valid from {begins} on only"


def ended(it: ExternalCheckInput) -> str | None:
    """It, or a certificate of its chain, has expired."""
    until = min(filter(None, (it.certificate.not_after, it.server.chain_until)))
    if until > it.now:
        return None
    return (
        f"Secret {it.server.name}: tls.crt, or a certificate that it leads to, ended at "
        f"{until.isoformat()}. Write a newer one"
    )


def missing_name(it: ExternalCheckInput) -> str | None:
    """It lacks the name that peers and the operator use."""
    if _covers(it.certificate.dns_names, it.server_name):
        return None
    return (
        f"Secret {it.server.name}: tls.crt does not name {it.server_name} among its DNS subject "
        "alternative names, for which servers that join and the operator ask. Issue it with that "
        "name"
    )


CHAIN: tuple[tuple[str, Check], ...] = (
    ("other-key", other_key),
    ("no-chain", no_chain),
    ("no-authority", no_authority),
    ("other-authority", other_authority),
    ("not-yet", not_yet),
    ("ended", ended),
    ("missing-name", missing_name),
)


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Require both Secrets, and that they are valid together."""
    secret_names = (resolved.tls.server_secret or "", resolved.tls.authority_secret or "")
    server, authority = (observed.secrets.get(name) for name in secret_names)
    if server is None or authority is None:
        absent = [name for name in secret_names if name not in observed.secrets]
        message = (
            f"Missing Secrets: {' and '.join(absent)}. With tls.mode External you make them: "
            "tls.crt, tls.key and ca.crt for the servers, ca.crt for clients"
        )
        return Plan(outcome=Wait("TLSSecretMissing", message), gate=True)
    if server.certificate is None:
        problem = server.problem or "it holds no certificate"
        return _invalid(f"Secret {server.name}: {problem}. It needs tls.crt, tls.key and ca.crt")
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
    """Match as TLS clients do: a star matches the whole first label only."""
    server_name = server_name.lower()
    _, _, parent = server_name.partition(".")
    return any(name.lower() in (server_name, f"*.{parent}") for name in names)
