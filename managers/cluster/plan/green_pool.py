"""The green pool: its resolved spec, and its objects. Pure.

It exists during a blue/green upgrade (managers.upgrade.bluegreen.facts). The serving pool is
planned by the steps of every cluster; this module adds green.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.voter_pool import voter_pools
from contracts.records.bluegreen_phases import IDLE
from contracts.records.desired import Named, Plan
from contracts.records.observed import Observed
from contracts.records.resolved import PoolSpec, Resolved
from contracts.records.upgrade import blue_green_under_way
from contracts.records.upgrade_decision import UpgradeDecision
from managers.bootstrap.plan import config_map
from managers.context.installation import Installation
from managers.images.plan import images_of
from managers.upgrade.effective_spec import with_target_release
from managers.workload.green_pool import green_inputs, green_shape, green_stateful_set, green_view
from managers.workload.objects.annotations import first_marks
from managers.workload.plan import Inputs, reload_effects, sort_pods
from managers.workload.rollout.reload import RELOADING
from runtime.apply.intent import Intent
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.outcome import Done, Wait
from runtime.types import ObjectKey


def with_green_pool(
    resolved: Resolved,
    cluster: OpenBaoCluster,
    observed: Observed,
    installation: Installation,
    decision: UpgradeDecision,
) -> Resolved:
    """Add the green pool to the resolved cluster, and the pool that receives client traffic.

    `cluster` is the CR as its user wrote it.
    """
    if not decision.is_blue_green or (
        decision.state == IDLE and not blue_green_under_way(cluster.status.blue_green)
    ):
        return resolved
    other_pools = voter_pools(cluster)[1:]
    return replace(
        resolved,
        green=_green_pool(resolved, cluster, observed, installation, decision),
        other=other_pools[0] if other_pools else None,
        traffic=decision.traffic,
        traffic_first=not decision.traffic and _is_labeled(decision, observed),
    )


def _is_labeled(decision: UpgradeDecision, observed: Observed) -> bool:
    """Report whether Services can select the first pool by its label.

    Before green exists, all ready pods must have the label.
    """
    ready = [pod for pod in observed.pods if pod.ready and not pod.terminating]
    if decision.state == IDLE:
        return bool(ready) and all(pod.first_set for pod in ready)
    return any(pod.first_set for pod in observed.pods)


def without_frozen_pool(
    resolved: Resolved, decision: UpgradeDecision, intents: tuple[Intent, ...]
) -> tuple[Intent, ...]:
    """Leave out the serving StatefulSet while it must not change."""
    serving_spec = decision.pool_of(resolved.revision)
    if serving_spec is None or serving_spec.applied:
        return intents
    serving_name = resolved.voter_pool.stateful_set
    return tuple(
        intent
        for intent in intents
        if (intent.resource, intent.key.name) != (STATEFUL_SET, serving_name)
    )


def _green_pool(
    resolved: Resolved,
    cluster: OpenBaoCluster,
    observed: Observed,
    installation: Installation,
    decision: UpgradeDecision,
) -> PoolSpec | None:
    green_spec = decision.other_than(resolved.revision)
    targeted = with_target_release(cluster)
    if green_spec is None or not green_spec.applied or targeted is None:
        return None
    return replace(green_spec, images=images_of(targeted.spec, installation, observed))


def files(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the configuration of green; that of a pool under deletion is not pruned."""
    if resolved.green is not None:
        return Plan((config_map(green_view(resolved, resolved.green)),))
    return Plan(retained=_retained_config(resolved, observed))


def _retained_config(resolved: Resolved, observed: Observed) -> tuple[Named, ...]:
    """Keep the configuration: a server that restarts before its deletion still needs it."""
    pool, other = observed.green, resolved.other
    if other is None or not (pool.stateful_set or pool.pods):
        return ()
    return ((CONFIG_MAP, ObjectKey(resolved.namespace, other.config_map)),)


def servers(resolved: Resolved, observed: Observed, serving: Inputs) -> Plan:
    """Plan the servers of green; `serving` are the inputs of the serving pool.

    The operator never replaces a server of green: the upgrade waits for the servers, or abandons
    the pool. They reload changed files.
    """
    green, label_effects = resolved.green, first_marks(resolved, observed)
    if green is None:
        return Plan(effects=label_effects)
    if not isinstance(green.images.outcome, Done):
        return Plan(effects=label_effects, outcome=green.images.outcome)
    pool, view = observed.green, green_view(resolved, green)
    inputs = green_inputs(view, serving)
    shape = green_shape(view, inputs, pool.stateful_set)
    lagging = sort_pods(observed.with_pool(pool), shape, inputs).lagging
    reloading = Wait(RELOADING, "servers of the green pool reload their files")
    return Plan(
        (green_stateful_set(view, shape),),
        (*label_effects, *reload_effects(view, lagging, inputs, observed.now)),
        reloading if lagging.due or lagging.waiting else Done(),
    )
