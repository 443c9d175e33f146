"""The ordered table of the steps of a plan, and their merge into one `Desired`. Pure.

managers.cluster.plan.step_texts describes each step for users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import managers.bootstrap.audit_storage as audit_storage
import managers.bootstrap.plan as bootstrap
import managers.certs.plan as certs
import managers.cluster.plan.green_pool as green_pool
import managers.identity.plan as identity
import managers.images.plan as images
import managers.networking.plan as networking
import managers.workload.plan as workload
import managers.workload.read_pool as read_pool
from contracts.records.desired import Desired, Plan
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.cluster.plan.adoption import OWN, Adoption, with_adoption
from managers.workload.rollout.reload import Files
from runtime.outcome import combine


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    name: str
    plan: Callable[[Resolved, Observed], Plan]


NO_DECISION = UpgradeDecision(Release(""))
"""No decision about releases."""

FOUNDATION: tuple[Step, ...] = (
    # Keys and certificates first: a pod cannot start without them.
    Step("bootstrap", bootstrap.plan),
    Step("audit", audit_storage.plan),
    Step("certs", certs.plan),
    Step("green pool", green_pool.files),
    # Before the pods, so that none ever runs without its network policy or its rights.
    Step("networking", networking.plan),
    Step("identity", identity.plan),
    # Last: it only decides whether pods may be changed.
    Step("images", images.plan),
)


def _workload(
    resolved: Resolved,
    observed: Observed,
    decision: UpgradeDecision = NO_DECISION,
    adoption: Adoption = OWN,
) -> Plan:
    """Plan the StatefulSets, the disruption budget, and at most one replaced pod of each."""
    server = observed.secrets.get(resolved.tls.server_secret or "")
    certificate = server.certificate if server else None
    inputs = workload.Inputs(
        restart=resolved.restart_text,
        files=Files(
            config=resolved.config_text,
            reload_text=resolved.reload_text,
            certificate=certificate.fingerprint if certificate else "",
            authority=server.authority if server else "",
        ),
        operator_image=resolved.pod.operator_image,
        hold_reason=decision.hold_reason or adoption.hold_reason,
        step_down_job=decision.step_down_job,
        hold_read_replicas=decision.hold_read_replicas,
    )
    pool = read_pool.plan(resolved, observed, inputs)
    inputs = replace(inputs, hold=pool.hold, hold_reload=pool.hold_reload)
    voters = read_pool.with_read_pool(workload.plan(resolved, observed, inputs), pool)
    green = green_pool.servers(resolved, observed, inputs)
    return replace(
        voters,
        intents=green_pool.without_frozen_pool(resolved, decision, voters.intents) + green.intents,
        effects=voters.effects + green.effects,
        outcome=combine(voters.outcome, green.outcome),
    )


WORKLOAD = Step("workload", _workload)


def merge_plans(
    resolved: Resolved,
    observed: Observed,
    decision: UpgradeDecision = NO_DECISION,
    adoption: Adoption = OWN,
) -> Desired:
    """Plan every step, given the decisions about the release and the adoption.

    A step can gate the pods; the other steps continue, so that one missing object does not block
    the repair of the rest.
    """
    plans = [step.plan(resolved, observed) for step in FOUNDATION]
    foundation = tuple(intent for plan in plans for intent in plan.intents)
    gated = any(plan.gate for plan in plans)
    on_hold = gated or adoption.holds_servers
    pods = Plan() if on_hold else _workload(resolved, observed, decision, adoption)
    all_plans = [*plans, pods]
    desired = Desired(
        foundation=foundation,
        workload=pods.intents,
        optional=tuple(intent for plan in plans for intent in plan.optional),
        optional_kinds=observed.exposure.usable,
        effects=tuple(effect for plan in all_plans for effect in plan.effects),
        outcomes=tuple(plan.outcome for plan in all_plans),
        complete=not gated,
        operation=next((plan.operation for plan in all_plans if plan.operation), None),
        rollout=pods.rollout,
        retained=tuple(named for plan in all_plans for named in plan.retained),
    )
    return with_adoption(desired, adoption, observed)
