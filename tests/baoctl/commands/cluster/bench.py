"""`baoctl` with an API server in memory and a cluster whose objects were recorded on a rig."""

from __future__ import annotations

import random
from collections.abc import Iterable

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from runtime.builtin_kinds import (
    ADMISSION_POLICY,
    CORE_EVENT,
    DEPLOYMENT,
    LEASE,
    POD,
    PVC,
    SECRET,
    STATEFUL_SET,
)
from runtime.clock import SystemClock
from runtime.testing.api_server.kinds import Kind, custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.writes import WriteTarget
from runtime.types import Object, Resource, key_of
from tests.baoctl.commands.cluster.recorded_cluster import healthy, lease

KINDS: dict[str, Resource] = {
    resource.kind: resource
    for resource in (CLUSTERS, BACKUPS, RESTORES, POD, PVC, SECRET, STATEFUL_SET, LEASE)
}


def server_of(objects: Iterable[Object]) -> FakeApiServer:
    """An API server with these objects and their status."""
    server = FakeApiServer(SystemClock(), random.Random(1))
    for kind in (CLUSTERS, BACKUPS, RESTORES):
        server.serve(custom(kind))
    for kind in (POD, PVC, SECRET, STATEFUL_SET, LEASE, CORE_EVENT, DEPLOYMENT, ADMISSION_POLICY):
        server.serve(Kind(kind, status=kind in (POD, PVC, STATEFUL_SET)))
    for obj in objects:
        keep(server, obj)
    return server


def keep(server: FakeApiServer, obj: Object) -> None:
    """Write an object and its status, as another client does."""
    resource = KINDS[obj["kind"]]
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in ("uid", "resourceVersion", "creationTimestamp", "generation")
    }
    server.put(resource, {**obj, "metadata": metadata})
    if "status" in obj:
        kind = custom(resource) if resource is CLUSTERS else Kind(resource, status=True)
        target = WriteTarget(kind, key_of(obj), subresource="status", manager="test")
        server.writes.update(target, {"metadata": {}, "status": obj["status"]})


def world() -> FakeApiServer:
    """The cluster of `recorded_cluster`, its pods and the Lease of its operator."""
    seen = healthy()
    return server_of([seen.cluster, *seen.pods, lease()])
