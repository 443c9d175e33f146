"""Checks of `baoctl doctor` for pods, volumes and quorum.

Pure. Called by baoctl.commands.cluster.findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.findings_of_operator import recent
from baoctl.commands.cluster.observed import (
    ClusterObservation,
    has_quorum,
    is_ready,
    members,
    number,
    part,
    parts,
    text,
)
from contracts.naming import labels
from runtime.types import Object, key_of, labels_of

_PULL_ERRORS: Final = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
    }
)
_VOLUME_FULL: Final = re.compile(r"no space left on device|disk quota exceeded", re.I)
_UNBOUND: Final = "unbound immediate PersistentVolumeClaims"


def missing_pods(observed: ClusterObservation) -> Iterator[Finding]:
    """Find pods and PVCs that a StatefulSet cannot create, because the API server refuses them."""
    for stateful_set in observed.stateful_sets:
        desired = number(part(stateful_set, "spec").get("replicas"))
        if number(part(stateful_set, "status").get("replicas")) >= desired:
            continue
        name = key_of(stateful_set).name
        if evidence := _event_of(observed, "StatefulSet", name):
            yield Finding(
                "The API server refuses to create a server",
                evidence,
                "Change the quota, limit range or security level that the message names.",
                f"kubectl -n {observed.namespace} describe statefulset {name}",
            )
            return


def image(observed: ClusterObservation) -> Iterator[Finding]:
    """Find pods whose image cannot be pulled."""
    for pod in observed.pods:
        for container in _containers(pod):
            reason = text(container, "state", "waiting", "reason")
            if reason in _PULL_ERRORS:
                name = key_of(pod).name
                message = text(container, "state", "waiting", "message")
                yield Finding(
                    f"The image {text(container, 'image')} cannot be pulled",
                    f"pod {name}: {reason}: {message}",
                    "Correct spec.image or spec.imagePullSecrets, or make the registry reachable.",
                    f"kubectl -n {observed.namespace} describe pod {name}",
                )
                return


def unschedulable_pods(observed: ClusterObservation) -> Iterator[Finding]:
    """Find pods that cannot be scheduled."""
    for pod in observed.pods:
        for condition in parts(pod, "status", "conditions"):
            pending = condition.get("type") == "PodScheduled" and condition.get("status") == "False"
            if _UNBOUND in text(condition, "message") and any(map(_is_unbound, observed.claims)):
                continue  # `volumes` finds the cause.
            if pending and text(condition, "reason") == "Unschedulable":
                name = key_of(pod).name
                yield Finding(
                    "A server cannot be scheduled",
                    f"pod {name}: {text(condition, 'message')}",
                    "Add nodes, or relax spec.scheduling and spec.resources.",
                    f"kubectl -n {observed.namespace} describe pod {name}",
                )
                return


def volumes(observed: ClusterObservation) -> Iterator[Finding]:
    """Find full volumes, and PVCs that are not bound."""
    for name, evidence in _messages(observed):
        if match := _VOLUME_FULL.search(evidence):
            line = next(part for part in evidence.splitlines() if match[0] in part)
            yield Finding(
                f"The data volume of {name} is full",
                f"log of pod {name}: {line.strip()}",
                "Raise spec.storage.size; the operator grows the volumes of the servers.",
                f"kubectl -n {observed.namespace} patch openbaocluster {observed.name} "
                '--type merge -p \'{"spec":{"storage":{"size":"NEW SIZE"}}}\'',
            )
            return
    for claim in observed.claims:
        if _is_unbound(claim):
            name, phase = key_of(claim).name, text(claim, "status", "phase")
            yield Finding(
                f"A server has no volume: {name} is {phase}",
                _event_of(observed, "PersistentVolumeClaim", name)
                or "the PersistentVolumeClaim is not bound",
                "Check the StorageClass and its driver.",
                f"kubectl -n {observed.namespace} describe pvc {name}",
            )
            return


def crashes(observed: ClusterObservation) -> Iterator[Finding]:
    """Find servers in CrashLoopBackOff."""
    for pod in observed.pods:
        for status in parts(pod, "status", "containerStatuses"):
            waiting = text(status, "state", "waiting", "reason") == "CrashLoopBackOff"
            if waiting and not is_ready(pod):
                name = key_of(pod).name
                ended = part(status, "lastState", "terminated")
                lines = text(ended, "message").strip().splitlines() or [""]
                code = number(ended.get("exitCode"))
                restarts = number(status.get("restartCount"))
                yield Finding(
                    f"Server {name} crashes",
                    f"{restarts} restarts, exit status {code} {text(ended, 'reason')} {lines[-1]}",
                    "Read the log of its last run.",
                    f"kubectl -n {observed.namespace} logs {name} --previous",
                )
                return


def quorum(observed: ClusterObservation) -> Iterator[Finding]:
    """Find a cluster in which no majority of the voters is ready."""
    if not observed.status.get("initialized") or observed.spec.get("hibernate") is True:
        return
    if "pods" in observed.denied:
        return
    if has_quorum(observed):
        return
    size = members(observed)
    unready = [key_of(pod).name for pod in observed.voters if not is_ready(pod)]
    details = {
        "not ready": ", ".join(unready),
        "with an empty volume": ", ".join(_empty_servers(observed)),
        "missing pods": str(max(0, size - len(observed.voters)) or ""),
    }
    requirement = f"{size // 2 + 1} are needed"
    evidence = [
        f"{len(observed.voters) - len(unready)} of {size} voters are ready, {requirement}",
        *(f"{what}: {which}" for what, which in details.items() if which),
    ]
    command = f"logs {unready[0]} --tail 50" if unready else "get statefulsets,pods,events"
    yield Finding(
        "There is no quorum: nothing can be read or written",
        "; ".join(evidence),
        "Start the missing servers; do not delete volumes. If a majority of the volumes is lost,"
        " restore a snapshot into a new cluster.",
        f"kubectl -n {observed.namespace} {command}",
    )


def _empty_servers(observed: ClusterObservation) -> Iterator[str]:
    for pod in observed.voters:
        if labels.registration(labels_of(pod)).initialized is False:
            yield key_of(pod).name


def _is_unbound(claim: Object) -> bool:
    return text(claim, "status", "phase") in ("Pending", "Lost")


def _containers(pod: Object) -> Iterator[object]:
    yield from parts(pod, "status", "initContainerStatuses")
    yield from parts(pod, "status", "containerStatuses")


def _messages(observed: ClusterObservation) -> Iterator[tuple[str, str]]:
    for pod in observed.pods:
        name = key_of(pod).name
        yield name, observed.logs.get(name, "")
        for status in parts(pod, "status", "containerStatuses"):
            for state in ("state", "lastState"):
                yield name, text(status, state, "terminated", "message")


def _event_of(observed: ClusterObservation, kind: str, name: str) -> str:
    for event in observed.events:
        warns = text(event, "type") == "Warning" and recent(observed, event)
        if warns and part(event, "involvedObject").items() >= {"kind": kind, "name": name}.items():
            return f"{text(event, 'reason')}: {text(event, 'message')}"
    return ""
