"""Checks of `baoctl doctor` about what keeps the operator from its work. Pure."""

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
    moment,
    number,
    part,
    parts,
    text,
)

LEASE_SECONDS: Final = 15
"""Duration of the Lease where it does not say."""
GRACE: Final = 4
"""Durations of the Lease after which nobody renews it any more."""
SLOW: Final = timedelta(minutes=5)
POLICY_PREFIX: Final = "openbao-"
_DENIED: Final = re.compile(
    r"admission webhook|failed calling webhook|ValidatingAdmissionPolicy|denied the request", re.I
)


def operator_down(seen: ClusterObservation) -> Iterator[Finding]:
    """Find a Deployment without a ready pod, and a Lease that nobody renews."""
    operator = seen.operator
    if operator is None:
        return
    where = f"-n {operator.namespace}"
    deployment = operator.deployment
    if deployment is not None:
        wanted = number(part(deployment, "spec").get("replicas"), 1)
        ready = number(part(deployment, "status").get("readyReplicas"))
        if ready == 0:
            why = "it is scaled to 0" if wanted == 0 else f"none of its {wanted} pods is ready"
            step = "Scale it up." if wanted == 0 else "Look at its pods, and at their log."
            command = (
                f"kubectl {where} scale deployment/openbao-operator --replicas=1"
                if wanted == 0
                else f"kubectl {where} describe pods -l app.kubernetes.io/name=openbao-operator"
            )
            yield Finding(
                "The operator is down", f"Deployment openbao-operator: {why}", step, command
            )
            return
    yield from _lease(seen, where)


def _lease(seen: ClusterObservation, where: str) -> Iterator[Finding]:
    lease = seen.operator.lease if seen.operator else None
    spec = part(lease, "spec")
    renewed = moment(spec, "renewTime")
    if renewed is None:
        return
    silent = seen.now - renewed
    if silent > timedelta(seconds=GRACE * number(spec.get("leaseDurationSeconds"), LEASE_SECONDS)):
        yield Finding(
            "The operator is down",
            f"Lease {text(lease, 'metadata', 'name')}: not renewed for {age(silent)}",
            "Start the operator, or read why it does not run; the servers go on without it.",
            f"kubectl {where} get deployment,pods",
        )


def paused(seen: ClusterObservation) -> Iterator[Finding]:
    """Find a pause: whoever set it may have forgotten it."""
    if seen.spec.get("paused") is not True:
        return
    since = moment(seen.condition("Paused"), "lastTransitionTime")
    yield Finding(
        f"The cluster has been paused for {age(seen.now - since)}"
        if since
        else "The cluster is paused",
        "spec.paused is true: the operator changes and repairs nothing",
        "Resume the cluster once manual work on it has ended.",
        f"kubectl bao resume {seen.name} -n {seen.namespace}",
    )


def policies_missing(seen: ClusterObservation) -> Iterator[Finding]:
    """Find an installation whose admission policies are missing."""
    reported = [
        one
        for one in seen.conditions
        if text(one, "reason") in ("AdmissionPoliciesMissing", "AdmissionPolicyMissing")
    ]
    # Nothing is refused in profile Development that a policy would have to back.
    development = text(seen.spec, "profile") == "Development"
    evidence = text(reported[0], "message") if reported else ""
    if not evidence and not development and seen.operator:
        evidence = _not_enforced(seen.operator)
    if not evidence:
        return
    yield Finding(
        "Admission policies of the operator are missing",
        evidence,
        "Apply the manifests of the operator again.",
        "kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings",
    )


def _not_enforced(operator: Operator) -> str:
    """Say which policies refuse nothing; "" for none, and where they cannot be read.

    The names alone are compared: the operator may be of another release than this command.
    """
    if operator.policies is None:
        return ""
    policies = {name for name in operator.policies if name.startswith(POLICY_PREFIX)}
    if not policies:
        return "the API server has none of them"
    unbound = sorted(policies - set(operator.bindings)) if operator.bindings is not None else []
    return f"without a binding, so that nothing is refused: {', '.join(unbound)}" if unbound else ""


def refused(seen: ClusterObservation) -> Iterator[Finding]:
    """Find a webhook or a policy that refuses what the operator or the StatefulSet writes."""
    for source, message in _messages(seen):
        if _DENIED.search(message):
            yield Finding(
                "An admission rule refuses what is written for the cluster",
                f"{source}: {message}",
                "Correct the rule that the message names, or its webhook.",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,"
                "validatingadmissionpolicies",
            )
            return


def _messages(seen: ClusterObservation) -> Iterator[tuple[str, str]]:
    error: Part = part(seen.status, "workload", "lastError")
    yield "the operator", text(error, "message")
    for one in seen.conditions:
        if one.get("type") in ("Ready", "Stalled", "Degraded"):
            yield f"condition {text(one, 'type')}", text(one, "message")
    for name in seen.stateful_sets:
        for one in parts(name, "status", "conditions"):
            yield "the StatefulSet", text(one, "message")
    for event in seen.events:
        about = f"{text(event, 'regarding', 'kind')} {text(event, 'regarding', 'name')}"
        if text(event, "type") == "Warning" and recent(seen, event):
            yield f"event {text(event, 'reason')} of {about}", text(event, "note")


def recent(seen: ClusterObservation, event: Part) -> bool:
    """Whether an event happened in the last minutes."""
    last = last_seen(event)
    return last is None or seen.now - last <= SLOW


def last_seen(event: Part) -> datetime | None:
    """Return when an event happened last."""
    return (
        moment(event, "series", "lastObservedTime")
        or moment(event, "deprecatedLastTimestamp")
        or moment(event, "eventTime")
        or moment(event, "metadata", "creationTimestamp")
    )
