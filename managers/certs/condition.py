"""Condition TLSReady. Pure; called by `managers.cluster.status.conditions`."""

from __future__ import annotations

from contracts.api.cluster.tls import TlsMode
from contracts.conditions.condition import ConditionUpdate
from contracts.naming.ports import API
from contracts.records.observed import Observed
from contracts.records.secrets import CertificateFacts, SecretFacts
from managers.certs.rollout import pods_not_serving
from runtime.outcome import Blocked, Outcome, Wait

# Reasons of outcomes about certificates, which the condition copies.
REASONS = frozenset({"ACMECacheInvalid", "CASecretMissing", "TLSSecretInvalid", "TLSSecretMissing"})


def tls_ready(
    mode: TlsMode, server_secret: str | None, observed: Observed, outcome: Outcome
) -> ConditionUpdate:
    """Return the condition TLSReady. `server_secret` is None in mode ACME."""
    kind = "TLSReady"
    if isinstance(outcome, Blocked | Wait) and outcome.reason in REASONS:
        return ConditionUpdate(kind, "False", outcome.reason, outcome.message)
    if server_secret is None:
        return _acme(observed)
    secret = observed.secrets.get(server_secret)
    if secret is None:
        message = f"Secret {server_secret} does not exist yet"
        return ConditionUpdate(kind, "False", "TLSSecretMissing", message)
    if not secret.owned and mode == "OperatorManaged":
        message = f"Secret {server_secret} is owned by {secret.owner}"
        return ConditionUpdate(kind, "False", "ForeignObject", message)
    if secret.certificate is None:
        message = f"Secret {server_secret}: {secret.problem}"
        return ConditionUpdate(kind, "False", "TLSSecretInvalid", message)
    return _served(secret.certificate, secret, observed)


def _served(leaf: CertificateFacts, secret: SecretFacts, observed: Observed) -> ConditionUpdate:
    kind = "TLSReady"
    ready = [pod for pod in observed.servers if pod.ready]
    outdated = pods_not_serving(ready, leaf.fingerprint)
    others = [pod.name for pod in outdated if pod.serves]
    if outdated and not others:
        names = ", ".join(pod.name for pod in outdated)
        message = f"The operator cannot connect to port {API.number} of {names}"
        return ConditionUpdate(kind, "Unknown", "Unknown", message)
    if others:
        return ConditionUpdate(
            kind,
            "False",
            "CertificateNotServed",
            f"{len(ready) - len(outdated)} of {len(ready)} pods serve the new certificate (serial "
            f"{leaf.serial}); not yet: {', '.join(others)}",
        )
    until = min(filter(None, (leaf.not_after, secret.chain_until))).date().isoformat()
    return ConditionUpdate(
        kind,
        "True",
        "Ready",
        f"The server certificate is valid until {until}{_ca_rotation(observed)}",
    )


def _ca_rotation(observed: Observed) -> str:
    """Return a sentence about a second trusted CA; "" if there is none."""
    for secret in observed.secrets.values():
        if secret.upcoming is not None:
            return f". A new CA (serial {secret.upcoming.serial}) is trusted and signs later"
        if secret.former is not None:
            return f". The former CA (serial {secret.former.serial}) is still trusted"
    return ""


def _acme(observed: Observed) -> ConditionUpdate:
    kind = "TLSReady"
    if any(pod.ready for pod in observed.servers):
        message = "The servers obtain their certificates by ACME, and at least one server has one"
        return ConditionUpdate(kind, "True", "Ready", message)
    message = (
        "No server has a certificate yet. A server requests it from the ACME server at the first "
        "connection: look for listener-acme in its log"
    )
    return ConditionUpdate(kind, "Unknown", "Unknown", message)
