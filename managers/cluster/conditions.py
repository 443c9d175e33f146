"""What the facts of one pass say about each condition. Pure; called by `managers.cluster.status`.

One function per condition, and one table that names them all. Messages say what is, why, and
what to do; programs read type, status and reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts import names
from contracts.api.cluster import ClusterSpec
from contracts.api.cluster_status import AutopilotStatus, RaftStatus
from contracts.api.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.api.status_parts import LastError
from contracts.conditions import Finding, Status
from contracts.observed import Observed
from managers.bootstrap.audit_storage import audit_storage_ready
from managers.bootstrap.seal_condition import unseal_identity
from managers.bootstrap.server_volumes import audit_volume
from managers.certs.condition import tls_ready
from managers.cluster.access import operator_login, recovery_keys, user_access
from runtime.outcome import Blocked, Outcome, Wait

# A pass that waits for one of these is changing something on purpose. How long that may take is
# judged where it is planned: a roll that is late waits for RolloutStuck.
ON_PURPOSE = frozenset({"RollingOut", "FirstBoot", "RotatingUnsealKey"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the conditions are judged by."""

    name: str
    spec: ClusterSpec
    observed: Observed
    outcome: Outcome
    initialized: bool
    raft: RaftStatus | None
    autopilot: AutopilotStatus | None
    trouble: LastError | None
    """What the adminops reconciler could not do or found wrong."""
    was_running: bool
    unserved: tuple[str, ...]
    conflicts: tuple[str, ...]
    server_secret: str | None
    """The Secret with the server certificate; None in mode ACME."""
    owner_uid: str = ""
    recovery_keys: RecoveryKeysStatus | None = None
    operator_login: OperatorLoginStatus | None = None

    @property
    def ready(self) -> int:
        """How many servers are ready."""
        return sum(pod.ready for pod in self.observed.pods)

    @property
    def expected(self) -> int:
        """How many servers ought to be ready: one that has no vote yet is still on its way."""
        voters = self.spec.replicas if self.raft is None else self.raft.voters
        return min(self.spec.replicas, voters)

    @property
    def all_ready(self) -> bool:
        """As many servers are ready as the spec asks for."""
        return self.ready >= self.spec.replicas


