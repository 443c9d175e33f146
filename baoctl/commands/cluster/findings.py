"""`baoctl doctor`: all that can be wrong with a cluster, the likeliest cause first.

Pure: a table of checks over baoctl.commands.cluster.observed.Observed. A check that cannot know
finds nothing. The order is the order of causes: what stops the operator, then what stops pods, then
what follows from pods that do not run, and last what the operator itself reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from baoctl.commands.cluster import findings_of_operator, findings_of_pods, findings_of_status
from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.observed import Observed


@dataclass(frozen=True, slots=True)
class Check:
    """One question; `look` yields what it finds."""

    name: str
    asks: str
    look: Callable[[Observed], Iterator[Finding]]


CHECKS: Final[tuple[Check, ...]] = (
    Check("operator", "Does the operator run?", findings_of_operator.operator_down),
    Check("pause", "Is the cluster paused?", findings_of_operator.paused),
    Check("admission", "Does an admission rule refuse writes?", findings_of_operator.refused),
    Check("image", "Can the images be pulled?", findings_of_pods.image),
    Check("scheduling", "Is there room for the pods?", findings_of_pods.unschedulable),
    Check("volumes", "Are the volumes there, and not full?", findings_of_pods.volumes),
    Check("seal", "Is the key of the seal there?", findings_of_status.seal),
    Check("certificates", "Are the certificates valid?", findings_of_status.certificates),
    Check("crashes", "Do servers crash?", findings_of_pods.crashes),
    Check("quorum", "Is there a leader with a majority?", findings_of_pods.quorum),
    Check("lock", "Was an operation lock left behind?", findings_of_status.lock),
    Check("policies", "Are the admission policies there?", findings_of_operator.policies_missing),
    Check("conditions", "Does the operator report a problem?", findings_of_status.conditions),
)


def diagnose(seen: Observed) -> tuple[Finding, ...]:
    """Return what is wrong, the cause first; empty for a cluster that is well."""
    return tuple(found for check in CHECKS for found in check.look(seen))
