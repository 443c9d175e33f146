"""Checks of `baoctl doctor` for the operator, pauses and admission rules.

Pure. Called by baoctl.commands.cluster.findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.observed import (
    ClusterObservation,
    Operator,
    Part,
    age,
    finalizers,
    has_quorum,
    moment,
    number,
    part,
    parts,
    text,
)
from baoctl.commands.cluster.status import deletion_of
from contracts.conditions.catalog import REASONS
from contracts.naming.installation import NAMESPACE
from contracts.naming.names import FINALIZER
from contracts.naming.ports import API

LEASE_SECONDS: Final = 15
"""Default for a Lease without leaseDurationSeconds."""
MISSED_RENEWALS_MAX: Final = 4
"""The operator is down if it does not renew its Lease for this number of lease durations."""
RECENT: Final = timedelta(minutes=5)
POLICY_PREFIX: Final = "openbao-"
_DENIED: Final = re.compile(
    r"admission webhook|failed calling webhook|ValidatingAdmissionPolicy|denied the request", re.I
)
_UNREACHABLE: Final = re.compile(r"cannot connect to port|the server has not answered since")
_NO_RESPONSE: Final = re.compile(r"(POST|PATCH|PUT|DELETE) .*: no response within")
_NO_RIGHT: Final = re.compile(
    r'User "(?P<user>[^" ]+)" cannot (?P<verb>\w+) resource "(?P<resource>[\w/]+)"'
    r' in API group "(?P<group>[\w.]*)"(?: in the namespace "(?P<namespace>[\w-]+)")?'
)


def operator_down(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a Deployment without a ready pod, and a Lease that is not renewed."""
    operator = observed.operator
    if operator is None:
        return
    where = f"-n {operator.namespace}"
    deployment = operator.deployment
    if deployment is not None:
        desired = number(part(deployment, "spec").get("replicas"), 1)
        ready = number(part(deployment, "status").get("readyReplicas"))
        if ready == 0:
            why = "it is scaled to 0" if desired == 0 else f"none of its {desired} pods is ready"
            step = "Scale it up." if desired == 0 else "Check its pods and their logs."
            command = (
                f"kubectl {where} scale deployment/openbao-operator --replicas=1"
                if desired == 0
                else f"kubectl {where} describe pods -l app.kubernetes.io/name=openbao-operator"
            )
            yield Finding(
                "The operator is down", f"Deployment openbao-operator: {why}", step, command
            )
            return
    yield from _lease(observed, where)


def _lease(observed: ClusterObservation, where: str) -> Iterator[Finding]:
    lease = observed.operator.lease if observed.operator else None
    spec = part(lease, "spec")
    renewed = moment(spec, "renewTime")
    if renewed is None:
        return
    since_renewal = observed.now - renewed
    lease_duration = timedelta(seconds=number(spec.get("leaseDurationSeconds"), LEASE_SECONDS))
    if since_renewal > MISSED_RENEWALS_MAX * lease_duration:
        yield Finding(
            "The operator is down",
            f"Lease {text(lease, 'metadata', 'name')}: not renewed for {age(since_renewal)}",
            "Start the operator, or find out why it does not run; the servers run without it.",
            f"kubectl {where} get deployment,pods",
        )


