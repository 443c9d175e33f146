"""`baoctl doctor`: the checks of a cluster, the most likely cause first.

Pure: a table of checks of one observation. A check without data has no findings. Causes come before
their effects: problems of the operator, then of pods, then the effects of pods that do not run, and
last the conditions that the operator reports. Called by baoctl.commands.cluster.doctor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from baoctl.commands.cluster import findings_of_operator, findings_of_pods, findings_of_status
from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.observed import ClusterObservation


@dataclass(frozen=True, slots=True)
class DiagnosisCheck:
    """One check; `find` yields its findings."""

    name: str
    question: str
    find: Callable[[ClusterObservation], Iterator[Finding]]
    explains: frozenset[str] = frozenset()
    """Reasons of conditions that are effects of its findings."""


_SERVERS_DOWN: Final = frozenset(
    {
        "LeaderUnknown",
        "NoReplicasReady",
        "NotInitialized",
        "NotReady",
        "Sealed",
        "StorageClassPending",
        "Unknown",
    }
)
"""Reasons of the conditions of a cluster whose servers do not run."""
_UNREACHABLE: Final = frozenset({"AutopilotUnknown", "MembershipUnknown", "Unknown"})


CHECKS: Final[tuple[DiagnosisCheck, ...]] = (
    DiagnosisCheck("operator", "Does the operator run?", findings_of_operator.operator_down),
    DiagnosisCheck("pause", "Is the cluster paused?", findings_of_operator.pause),
    DiagnosisCheck("deletion", "Is a deletion blocked?", findings_of_operator.pending_deletion),
    DiagnosisCheck(
        "admission",
        "Does an admission rule refuse writes?",
        findings_of_operator.refused_writes,
        _SERVERS_DOWN,
    ),
    DiagnosisCheck(
        "requests", "Can the operator reconcile?", findings_of_operator.failing_reconciles
    ),
    DiagnosisCheck(
        "creation", "Can the pods be created?", findings_of_pods.missing_pods, _SERVERS_DOWN
    ),
    DiagnosisCheck("image", "Can the images be pulled?", findings_of_pods.image, _SERVERS_DOWN),
    DiagnosisCheck(
        "scheduling",
        "Can the pods be scheduled?",
        findings_of_pods.unschedulable_pods,
        _SERVERS_DOWN,
    ),
    DiagnosisCheck(
        "volumes", "Are the volumes bound, and not full?", findings_of_pods.volumes, _SERVERS_DOWN
    ),
    DiagnosisCheck(
        "seal", "Can the seal unseal the servers?", findings_of_status.seal, _SERVERS_DOWN
    ),
    DiagnosisCheck("certificates", "Are the certificates valid?", findings_of_status.certificates),
    DiagnosisCheck("crashes", "Do servers crash?", findings_of_pods.crashes, _SERVERS_DOWN),
    DiagnosisCheck(
        "quorum", "Is there a leader with a majority?", findings_of_pods.quorum, _SERVERS_DOWN
    ),
    DiagnosisCheck(
        "connections",
        "Can the operator reach the servers?",
        findings_of_operator.unreachable_servers,
        _UNREACHABLE,
    ),
    DiagnosisCheck("lock", "Is the operation lock stale?", findings_of_status.lock),
    DiagnosisCheck(
        "policies", "Are the admission policies installed?", findings_of_operator.missing_policies
    ),
    DiagnosisCheck(
        "spec", "Is the last change of the spec reconciled?", findings_of_operator.stale_status
    ),
    DiagnosisCheck(
        "conditions", "Does the operator report a problem?", findings_of_status.conditions
    ),
)


def diagnose(observed: ClusterObservation) -> tuple[Finding, ...]:
    """Return the findings, the cause first; empty for a healthy cluster.

    Conditions with the same reason result in one finding. Effects of an earlier finding are
    omitted.
    """
    findings: list[Finding] = []
    omitted: set[str] = set()
    for check in CHECKS:
        for finding in check.find(observed):
            if finding.reason in omitted:
                continue
            findings.append(finding)
            omitted |= {finding.reason} - {""}
            omitted |= check.explains
    return tuple(findings)
