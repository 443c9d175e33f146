"""Computes the observation of a record from its objects: completeness and health. Pure.

Called by managers.datacenter.provider.kubernetes. Each kind is evaluated by the status that its
controller reports for the current generation, including every pod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.service_spec import Kind
from contracts.datacenter.workload_records import Observation, ServiceRecord
from managers.datacenter.provider import vault
from managers.datacenter.provider.objects import KINDS, ObjectRef, object_name, required_refs
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.types import Object, ObjectKey, Resource, annotations_of, is_terminating, key_of

NOT_OBSERVED: Final = "its controller has not observed its current spec"
REASON_LATE: Final = "ProgressDeadlineExceeded"

Status = Mapping[str, Any]
Check = tuple[bool, str]
"""Whether a check fails, and its message."""


def applied_digest(record: ServiceRecord, owned: Mapping[ObjectRef, Object]) -> str:
    """Return the digest that all objects were created from; "" if one is missing or obsolete.

    `owned` are all objects of the record.
    """
    required, optional = required_refs(record)
    present = {ref for ref, live in owned.items() if not is_terminating(live)}
    if not required <= present or owned.keys() - required - optional:
        return ""
    workload = (
        KINDS[record.desired.service.kind],
        ObjectKey(record.datacenter.namespace, object_name(record)),
    )
    return annotations_of(owned[workload]).get(names.DESIRED_HASH, "")


def summarize(record: ServiceRecord, owned: Mapping[ObjectRef, Object], digest: str) -> Observation:
    """Summarize the objects of a record; `digest`: what they were created from, if verified."""
    kind = record.desired.service.kind
    resource, name = KINDS[kind], object_name(record)
    live = owned.get((resource, ObjectKey(record.datacenter.namespace, name)))
    refs = _refs(record, owned)
    if live is None or is_terminating(live):
        state = "missing" if live is None else "being deleted"
        message = f"{resource.kind} {name} is {state}"
        return Observation(present=bool(owned), message=message, service_refs=refs)
    observation = evaluate(kind, live)
    return replace(
        observation,
        present=True,
        digest=digest,
        provider_ref=reference(resource, live),
        service_refs=refs,
        vault=vault.vault_of(record.name, live)
        if observation.healthy and resource == CLUSTERS
        else None,
    )


def reference(resource: Resource, live: Object) -> str:
    """Return kind, namespace and name of an object."""
    return f"{resource.kind} {key_of(live)}"


def _refs(record: ServiceRecord, owned: Mapping[ObjectRef, Object]) -> tuple[tuple[str, str], ...]:
    """Return references to the objects, by service, container or ConfigMap."""
    service = record.desired.service
    refs: dict[str, str] = {}
    for (resource, key), live in owned.items():
        ref = reference(resource, live)
        if resource == KINDS[service.kind]:
            refs |= dict.fromkeys(
                [container.name for container in service.services] or [record.name], ref
            )
        elif resource == SERVICE:
            refs.setdefault(record.name, ref)
        elif resource == CONFIG_MAP:
            refs.setdefault(key.name, ref)
    return tuple(sorted(refs.items()))


def evaluate(kind: Kind, live: Object) -> Observation:
    """Evaluate an object of that kind; sets only healthy, ready, desired and message."""
    return _EVALUATORS[kind](live.get("spec") or {}, _status(live))


def _status(live: Object) -> Status:
    """Return the status, with `current`: whether it is of the current generation."""
    status = live.get("status") or {}
    generation = live["metadata"].get("generation") or 0
    return {**status, "current": (status.get("observedGeneration") or 0) >= generation}


def _deployment(spec: Status, status: Status) -> Observation:
    desired = _replicas(spec)
    all_pods, updated = _count(status, "replicas"), _count(status, "updatedReplicas")
    available = _count(status, "availableReplicas")
    progressing = _condition(status, "Progressing")
    failure = _condition(status, "ReplicaFailure")
    late = progressing.get("status") == "False" and progressing.get("reason") == REASON_LATE
    return _observation(
        (_count(status, "readyReplicas"), desired),
        (not status["current"], NOT_OBSERVED),
        (failure.get("status") == "True", _text(failure)),
        (late, _text(progressing)),
        *_rollout_checks(desired, updated, all_pods),
        (available != desired, f"{available} of {desired} pods are available"),
    )


def _stateful_set(spec: Status, status: Status) -> Observation:
    desired = _replicas(spec)
    all_pods, updated = _count(status, "replicas"), _count(status, "updatedReplicas")
    ready = _count(status, "readyReplicas")
    revisions = status.get("currentRevision"), status.get("updateRevision")
    return _observation(
        (ready, desired),
        (not status["current"], NOT_OBSERVED),
        *_rollout_checks(desired, updated, all_pods),
        (ready != desired, f"{ready} of {desired} pods are ready"),
        (revisions[0] != revisions[1], "its controller has not completed the update"),
    )


def _daemon_set(spec: Status, status: Status) -> Observation:
    desired = _count(status, "desiredNumberScheduled")
    updated = _count(status, "updatedNumberScheduled")
    available = _count(status, "numberAvailable")
    return _observation(
        (_count(status, "numberReady"), desired),
        (not status["current"], NOT_OBSERVED),
        (updated != desired, f"{updated} of {desired} pods have the current spec"),
        (available != desired, f"{available} of {desired} pods are available"),
    )


def _openbao_cluster(spec: Status, status: Status) -> Observation:
    ready, available = _condition(status, "Ready"), _condition(status, "Available")
    return _observation(
        (_count(status, "readyReplicas"), _replicas(spec, 3)),
        (not status["current"], NOT_OBSERVED),
        (ready.get("status") != "True", _text(ready)),
        (available.get("status") != "True", _text(available)),
    )


_EVALUATORS: Final[Mapping[Kind, Callable[[Status, Status], Observation]]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "OpenBaoCluster": _openbao_cluster,
}


def _rollout_checks(desired: int, updated: int, all_pods: int) -> tuple[Check, Check]:
    return (
        (updated != desired, f"{updated} of {desired} pods have the current spec"),
        (
            all_pods != desired,
            f"waiting for the termination of pods of the previous spec: {all_pods - desired}",
        ),
    )


def _observation(counts: tuple[int, int], *checks: Check) -> Observation:
    """Return the observation with the message of the first failing check; healthy if none fails."""
    ready, desired = counts
    message = next((text for failing, text in checks if failing), "")
    return Observation(healthy=not message, ready=ready, desired=desired, message=message)


def _replicas(spec: Status, default: int = 1) -> int:
    replicas = spec.get("replicas")
    return default if replicas is None else int(replicas)


def _count(status: Status, field: str) -> int:
    # The API server omits a count of 0.
    return int(status.get(field) or 0)


def _condition(status: Status, kind: str) -> Status:
    matches = (
        condition for condition in status.get("conditions") or () if condition.get("type") == kind
    )
    return next(matches, {"type": kind})


def _text(condition: Status) -> str:
    """Return the message of a condition, never ""."""
    return str(
        condition.get("message")
        or condition.get("reason")
        or f"condition {condition['type']} has no message"
    )
