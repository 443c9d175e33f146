"""What the facts of one pass say about each condition. Pure; called by `managers.cluster.status`.

One function per condition, and one table that names them all. Messages say what is, why, and
what to do; programs read type, status and reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts import names
from contracts.api.cluster import ClusterSpec
from contracts.api.cluster_status import LastError, RaftStatus
from contracts.conditions import Finding
from contracts.observed import Observed
from managers.workload.plan import ROLL_PATIENCE
from runtime.outcome import Blocked, Outcome, Wait

# Blocked reasons that are about certificates, and show in TLSReady too.
TLS_REASONS = frozenset({"CASecretMissing", "TLSSecretInvalid", "TLSSecretMissing"})
# A pass that waits for one of these is changing something on purpose.
ON_PURPOSE = frozenset({"RollingOut", "FirstBoot"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the conditions are judged by."""

    name: str
    spec: ClusterSpec
    observed: Observed
    outcome: Outcome
    initialized: bool
    raft: RaftStatus | None
    trouble: LastError | None
    """What the adminops reconciler could not do or found wrong."""
    was_running: bool
    unserved: tuple[str, ...]
    conflicts: tuple[str, ...]

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
    since = facts.observed.rolling_since
    if since is not None and facts.observed.now - since >= ROLL_PATIENCE:
        on_purpose = False
    if facts.was_running and facts.ready < facts.expected and not on_purpose:
        message = _count(facts) + _why_not_ready(facts)
        return Finding("Degraded", "True", "NotReady", message)
    return Finding("Degraded", "False", "Ready", "Nothing is wrong that used to work")


def _tls(facts: Facts) -> Finding:
    blocked = facts.outcome
    if isinstance(blocked, Blocked) and blocked.reason in TLS_REASONS:
        return Finding("TLSReady", "False", blocked.reason, blocked.message)
    secret_name = names.tls_server_secret(facts.name)
    secret = facts.observed.secrets.get(secret_name)
    if secret is None:
        return Finding(
            "TLSReady", "False", "TLSSecretMissing", f"Secret {secret_name} is not there yet"
        )
    if not secret.mine:
        return Finding(
            "TLSReady", "False", "ForeignObject", f"Secret {secret_name} belongs to {secret.owner}"
        )
    if secret.certificate is None:
        return Finding(
            "TLSReady", "False", "TLSSecretInvalid", f"Secret {secret_name}: {secret.problem}"
        )
    until = secret.certificate.not_after.date().isoformat()
    return Finding("TLSReady", "True", "Ready", f"The server certificate is valid until {until}")


def _initialized(facts: Facts) -> Finding:
    if facts.initialized:
        return Finding("OpenBaoInitialized", "True", "Initialized", "OpenBao is initialised")
    if isinstance(facts.outcome, Blocked) and facts.outcome.reason == "SelfInitFailed":
        return Finding("OpenBaoInitialized", "False", "SelfInitFailed", facts.outcome.message)
    return Finding(
        "OpenBaoInitialized",
        "False",
        "NotInitialized",
        "The first server has not initialised the cluster yet" + _why_not_ready(facts),
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
    return Finding(kind, "True", "ProductionReady", "Nothing known speaks against production use")


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
    _membership,
    _conflict,
    _paused,
    _unserved,
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


def _leaders(facts: Facts) -> str:
    return f"These say that they lead: {', '.join(p.name for p in facts.observed.leaders)}"
