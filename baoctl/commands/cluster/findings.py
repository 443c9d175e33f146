"""`baoctl doctor`: all that can be wrong with a cluster, the likeliest cause first.

Pure: a table of checks over one observation. A check that cannot know finds nothing. The order is
that of causes: what stops the operator, then what stops pods, then what follows from pods that do
not run, and last what the operator itself reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from baoctl.commands.cluster import findings_of_operator, findings_of_pods, findings_of_status
from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.observed import ClusterObservation


@dataclass(frozen=True, slots=True)
class Examination:
    """One question; `look` yields what it finds."""

    name: str
    asks: str
    look: Callable[[ClusterObservation], Iterator[Finding]]


CHECKS: Final[tuple[Examination, ...]] = (
    Examination("operator", "Does the operator run?", findings_of_operator.operator_down),
    Examination("pause", "Is the cluster paused?", findings_of_operator.paused),
    Examination("admission", "Does an admission rule refuse writes?", findings_of_operator.refused),
    Examination("image", "Can the images be pulled?", findings_of_pods.image),
    Examination("scheduling", "Is there room for the pods?", findings_of_pods.unschedulable),
    Examination("volumes", "Are the volumes there, and not full?", findings_of_pods.volumes),
    Examination("seal", "Is the key of the seal there?", findings_of_status.seal),
    Examination("certificates", "Are the certificates valid?", findings_of_status.certificates),
    Examination("crashes", "Do servers crash?", findings_of_pods.crashes),
    Examination("quorum", "Is there a leader with a majority?", findings_of_pods.quorum),
    Examination("lock", "Was an operation lock left behind?", findings_of_status.lock),
    Examination(
        "policies", "Are the admission policies there?", findings_of_operator.policies_missing
    ),
    Examination("conditions", "Does the operator report a problem?", findings_of_status.conditions),
)


def diagnose(seen: ClusterObservation) -> tuple[Finding, ...]:
    """Return what is wrong, the cause first; empty for a cluster that is well.

    A reason that several conditions give is one finding.
    """
    findings: list[Finding] = []
    for found in (one for check in CHECKS for one in check.look(seen)):
        if not found.reason or found.reason not in {one.reason for one in findings}:
            findings.append(found)
    return tuple(findings)
