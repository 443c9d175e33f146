"""Converts Kubernetes objects to facts. Pure; called by readers of cached objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.container_history import ContainerExit
from contracts.records.environment import AccountFacts
from contracts.records.observed import (
    NamedPvcFacts,
    PodFacts,
    PoolFacts,
    PvcFacts,
    StatefulSetFacts,
)
from contracts.records.secrets import CredentialFacts, SecretFacts
from managers.bootstrap.seal.secret import credential_facts
from managers.certs.pod_part import TLS_VOLUME
from managers.certs.secret_content import CertificateContent, content_of
from managers.cluster.observe.foreign import foreign_stateful_set, pool_labels
from managers.context.context import MARKS
from managers.workload.objects.pod import CONTAINER, INIT_VOLUME
from managers.workload.rollout.reload import reloads
from managers.workload.storage.recreate_statefulset import immutable_fields
from runtime.apply.ownership import Owner, Ownership, describe_owner, ownership_of
from runtime.errors import Transient
from runtime.limits.object_size import oversize_of, trim_metadata
from runtime.memo import memoize
from runtime.types import (
    Object,
    annotations_of,
    controller_of,
    is_generation_observed,
    is_terminating,
    key_of,
    labels_of,
    resource_version_of,
    time_of,
    uid_of,
)

# The metadata of a Secret that its facts consist of, besides the annotations.
SECRET_METADATA = ("name", "namespace", "uid", "ownerReferences", "deletionTimestamp")
EMPTY_OBJECT: Mapping[str, Any] = {}
# Kubernetes API reference, PersistentVolumeClaimStatus.conditions.
RESIZE_CONDITIONS = frozenset(
    {"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"}
)
# The limit of the kubelet; the server of a tenant may write anything.
TERMINATION_MESSAGE_CHARACTERS = 4096
IMAGE_RECORDS = (labels.IMAGE_VERIFICATION, labels.OPERATOR_IMAGE_VERIFICATION)


@dataclass(frozen=True, slots=True)
class SecretReading:
    """The cached part of a Secret: metadata and the public facts of its certificates."""

    live: Object
    content: CertificateContent
    entries: frozenset[str] = frozenset()
    keys: Mapping[str, CredentialFacts] = field(default_factory=dict)
    type: str = ""
    immutable: bool = False


def secret_reading(live: Object) -> SecretReading:
    """Reduce a Secret, or its metadata alone, to what decisions need. Drops every key."""
    data = (live.get("data") or {}) if "data" in live else None
    metadata = {name: live["metadata"].get(name) for name in SECRET_METADATA}
    # A copy: the caller uses the response to a write.
    metadata["annotations"] = {**annotations_of(live)}
    return SecretReading(
        trim_metadata({"metadata": metadata}),
        content_of(data),
        frozenset(data or ()),
        credential_facts(data or {}),
        live.get("type") or "",
        bool(live.get("immutable")),
    )


def secret_facts(reading: SecretReading, owner: Owner) -> SecretFacts:
    """Read the facts of a Secret for one cluster."""
    owned = ownership_of(reading.live, owner, MARKS) is not Ownership.FOREIGN
    content = reading.content
    return SecretFacts(
        name=key_of(reading.live).name,
        uid=uid_of(reading.live),
        owned=owned,
        owner="" if owned else describe_owner(reading.live, MARKS),
        terminating=is_terminating(reading.live),
        type=reading.type,
        immutable=reading.immutable,
        certificate=content.certificate,
        authority=content.authority,
        problem=content.problem,
        trusted=content.trusted,
        chain_problem=content.chain_problem,
        chain_until=content.chain_until,
        chain_root=content.chain_root,
        entries=reading.entries,
        upcoming=content.upcoming,
        former=content.former,
        handled_ca_request=annotations_of(reading.live).get(labels.CA_REQUEST, ""),
        key_id=annotations_of(reading.live).get(labels.UNSEAL_KEY_ID, ""),
        keys=reading.keys,
    )


def server_facts(voters: Sequence[ServerPool], pods: Iterable[Object]) -> tuple[PodFacts, ...]:
    """Read the pods of all servers: those of each pool of voters, then the read replicas."""
    all_pods = tuple(pods)
    pools = (*voters, ServerPool(voters[0].cluster, reads=True))
    return tuple(pod for pool in pools for pod in pod_facts(pool, all_pods))


def pod_facts(pool: ServerPool, pods: Iterable[Object]) -> tuple[PodFacts, ...]:
    """Read the pods of one pool, in the order of their ordinals."""
    facts = []
    for pod in pods:
        ordinal = pool.ordinal_of(key_of(pod).name)
        if ordinal is not None:
            facts.append(single_pod_facts(pod, ordinal))
    return tuple(sorted(facts, key=lambda fact: fact.ordinal))


def pool_facts(
    owner: Owner,
    pool: ServerPool,
    live: Object | None,
    objects: tuple[Iterable[Object], Iterable[Object]],
) -> PoolFacts:
    """Read one pool; `objects` are pods and data PVCs of the cluster.

    A StatefulSet of that name with another owner is ignored.
    """
    pods, claims = objects
    return PoolFacts(
        own_stateful_set_facts(owner, live), pod_facts(pool, pods), pvc_facts(pool, claims)
    )


def own_stateful_set_facts(owner: Owner, live: Object | None) -> StatefulSetFacts | None:
    """Read the StatefulSet of a cluster; one of that name with another owner counts as absent.

    Any editor of the namespace can create one, and it is no evidence about our servers.
    """
    owned = live is not None and ownership_of(live, owner, MARKS) is not Ownership.FOREIGN
    return stateful_set_facts(live) if owned else None


class CutObjectError(Transient):
    """An object of a cluster is larger than the cache keeps, so its content is unknown."""


def _require_whole(live: Object) -> None:
    """Raise CutObjectError for a truncated object; nothing is done until it is smaller."""
    large = oversize_of(live)
    if large is not None:
        raise CutObjectError(
            f"{live['kind']} {key_of(live).name}: {large}: remove what another client added to it"
        )


@memoize
def single_pod_facts(pod: Object, ordinal: int) -> PodFacts:
    """Read one pod. Raises CutObjectError."""
    _require_whole(pod)
    status: Mapping[str, Any] = pod.get("status") or {}
    # The list is empty right after creation: not started.
    containers = status.get("containerStatuses") or ()
    server = next((c for c in containers if c.get("name") == CONTAINER), EMPTY_OBJECT)
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
        tls_secret=_tls_secret(pod),
        reload_hash=annotations_of(pod).get(labels.RELOAD_HASH, ""),
        reloads=reloads(pod),
        unseal=annotations_of(pod).get(labels.UNSEAL_KEYS, ""),
        rewrap_key=annotations_of(pod).get(labels.UNSEAL_REWRAPPED, ""),
        gated=bool((pod.get("spec") or {}).get("schedulingGates")),
        node=(pod.get("spec") or {}).get("nodeName") or "",
        deletion_timestamp=_deletion_timestamp(pod),
        maintenance=labels.MAINTENANCE in annotations_of(pod),
        restore_uid=annotations_of(pod).get(labels.RESTORE_REVISION, ""),
        creation_timestamp=time_of(pod["metadata"].get("creationTimestamp")),
        service_account=(pod.get("spec") or {}).get("serviceAccountName") or "",
        fence_gate=_is_gated(pod),
        first_set=labels.FIRST_SET in labels_of(pod),
        image=_image(pod.get("spec") or EMPTY_OBJECT),
        labels=pool_labels(pod),
        controller=_controller(pod),
    )


def _image(spec: Mapping[str, Any]) -> str:
    """Read the image of the server from the spec of a pod or of a template."""
    for container in spec.get("containers") or ():
        if container.get("name") == CONTAINER:
            return container.get("image") or ""
    return ""


def _is_gated(pod: Mapping[str, Any]) -> bool:
    """Report whether our own scheduling gate is in the spec of a pod or of a template."""
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(gate.get("name") == labels.FENCE_GATE for gate in gates)


def _controller(pod: Object) -> str:
    owner = controller_of(pod)
    return owner.uid if owner else ""


def _deletion_timestamp(pod: Object) -> datetime | None:
    return time_of(pod["metadata"].get("deletionTimestamp"))


def _tls_secret(pod: Object) -> str:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if volume.get("name") == TLS_VOLUME:
            return (volume.get("secret") or {}).get("secretName") or ""
    return ""


def named_pvc_facts(pvc: Object) -> NamedPvcFacts:
    """Read a PVC that servers share: the full object, because the spec has the access modes."""
    return NamedPvcFacts(
        name=key_of(pvc).name,
        owner_uid=annotations_of(pvc).get(labels.OWNER_UID, ""),
        terminating=is_terminating(pvc),
        access_modes=tuple((pvc.get("spec") or {}).get("accessModes") or ()),
    )


def account_facts(account: Object) -> AccountFacts:
    """Read a ServiceAccount, or its metadata alone."""
    annotations = annotations_of(account)
    marks = {labels.OWNER_UID, labels.ADOPT}
    free = controller_of(account) is None and marks.isdisjoint(annotations)
    return AccountFacts(key_of(account).name, free, annotations)


def _is_ready(status: Mapping[str, Any]) -> bool:
    return any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )


def _last_exit(server: Mapping[str, Any]) -> ContainerExit | None:
    ended = (server.get("lastState") or {}).get("terminated")
    if not ended:
        return None
    message = (ended.get("message") or "")[:TERMINATION_MESSAGE_CHARACTERS]
    return ContainerExit(ended.get("exitCode", -1), ended.get("reason") or "", message)


def _waiting(status: Mapping[str, Any], waiting: Mapping[str, Any]) -> str:
    if waiting.get("reason"):
        return ": ".join(filter(None, (waiting["reason"], waiting.get("message"))))
    scheduled = next(
        (c for c in status.get("conditions") or () if c.get("type") == "PodScheduled"), EMPTY_OBJECT
    )
    if scheduled.get("status") == "False":
        return ": ".join(filter(None, (scheduled.get("reason"), scheduled.get("message"))))
    return ""


@memoize
def stateful_set_facts(live: Object | None) -> StatefulSetFacts | None:
    """Read the StatefulSet; one that is being deleted counts as absent."""
    if live is None or is_terminating(live):
        return None
    _require_whole(live)
    spec, status = live["spec"], live.get("status") or {}
    template = spec["template"]
    pvc = next(iter(spec.get("volumeClaimTemplates") or ()), EMPTY_OBJECT).get("spec") or {}
    volumes = template["spec"].get("volumes") or ()
    annotations, template_annotations = annotations_of(live), annotations_of(template)
    replicas = spec.get("replicas", 1)
    is_observed = is_generation_observed(live)
    return StatefulSetFacts(
        uid=uid_of(live),
        replicas=replicas,
        ready_replicas=status.get("readyReplicas", 0),
        template=template_annotations.get(labels.TEMPLATE_HASH, ""),
        reload_hash=template_annotations.get(labels.RELOAD_HASH, ""),
        first_boot=any(volume["name"] == INIT_VOLUME for volume in volumes),
        generation_observed=is_observed,
        claim_size=((pvc.get("resources") or {}).get("requests") or {}).get("storage", ""),
        claim_class=pvc.get("storageClassName"),
        image_records=tuple(annotations[name] for name in IMAGE_RECORDS if name in annotations),
        unseal=template_annotations.get(labels.UNSEAL_KEYS, ""),
        version=resource_version_of(live),
        immutable_fields=immutable_fields(spec),
        service_account=template["spec"].get("serviceAccountName") or "",
        fence_gate=_is_gated(template),
        image=_image(template["spec"]),
        restore_uid=template_annotations.get(labels.RESTORE_REVISION, ""),
        # Its controller counts the pods after it has tried to create them.
        missing_pods=max(0, replicas - status.get("replicas", replicas)) if is_observed else 0,
        creation_hash=annotations.get(labels.CREATION_HASH, ""),
        foreign=foreign_stateful_set(live),
    )


def pvc_facts(pool: ServerPool, claims: Iterable[Object]) -> tuple[PvcFacts, ...]:
    """Read the data PVCs of one pool, by name."""
    return tuple(
        single_pvc_facts(pvc)
        for pvc in sorted(claims, key=key_of)
        if pool.claim_ordinal_of(key_of(pvc).name) is not None
    )


@memoize
def single_pvc_facts(pvc: Object) -> PvcFacts:
    """Read one PVC. Raises CutObjectError."""
    _require_whole(pvc)
    spec, status = pvc.get("spec") or EMPTY_OBJECT, pvc.get("status") or EMPTY_OBJECT
    condition = next(
        (
            c
            for c in status.get("conditions") or ()
            if c.get("status") == "True" and c.get("type") in RESIZE_CONDITIONS
        ),
        EMPTY_OBJECT,
    )
    return PvcFacts(
        name=key_of(pvc).name,
        uid=uid_of(pvc),
        owner_uid=annotations_of(pvc).get(labels.OWNER_UID, ""),
        terminating=is_terminating(pvc),
        requested=((spec.get("resources") or {}).get("requests") or {}).get("storage", ""),
        capacity=(status.get("capacity") or {}).get("storage", ""),
        storage_class=spec.get("storageClassName") or "",
        phase=status.get("phase") or "",
        resizing=condition.get("type") or "",
        resize_message=condition.get("message") or "",
        resizing_since=time_of(condition.get("lastTransitionTime")),
        adopt=annotations_of(pvc).get(labels.ADOPT, ""),
        removed_peer=annotations_of(pvc).get(labels.REMOVED_PEER, ""),
    )
