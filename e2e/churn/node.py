"""Simulates the StatefulSet controller, the kubelet and the garbage collector."""

import asyncio
from base64 import b64decode
from collections.abc import Iterable

from contracts.naming import labels, names
from contracts.owned_kinds import PRUNED
from e2e.churn.servers import Servers
from runtime.builtin_kinds import (
    POD,
    PVC,
    SECRET,
    STATEFUL_SET,
)
from runtime.client.client import Client
from runtime.errors import AlreadyExists, ApiError, NotFound
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    controller_of,
    is_terminating,
    key_of,
    labels_of,
    uid_of,
)

POLL_SECONDS = 0.2
# Owners first: _collect must see a StatefulSet before its pods.
COLLECTED: tuple[Resource, ...] = (STATEFUL_SET, POD, *PRUNED, SECRET)
_MANAGER = "simulated-node"
_REVISION = "controller-revision-hash"


class Node:
    """One namespace, in which all pods run immediately."""

    def __init__(self, client: Client, namespace: str, owners: Resource, servers: Servers) -> None:
        self._client = client
        self._namespace = namespace
        self._owners = owners
        self._servers = servers

    async def run(self) -> None:
        """Run the controllers of the namespace until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._collect()
                for stateful_set in await self._list(STATEFUL_SET):
                    await self._roll_out(stateful_set)
            except ApiError:
                # An object was deleted meanwhile: the next cycle reads again.
                continue

    async def remaining_objects(self) -> list[str]:
        """Return the remaining objects of clusters in the namespace."""
        objects = [
            f"{resource.kind} {key_of(obj).name}"
            for resource in (*COLLECTED, PVC)
            for obj in await self._list(resource)
            if labels.CLUSTER in labels_of(obj) or labels.INSTANCE in labels_of(obj)
        ]
        return sorted(objects)

    async def _collect(self) -> None:
        """Delete objects without a living owner."""
        alive = {uid_of(obj) for obj in await self._list(self._owners)}
        for resource in COLLECTED:
            for obj in await self._list(resource):
                alive.add(uid_of(obj))
                owner = controller_of(obj)
                if owner is not None and owner.uid not in alive:
                    await self._client.delete(resource, key_of(obj), uid=uid_of(obj))
        for claim in await self._list(PVC):
            await self._release(PVC, claim)
        self._servers.keep(key_of(pod).name for pod in await self._list(POD))

    async def _release(self, resource: Resource, deleted: Object) -> None:
        """Remove finalizers of deleted objects, as the controllers that set them do."""
        if is_terminating(deleted) and deleted["metadata"].get("finalizers"):
            ops = [{"op": "remove", "path": "/metadata/finalizers"}]
            await self._client.json_patch(resource, key_of(deleted), ops)

    async def _roll_out(self, stateful_set: Object) -> None:
        name, spec = key_of(stateful_set).name, stateful_set["spec"]
        terminating = is_terminating(stateful_set)
        count = 0 if terminating else spec["replicas"]
        desired = [f"{name}-{number}" for number in range(count)]
        pods = {key_of(live).name: live for live in await self._list(POD)}
        own = {
            pod_name: pod for pod_name, pod in pods.items() if pod_name.rpartition("-")[0] == name
        }
        for surplus in own.keys() - set(desired):
            pod = own[surplus]
            await self._client.delete(POD, key_of(pod), uid=uid_of(pod))
        if terminating:
            await self._release(STATEFUL_SET, stateful_set)
            return
        for missing in sorted(set(desired) - own.keys()):
            await self._start(stateful_set, missing)
        status = {
            "observedGeneration": stateful_set["metadata"]["generation"],
            "replicas": len(desired),
            "readyReplicas": len(desired),
            "currentRevision": f"{name}-1",
            "updateRevision": f"{name}-1",
        }
        reported = stateful_set.get("status") or {}
        if any(reported.get(field) != value for field, value in status.items()):
            ops = [{"op": "add", "path": "/status", "value": status}]
            await self._client.json_patch(
                STATEFUL_SET, key_of(stateful_set), ops, subresource="status"
            )

    async def _start(self, stateful_set: Object, name: str) -> None:
        """Create a running pod with its PVCs."""
        key, spec = ObjectKey(self._namespace, name), stateful_set["spec"]
        cluster = labels_of(stateful_set)[labels.CLUSTER]
        pair = await self._certificate(names.tls_server_secret(cluster))
        if pair is None:
            return
        for template in spec.get("volumeClaimTemplates") or ():
            await self._claim(template, name)
        leads = name.endswith("-0")
        template = spec["template"]
        pod_labels = {
            **(template["metadata"].get("labels") or {}),
            _REVISION: f"{key_of(stateful_set).name}-1",
            "statefulset.kubernetes.io/pod-name": name,
            labels.SERVER_ACTIVE: str(leads).lower(),
            labels.SERVER_INITIALIZED: "true",
            labels.SERVER_SEALED: "false",
            labels.SERVER_VERSION: self._servers.version,
        }
        owner = {
            "apiVersion": STATEFUL_SET.api_version,
            "kind": STATEFUL_SET.kind,
            "name": key_of(stateful_set).name,
            "uid": uid_of(stateful_set),
            "controller": True,
            "blockOwnerDeletion": True,
        }
        meta = {
            "name": name,
            "namespace": self._namespace,
            "labels": pod_labels,
            "annotations": template["metadata"].get("annotations") or {},
            "ownerReferences": [owner],
        }
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": _with_claims(template["spec"], spec, name),
        }
        await self._client.create(POD, body, field_manager=_MANAGER)
        address = self._servers.start(cluster, name, leads=leads, pair=pair)
        status = _running_status(template["spec"]["containers"], address)
        ops = [{"op": "add", "path": "/status", "value": status}]
        await self._client.json_patch(POD, key, ops, subresource="status")

    async def _claim(self, template: Object, pod: str) -> None:
        meta = {
            **template["metadata"],
            "name": f"{template['metadata']['name']}-{pod}",
            "namespace": self._namespace,
        }
        body = {
            "apiVersion": "v1",
            "kind": PVC.kind,
            "metadata": meta,
            "spec": template["spec"],
        }
        try:
            await self._client.create(PVC, body, field_manager=_MANAGER)
        except AlreadyExists:
            return

    async def _certificate(self, name: str) -> tuple[bytes, bytes] | None:
        try:
            data = (await self._client.get(SECRET, ObjectKey(self._namespace, name)))["data"]
        except NotFound:
            return None
        return b64decode(data["tls.crt"]), b64decode(data["tls.key"])

    async def _list(self, resource: Resource) -> list[Object]:
        return (await self._client.list(resource, self._namespace)).items


def _with_claims(pod_spec: Object, spec: Object, name: str) -> Object:
    claims = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": f"{template['metadata']['name']}-{name}"},
        }
        for template in spec.get("volumeClaimTemplates") or ()
    ]
    return {**pod_spec, "volumes": [*(pod_spec.get("volumes") or ()), *claims]}


def _running_status(containers: Iterable[Object], address: str) -> Object:
    now = "2026-01-01T00:00:00Z"
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("Initialized", "ContainersReady", "Ready", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": container["image"],
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for container in containers
        ],
    }
