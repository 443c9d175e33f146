"""Predicates that drop changes of a status that no reconcile of a cluster would see.

Kubelet and StatefulSet controller write many statuses while a pod starts: a third of them changes
no fact. Pure; called by baoctl.controllers.cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from contracts.records.observed import PodFacts
from managers.cluster.observe.from_objects import (
    CutObjectError,
    single_pod_facts,
    single_pvc_facts,
    stateful_set_facts,
)
from runtime.builtin_kinds import POD, POD_DISRUPTION_BUDGET, PVC, STATEFUL_SET
from runtime.controller.event import Event, Predicate, any_of, changed_outside_status, resynced
from runtime.memo import Memos
from runtime.types import Object, Resource, annotations_of, key_of

Facts = Callable[[Object], object]

# An event uses the facts that reconciles have read, and keeps no object longer than they do.
_NO_MEMOS: Final = Memos(keys=0)


def _pod(pod: Object) -> PodFacts:
    # As in the facts of its pool. A pod of a Job has no ordinal.
    ordinal = key_of(pod).name.rpartition("-")[2]
    return single_pod_facts(pod, int(ordinal) if ordinal.isdecimal() else 0)


def _stateful_set(live: Object) -> object:
    facts = stateful_set_facts(live)
    return facts and replace(facts, version="")


def _server(pod: Object) -> object:
    facts = _pod(pod)
    return facts.ready, facts.terminating, facts.registration, annotations_of(pod)


STATUS_FACTS: Final[Mapping[Resource, Facts]] = {
    POD: _pod,
    PVC: single_pvc_facts,
    STATEFUL_SET: _stateful_set,
    POD_DISRUPTION_BUDGET: lambda _: None,
}
"""The facts of the kinds whose status Kubernetes writes. All other changes are relevant."""


def relevant_changes(resource: Resource) -> tuple[Predicate, ...]:
    """Return the predicates for a kind: all changes, except those of a status without new facts."""
    facts = STATUS_FACTS.get(resource)
    if facts is None:
        return ()
    return (any_of(resynced, changed_outside_status, partial(_facts_changed, facts)),)


def server_changed(event: Event) -> bool:
    """Drops updates that do not matter to a check of the servers.

    A check depends on readiness, the end of the pod, annotations, and the labels that the server
    writes.
    """
    return _facts_changed(_server, event)


def _facts_changed(facts: Facts, event: Event) -> bool:
    if event.old is None:
        return True
    with _NO_MEMOS.during(key_of(event.object)):
        try:
            return facts(event.old) != facts(event.object)
        except CutObjectError:
            # The content is unknown.
            return True
