"""Computes each condition from the facts of one reconcile. Pure; called by
`managers.cluster.status.cluster_status`.

One function per condition, and one table of them all. Messages state the situation, the cause and
the user action; programs read type, status and reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contracts.conditions.condition import ConditionUpdate, Status
from contracts.naming import names
from managers.backup.condition import backing_up, backup_healthy
from managers.bootstrap.audit_storage import audit_storage_ready
from managers.bootstrap.seal.condition import unseal_identity
from managers.bootstrap.server_pod_part import audit_volume
from managers.certs.condition import tls_ready
from managers.cluster.plan.adoption import adoption_condition
from managers.cluster.status.inputs import ConditionFacts
from managers.cluster.status.login_conditions import (
    operator_login,
    recovery_keys,
    root_access,
    user_access,
)
from managers.cluster.status.schema_condition import schema_outdated
from managers.cluster.status.server_conditions import (
    count,
    initialized_condition,
    leader,
    leaders,
    sealed_condition,
    why_not_ready,
)
from managers.context.reads.admission_message import policies_message
from managers.identity.account import service_account_ready
from managers.membership.condition import even_replicas, membership_ready
from managers.membership.green_members import green_member_count
from managers.networking.api_server_condition import api_server_network
from managers.networking.conditions import ingress_ready, monitor_ready
from managers.networking.gateway_condition import gateway_ready
from managers.restore.condition import restoring
from managers.restore_test.condition import backup_proven
from managers.upgrade.condition import failure_of, upgrading_while_paused
from managers.upgrade.effective_spec import hibernation_delay, with_accepted_release
from managers.workload.conditions import fenced_condition, hibernated_condition, maintenance
from managers.workload.read_conditions import read_replicas_ready, read_serving
from managers.workload.storage.condition import storage_configured
from runtime.outcome import Blocked, Wait

# A wait with one of these reasons is an intended change. The plan limits its duration: a late
# rollout waits with the reason RolloutStuck.
ON_PURPOSE = frozenset(
    {
        "RollingOut",
        "Adopting",
        "DisruptionBudgetClosed",
        "FirstBoot",
        "RotatingUnsealKey",
        "Waking",
        "StorageResizing",
        "UpgradeInProgress",
    }
)


ConditionEvaluator = Callable[[ConditionFacts], ConditionUpdate | None]
"""None: the spec does not request the feature of the condition, so it is not reported."""


def findings(facts: ConditionFacts) -> tuple[ConditionUpdate, ...]:
    """Compute every condition, in the order of the table."""
    updates = [evaluate(facts) for evaluate in CONDITION_EVALUATORS]
    return tuple(update for update in updates if update is not None)


def _ready(facts: ConditionFacts) -> ConditionUpdate:
    if facts.spec.paused:
        return ConditionUpdate(
            "Ready", "Unknown", "Paused", "spec.paused is true: nothing is changed"
        )
    if isinstance(facts.outcome, Blocked | Wait):
        return ConditionUpdate("Ready", "False", facts.outcome.reason, facts.outcome.message)
    if facts.stopped is not None:
        return ConditionUpdate("Ready", "False", facts.stopped.reason, facts.stopped.message)
    if not facts.all_ready:
        return ConditionUpdate("Ready", "False", "NotReady", count(facts))
    if facts.error is not None and facts.error.reason == "SplitBrain":
        return ConditionUpdate("Ready", "False", "SplitBrain", facts.error.message)
    match len(facts.observed.leaders):
        case 0:
            # A server without contact to its leader passes its probe and refuses every request.
            message = f"{count(facts)}, but none of them is the leader"
            return ConditionUpdate("Ready", "False", "LeaderUnknown", message)
        case 1:
            return ConditionUpdate("Ready", "True", "AllReplicasReady", count(facts))
        case _:
            return ConditionUpdate("Ready", "False", "MultipleLeaders", leaders(facts))


def _reconciling(facts: ConditionFacts) -> ConditionUpdate:
    if isinstance(facts.outcome, Wait) and not facts.spec.paused:
        return ConditionUpdate("Reconciling", "True", facts.outcome.reason, facts.outcome.message)
    return ConditionUpdate("Reconciling", "False", "Ready", "Nothing is being changed")


def _stalled(facts: ConditionFacts) -> ConditionUpdate:
    if isinstance(facts.outcome, Blocked) and not facts.spec.paused:
        return ConditionUpdate("Stalled", "True", facts.outcome.reason, facts.outcome.message)
    return ConditionUpdate("Stalled", "False", "Ready", "No user action is required")


def _available(facts: ConditionFacts) -> ConditionUpdate:
    if facts.spec.paused:
        return ConditionUpdate(
            "Available", "Unknown", "Paused", "spec.paused is true: the servers are not checked"
        )
    if facts.all_ready:
        return ConditionUpdate("Available", "True", "AllReplicasReady", count(facts))
    if facts.stopped is not None:
        return ConditionUpdate("Available", "False", facts.stopped.reason, facts.stopped.message)
    reason = "NotReady" if facts.ready else "NoReplicasReady"
    return ConditionUpdate("Available", "False", reason, count(facts) + why_not_ready(facts))


def _degraded(facts: ConditionFacts) -> ConditionUpdate:
    failure = failure_of(facts.cluster, facts.decision)
    if failure is not None:
        return ConditionUpdate("Degraded", "True", failure.reason, failure.message)
    if isinstance(facts.outcome, Blocked):
        return ConditionUpdate("Degraded", "True", facts.outcome.reason, facts.outcome.message)
    if facts.error is not None and facts.error.reason == "SplitBrain":
        return ConditionUpdate("Degraded", "True", "SplitBrain", facts.error.message)
    if len(facts.observed.leaders) > 1:
        return ConditionUpdate("Degraded", "True", "MultipleLeaders", leaders(facts))
    on_purpose = isinstance(facts.outcome, Wait) and facts.outcome.reason in ON_PURPOSE
    if facts.was_running and facts.ready < facts.expected and not on_purpose:
        message = count(facts) + why_not_ready(facts)
        return ConditionUpdate("Degraded", "True", "NotReady", message)
    return ConditionUpdate(
        "Degraded", "False", "Ready", "No component that was healthy is degraded"
    )


def _tls(facts: ConditionFacts) -> ConditionUpdate:
    return tls_ready(facts.spec.tls.mode, facts.server_secret, facts.observed, facts.outcome)


def _membership(facts: ConditionFacts) -> ConditionUpdate:
    kind = "RaftMembershipReady"
    if not facts.initialized:
        return ConditionUpdate(kind, "Unknown", "NotInitialized", "There are no members yet")
    if facts.error is not None and facts.error.reason == "SplitBrain":
        return ConditionUpdate(kind, "False", "SplitBrain", facts.error.message)
    if facts.hibernated:
        return ConditionUpdate(
            kind,
            "Unknown",
            "Hibernated",
            "The cluster is hibernated; the raft membership is unchanged",
        )
    cluster = facts.cluster
    # During a blue/green upgrade the number of replicas is that at its start.
    spec = with_accepted_release(cluster).spec if cluster is not None else facts.spec
    return membership_ready(
        spec, facts.raft, facts.error, green_servers=green_member_count(cluster)
    )


def _hibernated(facts: ConditionFacts) -> ConditionUpdate | None:
    delay = None if facts.cluster is None else hibernation_delay(facts.cluster)
    if delay is not None:
        return ConditionUpdate("Hibernated", "False", delay.reason, delay.message)
    return hibernated_condition(facts.spec, facts.observed, initialized=facts.initialized)


def _read_replicas(facts: ConditionFacts) -> ConditionUpdate | None:
    return read_replicas_ready(facts.spec, facts.observed, initialized=facts.initialized)


def _read_serving(facts: ConditionFacts) -> ConditionUpdate | None:
    return read_serving(facts.spec, facts.observed, initialized=facts.initialized)


def _autopilot(facts: ConditionFacts) -> ConditionUpdate:
    kind = "AutopilotConfigured"
    autopilot = facts.autopilot
    if not facts.initialized:
        return ConditionUpdate(kind, "Unknown", "NotInitialized", "There is no raft cluster yet")
    if autopilot is None:
        return ConditionUpdate(kind, "Unknown", "AutopilotUnknown")
    if not autopilot.applied:
        return ConditionUpdate(kind, "False", "AutopilotRefused", autopilot.message)
    return ConditionUpdate(kind, "True", "AutopilotApplied")


def _audit_storage(facts: ConditionFacts) -> ConditionUpdate | None:
    volume = audit_volume(facts.name, facts.spec.audit_file_storage)
    if volume is None:
        return None
    pvc = facts.observed.audit_claim
    return audit_storage_ready(volume, pvc, facts.owner_uid, facts.spec.replicas)


def _conflict(facts: ConditionFacts) -> ConditionUpdate:
    if facts.conflicts:
        return ConditionUpdate("Conflict", "True", "ForeignObject", "; ".join(facts.conflicts))
    return ConditionUpdate(
        "Conflict", "False", "NoConflict", "Every object of the cluster belongs to it"
    )


def _paused(facts: ConditionFacts) -> ConditionUpdate | None:
    if facts.spec.paused:
        return ConditionUpdate(
            "Paused", "True", "Paused", "spec.paused is true: nothing is changed"
        )
    return None


def _unserved(facts: ConditionFacts) -> ConditionUpdate | None:
    if facts.unserved:
        message = f"Accepted, but without effect in this release: {', '.join(facts.unserved)}"
        return ConditionUpdate("UnsupportedFields", "True", "UnsupportedFields", message)
    return None


def _security_risk(facts: ConditionFacts) -> ConditionUpdate | None:
    if facts.spec.profile != "Development":
        return None
    message = "spec.profile is Development, which accepts settings that are unfit for production"
    return ConditionUpdate("SecurityRisk", "True", "DevelopmentProfile", message)


def _images(facts: ConditionFacts) -> ConditionUpdate | None:
    kind = "ImageVerified"
    policy = facts.spec.image_verification
    if policy is None or not policy.enabled:
        return None
    verdicts = facts.observed.images
    problem = next((verdict for verdict in verdicts.values() if verdict.problem), None)
    if problem is not None:
        unreachable = problem.problem == "unreachable"
        reason = "ImageRegistryUnavailable" if unreachable else "ImageVerificationFailed"
        # With Warn the image is used anyway: then the status is not Unknown.
        blocked = unreachable and policy.failure_policy == "Block"
        status: Status = "Unknown" if blocked else "False"
        return ConditionUpdate(kind, status, reason, problem.message)
    if not verdicts:
        return ConditionUpdate(kind, "Unknown", "Unknown", "The image was not verified yet")
    pinned = ", ".join(sorted(verdict.pinned for verdict in verdicts.values()))
    return ConditionUpdate(kind, "True", "ImageVerified", f"Verified by a signature: {pinned}")


def _unseal_identity(facts: ConditionFacts) -> ConditionUpdate | None:
    return unseal_identity(facts.spec, facts.observed)


def _production(facts: ConditionFacts) -> ConditionUpdate:
    kind = "ProductionReady"
    blocker = next(_production_blockers(facts), None)
    if blocker is not None:
        return ConditionUpdate(kind, "False", *blocker)
    return ConditionUpdate(kind, "True", "ProductionReady", "No known blocker for production use")


def _production_blockers(facts: ConditionFacts) -> Iterator[tuple[str, str]]:
    """Yield reason and message of every blocker, the most severe first."""
    spec = facts.spec
    if spec.profile is None:
        yield "ProfileNotSet", "spec.profile is not set"
    if spec.profile == "Development":
        yield "DevelopmentProfile", "spec.profile is Development"
    if facts.unserved:
        yield "UnsupportedFields", f"Without effect: {', '.join(facts.unserved)}"
    if spec.tls.mode == "OperatorManaged":
        yield "OperatorManagedTLS", "The operator has the private key of the CA"
    if spec.unseal.type == "static":
        yield "StaticUnsealInUse", "The unseal key is in a Secret next to the data"
    if names.root_token_secret(facts.name) in facts.observed.secrets:
        yield "RootTokenStored", "A root token is stored in a Secret"
    if _user_access(facts).reason == "NoUserLogin":
        yield "NoUserLogin", "Only the operator can log in"
    if even_warning := even_replicas(spec.replicas):
        yield "EvenReplicas", even_warning
    if missing_policies := policies_message(facts.observed.admission):
        yield "AdmissionPoliciesMissing", missing_policies


def _user_access(facts: ConditionFacts) -> ConditionUpdate:
    if facts.spec.self_initializes:
        return user_access(facts.spec)
    secret = names.root_token_secret(facts.name)
    exists = secret in facts.observed.secrets
    return root_access(secret, exists=exists, initialized=facts.initialized)


def _operator_login(facts: ConditionFacts) -> ConditionUpdate:
    return operator_login(facts.spec, facts.operator_login, initialized=facts.initialized)


def _recovery_keys(facts: ConditionFacts) -> ConditionUpdate | None:
    status = facts.recovery_keys
    return recovery_keys(facts.spec, status, cluster=facts.name, initialized=facts.initialized)


def _service_account(facts: ConditionFacts) -> ConditionUpdate | None:
    return service_account_ready(facts.spec, facts.observed)


def _api_server(facts: ConditionFacts) -> ConditionUpdate | None:
    return api_server_network(facts.spec, facts.observed)


def _backing_up(facts: ConditionFacts) -> ConditionUpdate | None:
    return None if facts.cluster is None else backing_up(facts.cluster)


def _backup_healthy(facts: ConditionFacts) -> ConditionUpdate | None:
    return None if facts.cluster is None else backup_healthy(facts.cluster)


def _upgrading(facts: ConditionFacts) -> ConditionUpdate | None:
    if facts.decision is not None:
        return facts.decision.finding
    return None if facts.cluster is None else upgrading_while_paused(facts.cluster)


def _restoring(facts: ConditionFacts) -> ConditionUpdate | None:
    return None if facts.cluster is None else restoring(facts.cluster)


def _backup_proven(facts: ConditionFacts) -> ConditionUpdate | None:
    return None if facts.cluster is None else backup_proven(facts.cluster, facts.observed.now)


def _adopted(facts: ConditionFacts) -> ConditionUpdate | None:
    return None if facts.cluster is None else adoption_condition(facts.cluster, facts.observed)


def _storage(facts: ConditionFacts) -> ConditionUpdate:
    return storage_configured(facts.name, facts.spec, facts.owner_uid, facts.observed)


CONDITION_EVALUATORS: tuple[ConditionEvaluator, ...] = (
    _ready,
    _reconciling,
    _stalled,
    _available,
    _degraded,
    _tls,
    initialized_condition,
    sealed_condition,
    leader,
    _unseal_identity,
    _membership,
    _read_replicas,
    _read_serving,
    _autopilot,
    _storage,
    _user_access,
    _operator_login,
    _recovery_keys,
    _audit_storage,
    _service_account,
    _api_server,
    lambda facts: ingress_ready(facts.spec, facts.exposure.ingress, facts.observed.exposure),
    lambda facts: gateway_ready(facts.exposure.gateway, facts.observed.exposure),
    lambda facts: monitor_ready(facts.exposure.monitor, facts.observed.exposure),
    _conflict,
    _adopted,
    _paused,
    _hibernated,
    lambda facts: fenced_condition(facts.spec, facts.observed, facts.outcome, facts.cluster),
    lambda facts: maintenance(facts.spec),
    _unserved,
    lambda facts: schema_outdated(facts.observed.missing_fields),
    _images,
    _security_risk,
    _upgrading,
    _backing_up,
    _restoring,
    _backup_healthy,
    _backup_proven,
    _production,
)
