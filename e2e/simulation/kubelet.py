"""Simulates a scheduler, a kubelet, and the labels that servers write on their own pods."""

import asyncio
from base64 import b64decode
from datetime import UTC, datetime

from contracts.naming import labels, names
from e2e.rig.kube import ApiError, Kube
from e2e.simulation.servers import Server, Servers
from runtime.builtin_kinds import POD, SECRET
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.errors import Conflict, Invalid, NotFound
from runtime.outcome import Done, Outcome
from runtime.types import Object, ObjectKey, Request, is_terminating, labels_of, uid_of

RETRY = 0.5
READY_AFTER = 1.0
"""Seconds from the start of a server until its pod is ready."""
STOP_AFTER = 1.0
"""Seconds from the stop of a server until its pod is deleted."""
NODE = "simulated"


class Kubelet:
    """The reconciler of a pod: binds it, starts its server, writes its labels, and makes it ready.

    Each step is a write, so that an operator observes a pod that is scheduled, then running, then
    labeled, then ready. `kube` deletes a pod without grace period, which the client of the runtime
    does not allow.
    """

    def __init__(self, client: Client, kube: Kube, pods: Cache, servers: Servers) -> None:
        self._client = client
        self._kube = kube
        self._pods = pods
        self._servers = servers

    async def __call__(self, request: Request) -> Outcome:
        """Do the next step for the pod with this name."""
        pod = self._pods.get(request)
        if pod is None:
            self._servers.stop(request)
            return Done()
        if labels_of(pod).get(labels.COMPONENT) in labels.JOBS:
            return Done()
        if is_terminating(pod):
            return await self._end(request, pod)
        cluster = labels_of(pod)[labels.CLUSTER]
        if not await self._has_certificate(request.namespace, cluster):
            return Done(RETRY)
        try:
            if not pod["spec"].get("nodeName"):
                await self._bind(request)
                return Done()
            server = self._servers.start(request, uid_of(pod), cluster, _version(pod))
            return await self._advance(request, pod, server)
        except (NotFound, Invalid, Conflict):
            # The pod with this name was deleted or replaced meanwhile.
            return Done()

    async def _bind(self, key: ObjectKey) -> None:
        meta = {"namespace": key.namespace, "name": key.name}
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        await self._client.create(POD, body, field_manager=NODE, subresource="binding")

    async def _end(self, key: ObjectKey, pod: Object) -> Outcome:
        if self._servers.runs(key):
            self._servers.stop(key)
            return Done(STOP_AFTER)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid_of(pod)}}
        path = POD.path(key.namespace, key.name)
        try:
            await asyncio.to_thread(self._kube.delete, path, options)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
        return Done()

    async def _advance(self, request: Request, pod: Object, server: Server) -> Outcome:
        if not (pod.get("status") or {}).get("podIP"):
            await self._report(request, pod, server, ready=False)
            return Done()
        marks = _marks(server)
        if any(labels_of(pod).get(name) != value for name, value in marks.items()):
            await self._client.json_patch(POD, request, _label_ops(pod, marks))
            return Done(READY_AFTER)
        if not _is_ready(pod):
            await self._report(request, pod, server, ready=True)
        return Done()

    async def _has_certificate(self, namespace: str, cluster: str) -> bool:
        if self._servers.has_certificate(cluster):
            return True
        key = ObjectKey(namespace, names.tls_server_secret(cluster))
        try:
            data = (await self._client.get(SECRET, key))["data"]
        except NotFound:
            return False
        pair = b64decode(data["tls.crt"]), b64decode(data["tls.key"])
        self._servers.add_certificate(cluster, *pair)
        return True

    async def _report(self, key: ObjectKey, pod: Object, server: Server, *, ready: bool) -> None:
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(pod)},
            {"op": "add", "path": "/status", "value": _status(pod, server.address, ready=ready)},
        ]
        await self._client.json_patch(POD, key, ops, subresource="status")


def _version(pod: Object) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image.rpartition(":")[2]


def _marks(server: Server) -> dict[str, str]:
    return {
        labels.SERVER_ACTIVE: str(server.leads).lower(),
        labels.SERVER_INITIALIZED: "true",
        labels.SERVER_SEALED: "false",
        labels.SERVER_VERSION: server.version,
    }


def _label_ops(pod: Object, marks: dict[str, str]) -> list[Object]:
    value = {**labels_of(pod), **marks}
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid_of(pod)},
        {"op": "add", "path": "/metadata/labels", "value": value},
    ]


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def _status(pod: Object, address: str, *, ready: bool) -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    started = (pod.get("status") or {}).get("startTime") or now
    states = {
        "PodScheduled": True,
        "Initialized": True,
        "ContainersReady": ready,
        "Ready": ready,
    }
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "conditions": [
            {"type": kind, "status": str(holds), "lastTransitionTime": now}
            for kind, holds in states.items()
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": container["image"],
                "ready": ready,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": started}},
            }
            for container in pod["spec"]["containers"]
        ],
    }
