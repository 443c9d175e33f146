"""Datacenters and BootstrapWorkloads of the API server, and a server of them, for the verbs.

The objects are created by the functions of the operator. Called by the tests of the three modules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from contracts.api.group import API_VERSION
from contracts.api.meta import Condition
from contracts.datacenter.kinds import DATACENTER_KIND, DATACENTERS, SERVICE_SETS, WORKLOADS
from contracts.datacenter.objects import DatacenterStatus, SourceStatus
from contracts.datacenter.workload_records import DesiredService, Failure, ServiceProgress
from managers.datacenter.store.workload_object import body_of, record_of, status_of
from runtime.client.client import Client
from runtime.clock import Clock, SystemClock
from runtime.testing.api_server.faults import Faults
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.api_server.writes import WriteTarget
from runtime.types import Object, Resource, key_of
from tests.baoctl.command_line import command_line as command_line_of
from tests.managers.datacenter.bodies import datacenter

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
FRA1 = datacenter()
KINDS: dict[str, Resource] = {
    resource.kind: resource for resource in (DATACENTERS, SERVICE_SETS, WORKLOADS)
}
FAILURE = Failure("ImagePullFailed", "image not found", NOW - timedelta(minutes=5))


def condition(kind: str, status: Any, reason: str, message: str = "for a person") -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message)


READY = condition("Ready", "True", "AllRunning")
FAILING = condition("Ready", "False", "ServicesFailed")


def source(name: str, services: int = 1, priority: int = 0, error: str = "") -> SourceStatus:
    """A source that last answered a day ago."""
    since = NOW - timedelta(days=1)
    return SourceStatus(
        name=name,
        priority=priority,
        services=services,
        last_good="d",
        last_good_time=since,
        error=error,
    )


def live_datacenter(
    *conditions: Condition, name: str = "fra1", spec: Object | None = None, **status: Any
) -> Object:
    """A Datacenter of generation 1; `status` are fields by their Python names."""
    said = DatacenterStatus.model_validate(
        {"observed_generation": 1, "conditions": conditions, **status}
    )
    place = {"namespace": f"dc-{name}", "region": "eu-central", "zone": "eu-central-1a"}
    return {
        "apiVersion": API_VERSION,
        "kind": DATACENTER_KIND,
        "metadata": {"name": name, "generation": 1},
        "spec": {**place, **(spec or {})},
        "status": said.to_object(),
    }


def live_workload(
    desired_service: DesiredService, progress: ServiceProgress | None = None, **metadata: Any
) -> Object:
    """The BootstrapWorkload of a service of fra1, with progress of its current spec."""
    obj = body_of(FRA1, desired_service)
    if progress is not None:
        known = progress if progress.digest else replace(progress, digest=desired_service.digest)
        obj["status"] = status_of(obj, record_of(obj, FRA1), known, NOW).to_object()
    obj["metadata"] |= metadata
    return obj


def failed_service(seconds: float | None = 8, attempts: int = 3, **changes: Any) -> ServiceProgress:
    """A service whose next attempt is that long after NOW; None: no further attempt."""
    later = None if seconds is None else NOW + timedelta(seconds=seconds)
    progress = ServiceProgress(
        "Failed", FAILURE.message, attempts=attempts, next_retry=later, failure=FAILURE
    )
    return replace(progress, **changes)


def server_of(objects: Iterable[Object], clock: Clock | None = None) -> FakeApiServer:
    """An API server that serves the kinds of datacenters, with these objects and their status."""
    server = FakeApiServer(clock or SystemClock(), random.Random(1))
    for kind in KINDS.values():
        server.serve(custom(kind))
    for obj in objects:
        keep(server, obj)
    return server


def keep(server: FakeApiServer, obj: Object) -> None:
    """Write an object and its status, as another client does."""
    resource = KINDS[obj["kind"]]
    server.put(resource, {name: value for name, value in obj.items() if name != "status"})
    if "status" in obj:
        target = WriteTarget(custom(resource), key_of(obj), subresource="status", manager="test")
        server.writes.update(target, {"metadata": {}, "status": obj["status"]})


def client_at(server: FakeApiServer, faults: Faults | None = None) -> Client:
    return client_of(FakeWire(server, random.Random(1), faults=faults))


command_line = partial(command_line_of, verb=("datacenter",))
