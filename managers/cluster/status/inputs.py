"""Inputs of the conditions of a cluster. Pure; filled by
`managers.cluster.status.cluster_status`.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.cluster.status import AutopilotStatus, RaftStatus
from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.records.exposure import NO_EXPOSURE, ExposureSpec
from contracts.records.observed import Observed
from contracts.records.upgrade_decision import UpgradeDecision
from managers.workload.conditions import requested_stop
from managers.workload.rollout.holds import Hold
from runtime.outcome import Outcome


@dataclass(frozen=True, slots=True)
class ConditionFacts:
    """Inputs of the conditions."""

    name: str
    spec: ClusterSpec
    observed: Observed
    outcome: Outcome
    initialized: bool
    raft: RaftStatus | None
    autopilot: AutopilotStatus | None
    error: LastError | None
    """The last error of the adminops reconciler."""
    was_running: bool
    unserved: tuple[str, ...]
    conflicts: tuple[str, ...]
    server_secret: str | None
    """The Secret with the server certificate; None in mode ACME."""
    owner_uid: str = ""
    recovery_keys: RecoveryKeysStatus | None = None
    operator_login: OperatorLoginStatus | None = None
    exposure: ExposureSpec = NO_EXPOSURE
    cluster: OpenBaoCluster | None = None
    """The whole object, for the parts of its status that other reconcilers write."""
    decision: UpgradeDecision | None = None
    """The upgrade decision; None while the cluster is paused."""

    @property
    def ready(self) -> int:
        """Number of ready servers."""
        return sum(pod.ready for pod in self.observed.pods)

    @property
    def expected(self) -> int:
        """Number of servers that should be ready: a server without a vote is still joining."""
        if self.hibernated:
            return 0
        voters = self.spec.replicas if self.raft is None else self.raft.voters
        return min(self.spec.replicas, voters) - len(self.spec.fenced_pods)

    @property
    def hibernated(self) -> bool:
        """Whether no server should run."""
        return self.spec.hibernate and self.initialized

    @property
    def stopped(self) -> Hold | None:
        """Why servers are stopped on purpose; None when none are."""
        return requested_stop(self.spec, self.observed, initialized=self.initialized)

    @property
    def all_ready(self) -> bool:
        """Whether as many servers are ready as the spec requests."""
        return self.ready >= self.spec.replicas
