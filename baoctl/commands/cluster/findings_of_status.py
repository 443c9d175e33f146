"""Checks of `baoctl doctor` for seal, certificates, operation lock and conditions.

Pure. Called by baoctl.commands.cluster.findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.observed import (
    ClusterObservation,
    age,
    has_quorum,
    moment,
    part,
    text,
)
from baoctl.commands.cluster.status import EXPIRY_WARNING_DAYS, days_left, view_of
from contracts.conditions.catalog import REASONS
from contracts.naming import labels, names
from runtime.types import Object, key_of, labels_of

LOCK_STALE_AFTER: Final = timedelta(minutes=15)
"""A lock that is not renewed for this time is stale. Holders renew it every few minutes."""
_SEAL_REASONS: Final = frozenset(
    {"UnsealKeyMissing", "UnsealKeyChanged", "UnsealKeyRotationRefused", "CredentialsSecretMissing"}
)
_TLS_REASONS: Final = frozenset(
    {"TLSSecretMissing", "TLSSecretInvalid", "CASecretMissing", "CertificateNotServed"}
)
_IGNORED_REASONS: Final = frozenset({"Paused", "NoBackupYet", "NeverTested"})
"""Reasons that another check explains, or that every new cluster has."""


def seal(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a missing or changed key of the seal, and servers that stay sealed."""
    for condition in observed.conditions:
        if text(condition, "reason") in _SEAL_REASONS:
            yield _finding_of_condition(
                observed, "The key of the seal is missing or wrong", condition
            )
            return
    prefix = _seal_secret(observed)
    existing = (
        None if observed.secrets is None else [n for n in observed.secrets if n.startswith(prefix)]
    )
    missing = bool(prefix) and existing == []
    if missing and observed.status.get("initialized"):
        yield Finding(
            f"Secret {prefix} with the key of the seal is missing",
            "servers that start now stay sealed",
            "Restore the Secret from a backup; a new key cannot unseal existing data.",
            f"kubectl -n {observed.namespace} get secret {prefix}",
        )
        return
    sealed = [key_of(pod).name for pod in observed.pods if _stays_sealed(observed, pod)]
    if sealed and observed.status.get("initialized"):
        kind = text(observed.spec, "unseal", "type") or "static"
        refusals = (
            line.strip()
            for line in observed.logs.get(sealed[0], "").splitlines()
            if "failed to unseal" in line
        )
        yield Finding(
            f"Servers are sealed: {', '.join(sealed)}",
            next(refusals, f"the {kind} seal does not unseal them"),
            "Read the log of the server.",
            f"kubectl -n {observed.namespace} logs {sealed[0]} --tail 50",
        )


def _stays_sealed(observed: ClusterObservation, pod: Object) -> bool:
    registration = labels.registration(labels_of(pod))
    # A server with an empty volume unseals when it joins the cluster, which requires a leader.
    joins = registration.initialized is False and not has_quorum(observed)
    return bool(registration.sealed) and not joins and text(pod, "status", "phase") == "Running"


def _seal_secret(observed: ClusterObservation) -> str:
    """Return the prefix of the name; a rotation creates a Secret with another suffix."""
    supplied = text(observed.spec, "unseal", "credentialsSecretRef", "name")
    static = text(observed.spec, "unseal", "type") in ("", "static")
    return supplied or (names.unseal_key_secret(observed.name) if static else "")


def certificates(observed: ClusterObservation) -> Iterator[Finding]:
    """Find certificates that are expired, missing or not served."""
    tls, days = observed.condition("TLSReady"), days_left(observed)
    if days is not None and days < 0:
        yield Finding(
            "The certificate of the servers has expired",
            text(tls, "message"),
            "Renew it in its Secret; in mode OperatorManaged, start the operator.",
            f"kubectl -n {observed.namespace} get secret {_server_secret(observed)}",
            text(tls, "reason"),
        )
        return
    stalled = observed.condition("Stalled")
    # The operator issues no certificate while the cluster is stalled for another reason.
    waits = stalled.get("status") == "True" and text(stalled, "reason") not in _TLS_REASONS
    if text(tls, "reason") in _TLS_REASONS and tls.get("status") != "True" and not waits:
        yield _finding_of_condition(observed, "The certificate of the servers cannot be used", tls)
        return
    external = text(observed.spec, "tls", "mode") in ("External", "ACME")
    if days is not None and days < EXPIRY_WARNING_DAYS and external:
        when = {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
        yield Finding(
            f"The certificate of the servers expires {when}",
            text(tls, "message"),
            "Renew it in its Secret; the operator then deploys it.",
            f"kubectl -n {observed.namespace} describe openbaocluster {observed.name}",
        )


def _server_secret(observed: ClusterObservation) -> str:
    supplied = text(observed.spec, "tls", "external", "serverSecretRef", "name")
    return supplied or names.tls_server_secret(observed.name)


def lock(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a lock whose holder does not exist, or does not renew it."""
    operation_lock = part(observed.status, "operationLock")
    if not operation_lock:
        return
    renewed = moment(operation_lock, "renewedAt") or moment(operation_lock, "acquiredAt")
    since_renewal = observed.now - renewed if renewed else timedelta(0)
    holder = text(operation_lock, "holder")
    holder_is_missing = observed.lock_holder_exists is False
    if not holder_is_missing and since_renewal <= LOCK_STALE_AFTER:
        return
    delay = f"not renewed for {age(since_renewal)}"
    evidence = "the holder no longer exists" if holder_is_missing else delay
    yield Finding(
        f"The operation lock of {holder} is stale",
        f"{text(operation_lock, 'operation')}: {evidence}; backups, restores and upgrades wait",
        "The operator releases it once the holder and its Job are gone. Delete a Job that hangs; if"
        f" the admission policies are installed, annotate it with {labels.MAINTENANCE}=true first.",
        f"kubectl -n {observed.namespace} get openbaobackups,openbaorestores,jobs",
    )


def conditions(observed: ClusterObservation) -> Iterator[Finding]:
    """Report the conditions that do not have their desired status, in the order of the catalog."""
    if not observed.conditions:
        yield Finding(
            "The operator has not reconciled the cluster yet",
            "it has no status",
            "Check that the operator watches this namespace; then read its log.",
            f"kubectl -n {observed.namespace} describe openbaocluster {observed.name}",
        )
        return
    waits = [wait for wait in view_of(observed).waits if wait.reason not in _IGNORED_REASONS]
    ready = observed.condition("Ready")
    is_ignored = text(ready, "reason") in _IGNORED_REASONS
    if not waits and ready.get("status") != "True" and not is_ignored:
        yield _finding_of_condition(observed, "The cluster is not ready", ready)
    for wait in waits:
        yield Finding(
            f"{wait.condition}: {wait.reason}",
            wait.message,
            wait.next_step or "Wait; the operator continues automatically.",
            f"kubectl bao explain reasons {wait.reason}",
            wait.reason,
        )


def _finding_of_condition(observed: ClusterObservation, cause: str, condition: object) -> Finding:
    reason = text(condition, "reason")
    known = REASONS.get(reason)
    return Finding(
        cause,
        f"{reason}: {text(condition, 'message')}",
        known.next_step if known else "",
        f"kubectl -n {observed.namespace} describe openbaocluster {observed.name}",
        reason,
    )
