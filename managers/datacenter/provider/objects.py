"""Renders the objects of a service record, in the order of their creation. Pure.

Uses managers.datacenter.provider.pod_template and vault. Called by
managers.datacenter.provider.kubernetes. Every body has only values that the API server stores
unchanged, so that an unchanged record costs no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.service_spec import (
    BootstrapService,
    Kind,
    ServiceContainer,
)
from contracts.datacenter.workload_records import ServiceRecord, Vault
from contracts.naming import labels
from managers.datacenter.provider import vault
from managers.datacenter.provider.pod_template import config_files, pod_template, volumes_by_name
from runtime.apply.intent import Intent
from runtime.apply.ownership import OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.types import Object, ObjectKey, Resource, annotations_of, labels_of

KINDS: Final[Mapping[Kind, Resource]] = {
    "Deployment": DEPLOYMENT,
    "StatefulSet": STATEFUL_SET,
    "DaemonSet": DAEMON_SET,
    "OpenBaoCluster": CLUSTERS,
}
ObjectRef = tuple[Resource, ObjectKey]

_HISTORY: Final = 3
_HEADLESS: Final = "None"


def render(record: ServiceRecord, vaults: tuple[Vault, ...]) -> tuple[Intent, ...]:
    """Build every object of a record: ConfigMaps, the Service, and the workload last.

    `vaults`: sorted by service; used only if the service depends on openbao:ready.
    """
    service = record.desired.service
    if service.kind == "OpenBaoCluster":
        return (vault.cluster(record),)
    used_vaults = vaults if names.OPENBAO_READY in service.depends_on else ()
    name = object_name(record)
    intents: list[Intent] = []
    files = config_files(service)
    if files:
        intents.append(_object(record, CONFIG_MAP, names.files_config_map(name), {"data": files}))
    if used_vaults:
        content = {"data": vault.facts(used_vaults)}
        intents.append(_object(record, CONFIG_MAP, names.openbao_config_map(name), content))
    ports = _service_ports(service)
    if ports:
        intents.append(_object(record, SERVICE, name, {"spec": _service(record, ports)}))
    intents.append(_workload(record, used_vaults))
    return tuple(intents)


def object_name(record: ServiceRecord) -> str:
    """Return the name of the objects of a record."""
    return names.object_name(record.datacenter.name, record.name)


def object_refs(record: ServiceRecord) -> tuple[ObjectRef, ...]:
    """Return every object that a record can have, in the order of creation."""
    name, namespace = object_name(record), record.datacenter.namespace
    return (
        (CONFIG_MAP, ObjectKey(namespace, names.files_config_map(name))),
        (CONFIG_MAP, ObjectKey(namespace, names.openbao_config_map(name))),
        (SERVICE, ObjectKey(namespace, name)),
        *((resource, ObjectKey(namespace, name)) for resource in KINDS.values()),
    )


def required_refs(record: ServiceRecord) -> tuple[frozenset[ObjectRef], frozenset[ObjectRef]]:
    """Return the required and the optional objects of a record."""
    service, name = record.desired.service, object_name(record)
    files, openbao, network, *_ = object_refs(record)
    required: set[ObjectRef] = {(KINDS[service.kind], ObjectKey(record.datacenter.namespace, name))}
    if service.kind == "OpenBaoCluster":
        return frozenset(required), frozenset()
    if config_files(service):
        required.add(files)
    if _service_ports(service):
        required.add(network)
    # It exists only with a ready vault, which is not known here.
    optional = {openbao} if names.OPENBAO_READY in service.depends_on else set()
    return frozenset(required), frozenset(optional)


def immutable_difference(intent: Intent, live: Object) -> tuple[str, ...]:
    """Return the immutable fields that differ; if any, the object has to be recreated."""
    immutable_fields = _IMMUTABLE.get(intent.resource)
    if immutable_fields is None:
        return ()
    observed = immutable_fields(live.get("spec") or {})
    desired = immutable_fields(intent.body["spec"])
    return tuple(field for field, value in desired.items() if observed[field] != value)


def orphaning_patch(
    record: ServiceRecord, ownership_keys: OwnershipKeys, live: Object
) -> list[dict[str, Any]]:
    """Return the JSON patch that removes owner reference, labels and annotations of the operator.

    It fails if one of them changed since it was read.
    """
    ops: list[dict[str, Any]] = []
    for index, owner in enumerate(live["metadata"].get("ownerReferences") or ()):
        if owner.get("uid") == record.id:
            path = f"/metadata/ownerReferences/{index}"
            ops.append({"op": "test", "path": f"{path}/uid", "value": record.id})
            ops.append({"op": "remove", "path": path})
    ours = {
        "labels": (labels_of(live), (*_selector_labels(record), labels.MANAGED_BY)),
        "annotations": (
            annotations_of(live),
            (ownership_keys.owner_uid, ownership_keys.intent_hash, names.DESIRED_HASH),
        ),
    }
    for field, (present, keys) in ours.items():
        for name in keys:
            if name in present:
                path = f"/metadata/{field}/{name.replace('/', '~1')}"
                ops.append({"op": "test", "path": path, "value": present[name]})
                ops.append({"op": "remove", "path": path})
    return ops


def _object(
    record: ServiceRecord,
    resource: Resource,
    name: str,
    content: Mapping[str, Any],
    annotations: Mapping[str, str] | None = None,
) -> Intent:
    datacenter, service = record.datacenter, record.desired.service
    metadata: Object = {
        "name": name,
        "namespace": datacenter.namespace,
        "labels": names.object_labels(datacenter.name, service.name, dict(service.labels)),
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        **content,
    }
    return Intent(resource, body)


def _service(record: ServiceRecord, ports: list[Object]) -> Object:
    spec: Object = {"selector": _selector_labels(record), "ports": ports}
    if record.desired.service.kind == "StatefulSet":
        # A headless Service gives each pod a DNS name.
        spec["clusterIP"] = _HEADLESS
    else:
        spec["type"] = "ClusterIP"
    return spec


def _service_ports(service: BootstrapService) -> list[Object]:
    ports: list[Object] = []
    for container in service.services:
        ports += _ports_of(container, {port["name"] for port in ports})
    return ports


def _ports_of(container: ServiceContainer, used_names: set[str]) -> list[Object]:
    if container.role == "Init":
        return []
    return [
        {
            "name": names.service_port_name(container.name, port.name)
            if port.name in used_names
            else port.name,
            "port": port.service_port or port.port,
            # By number: another container may have a port of the same name.
            "targetPort": port.port,
            "protocol": port.protocol,
        }
        for port in container.ports
    ]


def _workload(record: ServiceRecord, vaults: tuple[Vault, ...]) -> Intent:
    kind = record.desired.service.kind
    spec: Object = {
        "revisionHistoryLimit": _HISTORY,
        "selector": {"matchLabels": _selector_labels(record)},
        "template": pod_template(record, vaults),
        **_STRATEGIES[kind],
    }
    if kind != "DaemonSet":
        spec["replicas"] = record.desired.service.desired_replicas
    if kind == "StatefulSet":
        spec |= _of_stateful_set(record)
    annotations = {names.DESIRED_HASH: record.desired.digest}
    return _object(record, KINDS[kind], object_name(record), {"spec": spec}, annotations)


_STRATEGIES: Final[Mapping[Kind, Object]] = {
    # Surge rather than reduce the number of pods.
    "Deployment": {
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        }
    },
    "StatefulSet": {"updateStrategy": {"type": "RollingUpdate"}},
    "DaemonSet": {"updateStrategy": {"type": "RollingUpdate"}},
}


def _of_stateful_set(record: ServiceRecord) -> Object:
    service = record.desired.service
    return {
        # Set without ports, too: it is immutable, and ports may be added later.
        "serviceName": object_name(record),
        # With OrderedReady a pod that never becomes ready blocks its own update
        # (kubernetes/kubernetes 67250).
        "podManagementPolicy": "Parallel",
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": service.volume_policy,
            "whenScaled": "Retain",
        },
        "volumeClaimTemplates": _claims(record),
    }


def _claims(record: ServiceRecord) -> list[Object]:
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            # Without labels of users: they may change, and a claim template is immutable.
            "metadata": {"name": volume.name, "labels": _selector_labels(record)},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": volume.size}},
                "storageClassName": volume.storage_class_name,
            },
        }
        for volume in volumes_by_name(record.desired.service).values()
        if volume.kind == "Persistent"
    ]


def _selector_labels(record: ServiceRecord) -> dict[str, str]:
    return names.selector_labels(record.datacenter.name, record.name)


def _immutable_of_service(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec.clusterIP": spec.get("clusterIP") == _HEADLESS}


def _immutable_of_stateful_set(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "spec.serviceName": spec.get("serviceName"),
        "spec.podManagementPolicy": spec.get("podManagementPolicy"),
        "spec.volumeClaimTemplates": [
            _immutable_of_claim(claim) for claim in spec.get("volumeClaimTemplates") or ()
        ],
    }


def _immutable_of_claim(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    metadata, spec = claim.get("metadata") or {}, claim.get("spec") or {}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return metadata.get("name"), storage, spec.get("storageClassName")


_IMMUTABLE: Final = {SERVICE: _immutable_of_service, STATEFUL_SET: _immutable_of_stateful_set}
