"""Plan of the certificates: validates, issues and renews those of the servers. Pure.

One function per value of spec.tls.mode; the modes External and ACME have their own modules. Called
by `managers.cluster.plan.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from contracts.api.cluster.tls import TlsMode
from contracts.naming import names
from contracts.ownership_conflict import foreign_secret
from contracts.records.desired import Plan
from contracts.records.effects import (
    DropAuthority,
    Effect,
    EffectByUid,
    IssueAuthority,
    IssueServerCertificate,
    PrepareAuthority,
    PromoteAuthority,
)
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, SecretFacts
from managers.certs import acme, external
from managers.certs.ca_rotation import has_expired, next_step
from managers.certs.checks import CheckInput, first_problem
from managers.certs.rollout import RECHECK, pods_not_serving
from managers.certs.secret_data import SERVER_SECRET_TYPE
from runtime.outcome import Blocked, Done, Wait, combine

ROTATION_EFFECTS: Mapping[str, type[EffectByUid]] = {
    "prepare": PrepareAuthority,
    "promote": PromoteAuthority,
    "drop": DropAuthority,
}
# A longer timer is not necessary: each reconcile computes the timer again.
LONGEST_TIMER = timedelta(days=1)


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the certificates of the mode, and requeue for the next renewal."""
    plan_of_mode = PLANS[resolved.tls.mode](resolved, observed)
    server = observed.secrets.get(resolved.tls.server_secret or "")
    leaf = server.certificate if server else None
    if (
        leaf is None
        or plan_of_mode.gate
        or not pods_not_serving(observed.servers, leaf.fingerprint)
    ):
        return plan_of_mode
    # No event reports that a server has reloaded its files.
    return replace(plan_of_mode, outcome=combine(plan_of_mode.outcome, Done(RECHECK)))


def _operator_managed(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the Secrets of the CA and of the servers, and the rotation of the CA."""
    ca_name = names.tls_ca_secret(resolved.name)
    server_name = names.tls_server_secret(resolved.name)
    ca, server = observed.secrets.get(ca_name), observed.secrets.get(server_name)
    for secret in (ca, server):
        if secret is not None and not secret.owned:
            return Plan(outcome=foreign_secret(secret.name, secret.owner), gate=True)
    if ca is None:
        return _without_authority(ca_name, server)
    if ca.certificate is None or not ca.certificate.key_matches:
        return _blocked(
            "TLSSecretInvalid",
            f"Secret {ca_name}: {ca.problem or 'its key does not match its certificate'}. Restore "
            f"it, or delete it and Secret {server_name} so that the operator creates a new CA",
        )
    if has_expired(ca.certificate, observed.now):
        return _unwritable_authority(ca) or _expired(ca)
    return _server(resolved, observed, ca, ca.certificate, server)


def _expired(ca: SecretFacts) -> Plan:
    """Replace an expired CA, without an overlap."""
    action = "prepare"
    if ca.upcoming is not None:
        action = "promote"
    elif ca.former is not None:
        action = "drop"
    return _create_plan(
        "the operator replaces the expired CA", ROTATION_EFFECTS[action](ca.name, ca.uid)
    )


def _without_authority(ca_name: str, server: SecretFacts | None) -> Plan:
    """Create the first CA, but no second one while a server certificate of the first exists."""
    if server is None:
        return _create_plan("the operator creates the CA", IssueAuthority(ca_name))
    blocked = Blocked(
        "CASecretMissing",
        f"Secret {ca_name} does not exist, and Secret {server.name} has a certificate of its CA. "
        f"Restore it, or delete Secret {server.name} too, so that the operator creates a new CA, "
        "which clients must then trust",
    )
    return Plan(outcome=blocked)


def _server(
    resolved: Resolved,
    observed: Observed,
    authority: SecretFacts,
    ca: CertificateFacts,
    server: SecretFacts | None,
) -> Plan:
    name = names.tls_server_secret(resolved.name)
    if server is None:
        return _create_plan(
            "the operator issues the server certificate", IssueServerCertificate(name)
        )
    check_input = CheckInput(
        secret=server,
        authority=ca.fingerprint,
        authority_until=ca.not_after,
        trusted=authority.trusted,
        names=frozenset(resolved.certificate_names),
        addresses=frozenset(resolved.certificate_addresses),
        now=observed.now,
        rotate_before=resolved.rotate_before,
    )
    problem = first_problem(check_input)
    if problem is not None:
        refusal = _unwritable_server(server, problem[1])
        return refusal or _create_plan(
            f"the operator renews the server certificate: {problem[1]}",
            IssueServerCertificate(name, server.uid),
        )
    renewal = Done(_until_renewal(server, observed.now, resolved.rotate_before))
    step = next_step(resolved, observed, authority, server)
    if step.action is not None:
        refusal = _unwritable_authority(authority)
        if refusal is not None:
            return refusal
        # The next reconcile follows immediately, and issues the new certificate.
        effect = ROTATION_EFFECTS[step.action](authority.name, authority.uid)
        return Plan(effects=(effect,), outcome=Done(0.0), gate=True)
    due = None if step.due is None else _timer(step.due - observed.now)
    return Plan(outcome=combine(renewal, Done(due)))


def _unwritable_server(secret: SecretFacts, problem: str) -> Plan | None:
    """Block if the certificate must be issued again, but its Secret cannot be changed."""
    reason = "its field immutable is true" if secret.immutable else ""
    if secret.type not in ("", SERVER_SECRET_TYPE):
        reason = f"its type is {secret.type}, and must be {SERVER_SECRET_TYPE}"
    if not reason:
        return None
    return _blocked(
        "TLSSecretInvalid",
        f"Secret {secret.name}: {problem}, and the operator cannot write to it: {reason}. Delete "
        "it, and the operator creates it again",
    )


def _unwritable_authority(secret: SecretFacts) -> Plan | None:
    """Block if the CA must be rotated, but its Secret cannot be changed."""
    if not secret.immutable:
        return None
    blocked = Blocked(
        "TLSSecretInvalid",
        f"Secret {secret.name}: the CA must be rotated, and the operator cannot write to it: its "
        "field immutable is true. Create it again with the same content, labels, annotations and "
        "owner, without that field",
    )
    # The CA is still in use, so the pods may be changed.
    return Plan(outcome=blocked)


def _until_renewal(server: SecretFacts, now: datetime, rotate_before: timedelta) -> float | None:
    if server.certificate is None:
        return None
    return _timer(server.certificate.not_after - rotate_before - now)


def _timer(remaining: timedelta) -> float:
    # No time is left if the CA expires as early as the certificate: the longest timer is enough.
    return (
        min(remaining, LONGEST_TIMER) if remaining > timedelta(0) else LONGEST_TIMER
    ).total_seconds()


def _create_plan(message: str, effect: Effect) -> Plan:
    return Plan(effects=(effect,), outcome=Wait("PrerequisitesMissing", message, 0.0), gate=True)


def _blocked(reason: str, message: str) -> Plan:
    return Plan(outcome=Blocked(reason, message), gate=True)


PLANS: Mapping[TlsMode, Callable[[Resolved, Observed], Plan]] = {
    "OperatorManaged": _operator_managed,
    "External": external.plan,
    "ACME": acme.plan,
}
