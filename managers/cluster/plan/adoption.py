"""Adopts servers of another operator, or of a release with other selectors. Pure.

The public Go operator uses the same names, keys and volumes, but other selectors and pods. This
operator writes nothing that those servers depend on before a user requests the first restart. Then
it labels the pods in place, recreates the StatefulSet around them, and replaces them one by one
(docs/adr/20261126-adoption-of-running-servers.md).

Called by managers.cluster.reconcile, managers.cluster.resolve and managers.cluster.plan.steps, and
for the condition Adopted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.conditions.condition import ConditionUpdate
from contracts.naming import mount_paths, names
from contracts.pools.voter_pool import ServerPool, serving_pool
from contracts.records.desired import CONTENT, Desired
from contracts.records.effects import LabelPod
from contracts.records.foreign_stateful_set import ForeignObject, ForeignStatefulSet, Pairs
from contracts.records.observed import Observed, PodFacts
from contracts.records.resolved import Resolved
from contracts.records.upgrade import Release
from managers.upgrade.effective_spec import accepted_release
from runtime.apply.intent import Intent
from runtime.builtin_kinds import NETWORK_POLICY, POD_DISRUPTION_BUDGET, SERVICE
from runtime.outcome import Blocked, Outcome, Wait

Stage = Literal["none", "pending", "labeling", "moving"]
"""Stage of the adoption of the voters. none: this operator created their StatefulSet. pending: it
is unchanged. labeling: a user requested a restart, and pods lack labels. moving: the StatefulSet
is recreated next."""

ADOPTING: Final = "Adopting"
PENDING: Final = "AdoptionPending"
REFUSED: Final = "AdoptionRefused"
CONDITION: Final = "Adopted"
PARALLEL: Final = "Parallel"
NEXT = (
    "the operator labels the pods in place, recreates the StatefulSet around them, and replaces "
    "the pods one by one"
)


@dataclass(frozen=True, slots=True)
class Adoption:
    """The decision of one reconcile about servers that another operator created."""

    stage: Stage = "none"
    keep: tuple[ForeignObject, ...] = ()
    """Objects that are neither written nor deleted."""
    common_labels: Pairs | None = None
    """Labels that every pod has: a new selector uses no other label. None: no such limit."""
    effects: tuple[LabelPod, ...] = ()
    outcome: Outcome = CONTENT
    differences: tuple[str, ...] = ()

    @property
    def holds_servers(self) -> bool:
        """Whether no StatefulSet is planned."""
        return self.stage in ("pending", "labeling")

    @property
    def hold_reason(self) -> str:
        """The reason why no pod may be replaced; "" if pods may be replaced."""
        return "the StatefulSet is recreated first" if self.stage == "moving" else ""


OWN = Adoption()


def adoption_of(cluster: OpenBaoCluster, observed: Observed) -> Adoption:
    """Decide the next step of an adoption; OWN when no other operator created the servers.

    Pods of an older release of this operator may lack labels, too: they are labeled immediately.
    """
    live = observed.stateful_set
    if live is None:
        return OWN
    pool = serving_pool(cluster)
    effects = _labeling(pool, live.uid, observed.pods)
    if live.foreign is None:
        if not effects:
            return OWN
        return Adoption(
            "labeling", common_labels=_common_labels(observed, live.uid), effects=effects
        )
    differences = _differences(pool, live.foreign, observed.pods)
    adoption = Adoption(
        "pending",
        observed.foreign_objects,
        _common_labels(observed, live.uid),
        differences=differences,
    )
    if not _is_requested(cluster, live.foreign):
        return adoption
    if effects:
        pods = _short_list(effect.target for effect in effects)
        wait = Wait(ADOPTING, f"labeling pods {pods} in place")
        return replace(adoption, stage="labeling", effects=effects, outcome=wait)
    message = f"recreating StatefulSet {pool.stateful_set} around its pods"
    return Adoption("moving", outcome=Wait(ADOPTING, message), differences=differences)


def _labeling(
    pool: ServerPool, controller: str, pods: tuple[PodFacts, ...]
) -> tuple[LabelPod, ...]:
    """Return the labels that the pods of this StatefulSet lack; other pods are not labeled."""
    missing_by_pod = (
        (pod, missing_labels(pool, pod)) for pod in pods if pod.controller == controller
    )
    return tuple(
        LabelPod(pod.name, pod.uid, controller, missing)
        for pod, missing in missing_by_pod
        if missing and not pod.terminating
    )


def _is_requested(cluster: OpenBaoCluster, live: ForeignStatefulSet) -> bool:
    """Report whether a user requested a restart or another release."""
    restart_at = requested_restart(cluster.spec)
    if restart_at and restart_at != live.restart_at:
        return True
    return Release.requested(cluster) != accepted_release(cluster)


def requested_restart(spec: ClusterSpec) -> str:
    """Return the token of the restart that the spec requests; "" for none."""
    runtime, maintenance = spec.runtime, spec.maintenance
    return (
        (runtime.restart_at if runtime else None)
        or (maintenance.restart_at if maintenance else None)
        or ""
    )


def missing_labels(pool: ServerPool, pod: PodFacts) -> Pairs:
    """Return the labels of its pool that a pod does not have."""
    return tuple(sorted(pool.pod_labels.items() - set(pod.labels)))


def _common_labels(observed: Observed, controller: str) -> Pairs:
    """Return the labels that all pods of this StatefulSet have."""
    sets = [set(pod.labels) for pod in observed.pods if pod.controller == controller]
    return tuple(sorted(set.intersection(*sets))) if sets else ()


def _differences(
    pool: ServerPool, live: ForeignStatefulSet, pods: tuple[PodFacts, ...]
) -> tuple[str, ...]:
    differences = []
    selector = sorted(set(pool.selector) - {key for key, _ in live.selector})
    if selector:
        differences.append(
            f"StatefulSet {pool.stateful_set} does not select by {', '.join(selector)}"
        )
    if live.policy != PARALLEL:
        differences.append(f"its podManagementPolicy is {live.policy} instead of {PARALLEL}")
    missing = sorted({key for pod in pods for key, _ in missing_labels(pool, pod)})
    if missing:
        differences.append(f"its pods lack the labels {', '.join(missing)}")
    differences.append("its pods read a configuration that another operator wrote")
    return tuple(differences)


# --- refusals ------------------------------------------------------------------------------------


def adoption_refusal(cluster: OpenBaoCluster, observed: Observed) -> Blocked | None:
    """Refuse servers that cannot be adopted, before the first write."""
    live = observed.stateful_set
    if live is None or live.foreign is None:
        return None
    obstacle = _obstacle(cluster, live.foreign)
    if not obstacle:
        return None
    name = serving_pool(cluster).stateful_set
    message = f"StatefulSet {name}, which another operator created, cannot be adopted: {obstacle}"
    return Blocked(REFUSED, message)


def _obstacle(cluster: OpenBaoCluster, live: ForeignStatefulSet) -> str:
    pool = serving_pool(cluster)
    service = names.headless_service(cluster.metadata.name)
    unknown = {key for key, value in live.selector if pool.pod_labels.get(key) != value}
    facts = (
        (
            not cluster.status.initialized,
            "status.initialized is not true, so its first boot is not complete: let the other "
            "operator complete it",
        ),
        (
            live.rolling,
            "its pods are being replaced: let the other operator complete the rollout",
        ),
        (
            bool(unknown) or live.expressions,
            f"its selector requires {_short_list(sorted(unknown)) or 'matchExpressions'}, which "
            "no pod of this operator has",
        ),
        (
            live.service != service,
            f"spec.serviceName is {live.service}, so the addresses of its servers are not those of "
            f"Service {service}",
        ),
        (
            names.DATA_VOLUME not in live.claims,
            f"it has no volumeClaimTemplate {names.DATA_VOLUME}, so its volumes have other names",
        ),
        (
            live.data_path != mount_paths.DATA,
            f"its servers store their data at {live.data_path or 'no volume'} instead of "
            f"{mount_paths.DATA}",
        ),
    )
    return next((text for holds, text in facts if holds), "")


# --- the plan and the condition ------------------------------------------------------------------

_SELECTING = {
    SERVICE: ("spec", "selector"),
    POD_DISRUPTION_BUDGET: ("spec", "selector", "matchLabels"),
    NETWORK_POLICY: ("spec", "podSelector", "matchLabels"),
}
"""Path of the pod selector in an object."""


def with_served_names(resolved: Resolved, adoption: Adoption, observed: Observed) -> Resolved:
    """Return the spec without the names that the certificate of the present servers lacks.

    The certificate is renewed when it is due, and not to add a name before the adoption.
    """
    server = observed.secrets.get(resolved.tls.server_secret or "")
    if not adoption.holds_servers or server is None or server.certificate is None:
        return resolved
    served = server.certificate
    return replace(
        resolved,
        certificate_names=tuple(
            name for name in resolved.certificate_names if name in served.dns_names
        ),
        certificate_addresses=tuple(
            address for address in resolved.certificate_addresses if address in served.ip_addresses
        ),
    )


def with_adoption(desired: Desired, adoption: Adoption, observed: Observed) -> Desired:
    """Return the plan without the kept objects, and with selectors that match the present pods.

    Nothing is pruned while pods of another operator run: they may mount it.
    """
    complete = desired.complete and all(pod.template for pod in observed.pods)
    if adoption.stage == "none":
        return desired if complete == desired.complete else replace(desired, complete=False)
    keep = frozenset(adoption.keep)

    def remaining(intents: tuple[Intent, ...]) -> tuple[Intent, ...]:
        return tuple(
            _with_common_labels(intent, adoption.common_labels)
            for intent in intents
            if (intent.resource, intent.key) not in keep
        )

    return replace(
        desired,
        foundation=remaining(desired.foundation),
        optional=remaining(desired.optional),
        effects=(*adoption.effects, *desired.effects),
        outcomes=(adoption.outcome, *desired.outcomes),
        complete=False,
    )


def _with_common_labels(intent: Intent, common_labels: Pairs | None) -> Intent:
    """Return the object with a selector of labels that the pods already have."""
    path = _SELECTING.get(intent.resource)
    if common_labels is None or path is None:
        return intent
    selector: Any = intent.body
    for step in path:
        selector = selector.get(step) or {}
    pool_keys = {key for key, _ in common_labels}
    usable = {
        key: value for key, value in selector.items() if key in pool_keys or key not in _POOL_KEYS
    }
    if usable == selector:
        return intent
    body: Any = usable
    for step in reversed(path):
        body = {step: body}
    merged = {**intent.body, "spec": {**intent.body["spec"], **body["spec"]}}
    return Intent(intent.resource, merged, intent.keep, intent.outlives_owner)


_POOL_KEYS = frozenset(ServerPool("x").pod_labels)


def adoption_condition(cluster: OpenBaoCluster, observed: Observed) -> ConditionUpdate | None:
    """Report what another operator created, and the next step; None when it created nothing."""
    refusal = adoption_refusal(cluster, observed)
    if refusal is not None:
        return ConditionUpdate(CONDITION, "False", refusal.reason, refusal.message)
    adoption = adoption_of(cluster, observed)
    if not adoption.differences:
        return None
    differences = "; ".join(adoption.differences)
    if adoption.stage != "pending":
        wait = f"{adoption.outcome.message}. " if isinstance(adoption.outcome, Wait) else ""
        return ConditionUpdate(CONDITION, "False", ADOPTING, wait + differences)
    foreign = _short_list(f"{kind.kind} {key.name}" for kind, key in adoption.keep)
    message = (
        f"Another operator created these servers: {differences}. This operator does not change "
        f"them{foreign and f', nor {foreign},'} and changes of the spec do not reach them, until "
        f"you set spec.runtime.restartAt to the current time: then {NEXT}"
    )
    return ConditionUpdate(CONDITION, "False", PENDING, message)


_LISTED = 8


def _short_list(items: Iterable[str]) -> str:
    all_items = list(items)
    more = f" and {len(all_items) - _LISTED} more" if len(all_items) > _LISTED else ""
    return ", ".join(all_items[:_LISTED]) + more
