"""From Kubernetes objects to facts. Pure; called by `managers.cluster.observe`."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts import labels, names
from contracts.observed import (
    CertificateFacts,
    ClaimFacts,
    ContainerExit,
    PodFacts,
    SecretFacts,
    StatefulSetFacts,
)
from managers.access.context import MARKS
from managers.certs.run import CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY, key_pair
from managers.certs.x509 import read
from managers.workload.pod import CONTAINER, INIT_VOLUME
from runtime.ownership import Claim, Owner, claim_of, describe_owner
from runtime.types import Object, annotations_of, is_terminating, key_of, labels_of, uid_of

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class SecretReading:
    """What is kept of a Secret in memory: metadata and the public facts of its certificate."""

    live: Object
    certificate: CertificateFacts | None
    authority: str
    problem: str


def secret_reading(live: Object) -> SecretReading:
    """Project a Secret, or its metadata alone, to what decisions need. Drops every key."""
    kept = {"metadata": live["metadata"]}
    data = live.get("data") or {}
    files = (CERTIFICATE, KEY) if CERTIFICATE in data else (CA_CERTIFICATE, CA_KEY)
    if not any(name in data for name in files):
        problem = "it holds no certificate" if "data" in live else ""
        return SecretReading(kept, None, "", problem)
    try:
        authority = base64.b64decode(data.get(CA_CERTIFICATE, ""))
        certificate = read(key_pair(live, *files), authority or None)
        return SecretReading(kept, certificate, authority.decode(), "")
    except ValueError as error:
        return SecretReading(kept, None, "", f"its content cannot be used: {error}")


def secret_facts(reading: SecretReading, owner: Owner) -> SecretFacts:
    """Judge a Secret for one cluster."""
    mine = claim_of(reading.live, owner, MARKS) is not Claim.FOREIGN
    return SecretFacts(
        name=key_of(reading.live).name,
        uid=uid_of(reading.live),
        mine=mine,
        owner="" if mine else describe_owner(reading.live, MARKS),
        terminating=is_terminating(reading.live),
        certificate=reading.certificate,
        authority=reading.authority,
        problem=reading.problem,
    )


def pod_facts(cluster: str, pods: Iterable[Object]) -> tuple[PodFacts, ...]:
    """Read the pods of the cluster's StatefulSet, in the order of their ordinals."""
    facts = []
    for pod in pods:
        ordinal = names.ordinal_of(cluster, key_of(pod).name)
        if ordinal is not None:
            facts.append(_pod(pod, ordinal))
    return tuple(sorted(facts, key=lambda fact: fact.ordinal))


def _pod(pod: Object, ordinal: int) -> PodFacts:
    status: Mapping[str, Any] = pod.get("status") or {}
    # The list is empty right after creation: not started.
    containers = status.get("containerStatuses") or ()
    server = next((c for c in containers if c.get("name") == CONTAINER), NOTHING)
    waiting = (server.get("state") or {}).get("waiting") or {}
    return PodFacts(
        name=key_of(pod).name,
        uid=uid_of(pod),
        ordinal=ordinal,
        ip=status.get("podIP") or "",
        ready=_is_ready(status) and not is_terminating(pod),
        terminating=is_terminating(pod),
        template=annotations_of(pod).get(labels.TEMPLATE_HASH, ""),
        restarts=server.get("restartCount") or 0,
        last_exit=_last_exit(server),
        waiting=_waiting(status, waiting),
        registration=labels.registration(labels_of(pod)),
    )


def _is_ready(status: Mapping[str, Any]) -> bool:
    return any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )


def _last_exit(server: Mapping[str, Any]) -> ContainerExit | None:
    ended = (server.get("lastState") or {}).get("terminated")
    if not ended:
        return None
    return ContainerExit(ended.get("exitCode", -1), ended.get("reason") or "")


def _waiting(status: Mapping[str, Any], waiting: Mapping[str, Any]) -> str:
    if waiting.get("reason"):
        return ": ".join(filter(None, (waiting["reason"], waiting.get("message"))))
    scheduled = next(
        (c for c in status.get("conditions") or () if c.get("type") == "PodScheduled"), NOTHING
    )
    if scheduled.get("status") == "False":
        return ": ".join(filter(None, (scheduled.get("reason"), scheduled.get("message"))))
    return ""


def stateful_set_facts(live: Object | None) -> StatefulSetFacts | None:
    """Read the StatefulSet; one that is being deleted counts as absent."""
    if live is None or is_terminating(live):
        return None
    spec, status = live["spec"], live.get("status") or {}
    template = spec["template"]
    claim = next(iter(spec.get("volumeClaimTemplates") or ()), NOTHING).get("spec") or {}
    volumes = template["spec"].get("volumes") or ()
    return StatefulSetFacts(
        uid=uid_of(live),
        replicas=spec.get("replicas", 1),
        ready_replicas=status.get("readyReplicas", 0),
        template=annotations_of(template).get(labels.TEMPLATE_HASH, ""),
        first_boot=any(volume["name"] == INIT_VOLUME for volume in volumes),
        settled=status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0),
        claim_size=((claim.get("resources") or {}).get("requests") or {}).get("storage", ""),
        claim_class=claim.get("storageClassName"),
    )


def claim_facts(cluster: str, claims: Iterable[Object]) -> tuple[ClaimFacts, ...]:
    """Read the data volume claims of a cluster, by name: nothing else holds its data."""
    return tuple(
        ClaimFacts(
            name=key_of(claim).name,
            uid=uid_of(claim),
            owner_uid=annotations_of(claim).get(labels.OWNER_UID, ""),
            terminating=is_terminating(claim),
        )
        for claim in sorted(claims, key=key_of)
        if names.claim_ordinal_of(cluster, key_of(claim).name) is not None
    )