def pause(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a pause, which a user may have forgotten."""
    if observed.spec.get("paused") is not True:
        return
    since = moment(observed.condition("Paused"), "lastTransitionTime")
    yield Finding(
        f"The cluster has been paused for {age(observed.now - since)}"
        if since
        else "The cluster is paused",
        "spec.paused is true: the operator makes no changes and no repairs",
        "Resume the cluster once manual work on it has ended.",
        f"kubectl bao resume {observed.name} -n {observed.namespace}",
    )


def pending_deletion(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a deletion that waits for a finalizer."""
    deletion = deletion_of(observed)
    if not deletion:
        return
    other_finalizers = [name for name in finalizers(observed.cluster) if name != FINALIZER]
    yield Finding(
        "The cluster is being deleted",
        deletion,
        f"Find out why the controller of {other_finalizers[0]} does not remove its finalizer."
        if other_finalizers
        else "Wait for the operator; if it persists, read the operator log for this cluster.",
        f"kubectl -n {observed.namespace} describe openbaocluster {observed.name}"
        if other_finalizers
        else log_command(observed),
    )


def failing_reconciles(observed: ClusterObservation) -> Iterator[Finding]:
    """Find requests of the operator that fail, for example because it lacks a right."""
    ready = observed.condition("Ready")
    reason, message = text(ready, "reason"), text(ready, "message")
    if reason != "TransientError" or _DENIED.search(message):
        return
    if denied := _NO_RIGHT.search(message):
        place = f" -n {denied['namespace']}" if denied["namespace"] else ""
        kind = ".".join(filter(None, (denied["resource"], denied["group"])))
        yield Finding(
            f"The operator lacks the right to {denied['verb']} {denied['resource']}",
            message,
            "Apply the manifests of the operator again.",
            f"kubectl auth can-i {denied['verb']} {kind} --as={denied['user']}{place}",
            reason,
        )
        return
    if _NO_RESPONSE.match(message):
        yield Finding(
            "The API server does not respond to a write of the operator",
            message,
            "Check the API server, and its webhooks for this kind: a write waits for each of them.",
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            reason,
        )
        return
    yield Finding(
        "Requests of the operator fail",
        message,
        REASONS[reason].next_step,
        log_command(observed),
        reason,
    )


def unreachable_servers(observed: ClusterObservation) -> Iterator[Finding]:
    """Find ready servers to which the operator cannot connect."""
    messages = (
        text(observed.condition("TLSReady"), "message"),
        text(observed.condition("RaftMembershipReady"), "message"),
        text(observed.status, "adminOps", "lastError", "message"),
    )
    evidence = next((message for message in messages if _UNREACHABLE.search(message)), "")
    if not evidence or not has_quorum(observed) or observed.operator is None:
        return
    yield Finding(
        "The operator cannot connect to the servers",
        evidence,
        f"Check the NetworkPolicies of both namespaces: the operator needs TCP {API.number}.",
        f"kubectl get networkpolicies -A | grep -e {observed.operator.namespace}"
        f" -e {observed.namespace}",
    )


def stale_status(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a spec that the operator has not processed."""
    metadata = part(observed.cluster, "metadata")
    generation = number(metadata.get("generation"))
    observed_generation = number(observed.status.get("observedGeneration"))
    is_current = observed_generation >= generation
    if not observed.conditions or is_current or metadata.get("deletionTimestamp"):
        return
    yield Finding(
        "The operator has not reconciled the last change of the spec",
        f"generation {generation}, status.observedGeneration {observed_generation}",
        "Wait a minute. If it persists, read the operator log for this cluster.",
        log_command(observed),
    )


def log_command(observed: ClusterObservation) -> str:
    """Return the command that prints what the operator logged about the cluster."""
    namespace = observed.operator.namespace if observed.operator else NAMESPACE
    return (
        f"kubectl -n {namespace} logs -l app.kubernetes.io/name=openbao-operator --since 10m"
        f""" --tail -1 | grep '"name":"{observed.name}"'"""
    )


def missing_policies(observed: ClusterObservation) -> Iterator[Finding]:
    """Find an installation whose admission policies are missing."""
    reported = [
        condition
        for condition in observed.conditions
        if text(condition, "reason") in ("AdmissionPoliciesMissing", "AdmissionPolicyMissing")
    ]
    # The profile Development does not require the admission policies.
    development = text(observed.spec, "profile") == "Development"
    evidence = text(reported[0], "message") if reported else ""
    if not evidence and not development and observed.operator:
        evidence = _not_enforced(observed.operator)
    if not evidence:
        return
    yield Finding(
        "Admission policies of the operator are missing",
        evidence,
        "Apply the manifests of the operator again.",
        "kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings",
    )


def _not_enforced(operator: Operator) -> str:
    """Return why policies are not enforced; "" if they are, or cannot be read.

    Only the names are compared: the operator may be of another release than this command.
    """
    if operator.policies is None:
        return ""
    policies = {name for name in operator.policies if name.startswith(POLICY_PREFIX)}
    if not policies:
        return "none of them is installed"
    unbound = sorted(policies - set(operator.bindings)) if operator.bindings is not None else []
    return f"not enforced, because they have no binding: {', '.join(unbound)}" if unbound else ""


def refused_writes(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a webhook or a policy that refuses what the operator or the StatefulSet writes."""
    for source, message in _messages(observed):
        if _DENIED.search(message):
            yield Finding(
                "An admission rule refuses writes for the cluster",
                f"{source}: {message}",
                "Correct the rule or the webhook that the message names.",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,"
                "validatingadmissionpolicies",
            )
            return


def _messages(observed: ClusterObservation) -> Iterator[tuple[str, str]]:
    error: Part = part(observed.status, "workload", "lastError")
    yield "the operator", text(error, "message")
    for condition in observed.conditions:
        if condition.get("type") in ("Ready", "Stalled", "Degraded"):
            yield f"condition {text(condition, 'type')}", text(condition, "message")
    for name in observed.stateful_sets:
        for status_condition in parts(name, "status", "conditions"):
            yield "the StatefulSet", text(status_condition, "message")
    for event in observed.events:
        about = f"{text(event, 'involvedObject', 'kind')} {text(event, 'involvedObject', 'name')}"
        if text(event, "type") == "Warning" and recent(observed, event):
            yield f"event {text(event, 'reason')} of {about}", text(event, "message")


def recent(observed: ClusterObservation, event: Part) -> bool:
    """Whether an event is not older than RECENT."""
    last = last_seen(event)
    return last is None or observed.now - last <= RECENT


def last_seen(event: Part) -> datetime | None:
    """Return the time of the last occurrence of an event."""
    return (
        moment(event, "series", "lastObservedTime")
        or moment(event, "lastTimestamp")
        or moment(event, "eventTime")
        or moment(event, "metadata", "creationTimestamp")
    )