Judge = Callable[[Facts], Finding]


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Judge every condition, in the order of the table."""
    return tuple(judge(facts) for judge in JUDGES)


def _ready(facts: Facts) -> Finding:
    if facts.spec.paused:
        return Finding("Ready", "Unknown", "Paused", "spec.paused is true: nothing is changed")
    if isinstance(facts.outcome, Blocked | Wait):
        return Finding("Ready", "False", facts.outcome.reason, facts.outcome.message)
    if not facts.all_ready:
        return Finding("Ready", "False", "NotReady", _count(facts))
    if not facts.observed.leaders:
        # A server that lost sight of its leader passes its probe and refuses every request.
        return Finding(
            "Ready", "False", "LeaderUnknown", f"{_count(facts)}, and none of them leads"
        )
    return Finding("Ready", "True", "AllReplicasReady", _count(facts))


def _reconciling(facts: Facts) -> Finding:
    if isinstance(facts.outcome, Wait) and not facts.spec.paused:
        return Finding("Reconciling", "True", facts.outcome.reason, facts.outcome.message)
    return Finding("Reconciling", "False", "Ready", "Nothing is being changed")


def _stalled(facts: Facts) -> Finding:
    if isinstance(facts.outcome, Blocked) and not facts.spec.paused:
        return Finding("Stalled", "True", facts.outcome.reason, facts.outcome.message)
    return Finding("Stalled", "False", "Ready", "Nothing waits for a person")


def _available(facts: Facts) -> Finding:
    if facts.spec.paused:
        return Finding("Available", "Unknown", "Paused", "spec.paused is true: nobody looks")
    if facts.all_ready:
        return Finding("Available", "True", "AllReplicasReady", _count(facts))
    reason = "NotReady" if facts.ready else "NoReplicasReady"
    return Finding("Available", "False", reason, _count(facts) + _why_not_ready(facts))


def _degraded(facts: Facts) -> Finding:
    if isinstance(facts.outcome, Blocked):
        return Finding("Degraded", "True", facts.outcome.reason, facts.outcome.message)
    if facts.trouble is not None and facts.trouble.reason == "SplitBrain":
        return Finding("Degraded", "True", "SplitBrain", facts.trouble.message)
    if len(facts.observed.leaders) > 1:
        return Finding("Degraded", "True", "MultipleLeaders", _leaders(facts))
    on_purpose = isinstance(facts.outcome, Wait) and facts.outcome.reason in ON_PURPOSE
    if facts.was_running and facts.ready < facts.expected and not on_purpose:
        message = _count(facts) + _why_not_ready(facts)
        return Finding("Degraded", "True", "NotReady", message)
    return Finding("Degraded", "False", "Ready", "Nothing is wrong that used to work")


def _tls(facts: Facts) -> Finding:
    return tls_ready(facts.spec.tls.mode, facts.server_secret, facts.observed, facts.outcome)


def _initialized(facts: Facts) -> Finding:
    if facts.initialized:
        return Finding("OpenBaoInitialized", "True", "Initialized", "OpenBao is initialised")
    if isinstance(facts.outcome, Blocked) and facts.outcome.reason == "SelfInitFailed":
        return Finding("OpenBaoInitialized", "False", "SelfInitFailed", facts.outcome.message)
    return Finding(
        "OpenBaoInitialized",
        "False",
        "NotInitialized",
        "The first server has not initialised the cluster yet"
        + _why_not_ready(facts)
        + _earlier_end(facts),
    )


def _sealed(facts: Facts) -> Finding:
    if not facts.initialized:
        return Finding("OpenBaoSealed", "Unknown", "NotInitialized", "There is nothing to unseal")
    pods = [pod for pod in facts.observed.pods if not pod.terminating]
    sealed = [pod.name for pod in pods if pod.registration.sealed]
    if sealed:
        return Finding("OpenBaoSealed", "True", "Sealed", f"Sealed: {', '.join(sealed)}")
    unknown = [pod.name for pod in pods if pod.registration.sealed is None]
    if unknown or not pods:
        message = f"Not heard from: {', '.join(unknown)}" if pods else "No server runs"
        return Finding("OpenBaoSealed", "Unknown", "Unknown", message)
    return Finding("OpenBaoSealed", "False", "Unsealed", "Every server is unsealed")


def _leader(facts: Facts) -> Finding:
    match len(facts.observed.leaders):
        case 0 if not facts.initialized:
            return Finding("OpenBaoLeader", "False", "NotInitialized", "No server leads yet")
        case 0:
            return Finding("OpenBaoLeader", "Unknown", "LeaderUnknown", "No server says it leads")
        case 1:
            name = facts.observed.leaders[0].name
            return Finding("OpenBaoLeader", "True", "LeaderFound", f"{name} leads")
        case _:
            return Finding("OpenBaoLeader", "False", "MultipleLeaders", _leaders(facts))


def _membership(facts: Facts) -> Finding:
    kind = "RaftMembershipReady"
    if not facts.initialized:
        return Finding(kind, "Unknown", "NotInitialized", "There are no members yet")
    if facts.trouble is not None and facts.trouble.reason == "SplitBrain":
        return Finding(kind, "False", "SplitBrain", facts.trouble.message)
    if facts.raft is None:
        message = facts.trouble.message if facts.trouble else "The members were not read yet"
        return Finding(kind, "Unknown", "MembershipUnknown", message)
    told = f"{facts.raft.voters} of {facts.spec.replicas} servers are voters"
    if facts.raft.voters == facts.spec.replicas and facts.raft.non_voters == 0:
        return Finding(kind, "True", "AllVoters", told)
    if facts.raft.non_voters:
        told += f", {facts.raft.non_voters} are members without a vote"
    return Finding(kind, "False", "VotersMissing", told)


def _autopilot(facts: Facts) -> Finding:
    kind = "AutopilotConfigured"
    known = facts.autopilot
    if not facts.initialized:
        return Finding(kind, "Unknown", "NotInitialized", "There is no raft cluster yet")
    if known is None:
        return Finding(kind, "Unknown", "AutopilotUnknown")
    if not known.applied:
        return Finding(kind, "False", "AutopilotRefused", known.message)
    return Finding(kind, "True", "AutopilotApplied")


def _audit_storage(facts: Facts) -> Finding:
    volume = audit_volume(facts.name, facts.spec.audit_file_storage)
    claim = facts.observed.audit_claim
    return audit_storage_ready(volume, claim, facts.owner_uid, facts.spec.replicas)


def _conflict(facts: Facts) -> Finding:
    if facts.conflicts:
        return Finding("Conflict", "True", "ForeignObject", "; ".join(facts.conflicts))
    return Finding("Conflict", "False", "NoConflict", "Every object of the cluster belongs to it")


def _paused(facts: Facts) -> Finding:
    if facts.spec.paused:
        return Finding("Paused", "True", "Paused", "spec.paused is true: nothing is changed")
    return Finding("Paused", "False", "NotPaused", "The operator works on this cluster")


def _unserved(facts: Facts) -> Finding:
    if facts.unserved:
        message = f"Accepted, and without effect in this release: {', '.join(facts.unserved)}"
        return Finding("FieldsNotServed", "True", "FieldsNotServed", message)
    return Finding("FieldsNotServed", "False", "Served", "Every field of the spec has effect")


def _images(facts: Facts) -> Finding:
    kind = "ImageVerified"
    policy = facts.spec.image_verification
    if policy is None or not policy.enabled:
        return Finding(kind, "Unknown", "ImageNotVerified", "spec.imageVerification is not enabled")
    told = facts.observed.images
    problem = next((verdict for verdict in told.values() if verdict.problem), None)
    if problem is not None:
        unreachable = problem.problem == "unreachable"
        reason = "ImageRegistryUnavailable" if unreachable else "ImageVerificationFailed"
        # With Warn the image is used all the same: that is a fact, and not an open question.
        held = unreachable and policy.failure_policy == "Block"
        status: Status = "Unknown" if held else "False"
        return Finding(kind, status, reason, problem.message)
    if not told:
        return Finding(kind, "Unknown", "Unknown", "Nobody has looked at the image")
    pinned = ", ".join(sorted(verdict.pinned for verdict in told.values()))
    return Finding(kind, "True", "ImageVerified", f"Proven by a signature: {pinned}")


def _unseal_identity(facts: Facts) -> Finding:
    return unseal_identity(facts.spec, facts.observed)


def _production(facts: Facts) -> Finding:
    kind = "ProductionReady"
    if facts.spec.profile is None:
        return Finding(kind, "False", "ProfileNotSet", "spec.profile is not set")
    if facts.spec.profile == "Development":
        return Finding(kind, "False", "DevelopmentProfile", "spec.profile is Development")
    if facts.unserved:
        return Finding(
            kind, "False", "FieldsNotServed", f"Without effect: {', '.join(facts.unserved)}"
        )
    if facts.spec.tls.mode == "OperatorManaged":
        return Finding(
            kind, "False", "OperatorManagedTLS", "The operator holds the key of the authority"
        )
    if facts.spec.unseal.type == "static":
        return Finding(
            kind, "False", "StaticUnsealInUse", "The unseal key lies in a Secret beside the data"
        )
    if names.root_token_secret(facts.name) in facts.observed.secrets:
        return Finding(kind, "False", "RootTokenStored", "A root token lies in a Secret")
    access = user_access(facts.spec, facts.name)
    if access.reason == "NoUserLogin":
        return Finding(kind, "False", "NoUserLogin", "Nobody but the operator can log in")
    return Finding(kind, "True", "ProductionReady", "Nothing known speaks against production use")


def _user_access(facts: Facts) -> Finding:
    return user_access(facts.spec, facts.name)


def _operator_login(facts: Facts) -> Finding:
    return operator_login(facts.spec, facts.operator_login, initialized=facts.initialized)


def _recovery_keys(facts: Facts) -> Finding:
    known = facts.recovery_keys
    return recovery_keys(facts.spec, known, cluster=facts.name, initialized=facts.initialized)


JUDGES: tuple[Judge, ...] = (
    _ready,
    _reconciling,
    _stalled,
    _available,
    _degraded,
    _tls,
    _initialized,
    _sealed,
    _leader,
    _unseal_identity,
    _membership,
    _autopilot,
    _user_access,
    _operator_login,
    _recovery_keys,
    _audit_storage,
    _conflict,
    _paused,
    _unserved,
    _images,
    _production,
)


def _count(facts: Facts) -> str:
    return f"{facts.ready} of {facts.spec.replicas} servers are ready"


def _why_not_ready(facts: Facts) -> str:
    """Name the first pod that cannot run and why, in the kubelet's or the scheduler's words."""
    for pod in facts.observed.pods:
        if not pod.ready and pod.waiting:
            return f"; {pod.name} waits: {pod.waiting}"
    return ""


def _earlier_end(facts: Facts) -> str:
    """Point at the log of a first server that ends again and again, where the reason is told.

    From OpenBao 2.5.3 on a server whose first boot failed refuses every further start, so it never
    becomes ready and nothing else would tell.
    """
    for pod in facts.observed.pods:
        if not pod.ready and pod.restarts and pod.last_exit is not None:
            return (
                f"; {pod.name} ended {pod.restarts} times, last with code {pod.last_exit.code}: "
                f"read `kubectl logs {pod.name} --previous`"
            )
    return ""


def _leaders(facts: Facts) -> str:
    return f"These say that they lead: {', '.join(p.name for p in facts.observed.leaders)}"
