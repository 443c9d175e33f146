"""A provider with an API server in memory, and caches that a test updates.

Uses runtime.testing. `Bench.controllers` acts as the controllers and the garbage collector of
Kubernetes, so that a test sees the steps in between.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from contracts.naming import labels
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.kubernetes import RESOURCES, KubernetesProvider
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from runtime.client.transport import HttpRequest
from runtime.testing.api_server.answers import RefusedAnswer
from runtime.testing.api_server.faults import Fault, FaultKind
from runtime.testing.api_server.kinds import BUILT_IN_KINDS, Kind, custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.api_server.writes import WriteTarget
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource, is_terminating, key_of, uid_of
from tests.gen.api import StillInformer, owned_apply
from tests.managers.datacenter import bodies

MINE = f"{labels.MANAGED_BY}={labels.OPERATOR}"
NAMESPACE = "dc-fra1"
PASSES = 40
COUNTED = {
    kind.resource: kind
    for kind in (
        *(kind for kind in BUILT_IN_KINDS if kind.resource == STATEFUL_SET),
        Kind(DEPLOYMENT, status=True, generation=True),
        Kind(DAEMON_SET, status=True, generation=True),
        custom(CLUSTERS),
    )
}
NAME = "fra1-shipper"
FILES = f"{NAME}-files"
OPENBAO = f"{NAME}-openbao"
VAULT = Vault("vault", "https://fra1-vault-public.dc-fra1.svc:8200", "fra1-vault-tls-ca")
SPOOL = {"name": "spool", "mount_path": "/spool", "kind": "Persistent", "size": "1Gi"}
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
# Longer than the retries of the client.
LATER = 30.0


@dataclass(frozen=True, slots=True)
class RefusalFault(Fault):
    """A fault that is an error response of the server."""

    answer: RefusedAnswer | None = None

    def refusal(self) -> RefusedAnswer | None:
        return self.answer


def refusing(code: int, reason: str, message: str = "refused by the test") -> Fault:
    """A fault with this error response."""
    return RefusalFault(FaultKind.INTERNAL, answer=RefusedAnswer(code, reason, message))


class Nth:
    """Fails the n-th of the counted calls, from 1; 0 for none."""

    def __init__(self, counts: Callable[[HttpRequest], bool], number: int, fault: Fault) -> None:
        self._counts, self._left, self._fault = counts, number, fault

    def next(self, call: HttpRequest) -> Fault | None:
        if not self._counts(call):
            return None
        self._left -= 1
        return self._fault if self._left == 0 else None

    def struck(self) -> bool:
        """Whether the call has failed."""
        return self._left <= 0


class Always:
    """Fails every call that contains the text."""

    def __init__(self, where: str, fault: Fault) -> None:
        self._where, self._fault = where, fault

    def next(self, call: HttpRequest) -> Fault | None:
        return self._fault if self._where in f"{call.method} {call.target}" else None


class Bench:
    """One provider with its API server."""

    def __init__(self, guard: Callable[[], None] | None = None) -> None:
        self.clock = ManualClock()
        self.server = FakeApiServer(self.clock, random.Random(1))
        for kind in COUNTED.values():
            self.server.serve(kind)
        self.wire = FakeWire(self.server, random.Random(1), latency=(0.0, 0.0))
        self.client = client_of(self.wire, guard=guard)
        self.caches = {
            resource: StillInformer(resource, "" if resource == CLUSTERS else MINE)
            for resource in RESOURCES
        }
        self.restart()
        self.sync()

    def restart(self) -> None:
        """Drop all caches, as a new process does."""
        apply = owned_apply(self.client, self.caches, self.clock)
        self.provider = KubernetesProvider(self.client, self.caches, apply)

    def sync(self) -> None:
        """Update the caches from the server."""
        for resource, cache in self.caches.items():
            selected = filter(cache.selection.matches, self.server.objects(resource))
            cache.says(*map(cache.selection.shape, selected))

    def take_requests(self) -> list[str]:
        """Return the requests since the last call, as words."""
        words = []
        for call in self.server.requests:
            *_, plural, name = call.path.split("/")
            words.append(f"{call.method} {plural} {name}")
        self.server.requests.clear()
        return words

    def live(self, resource: Resource, name: str) -> Object | None:
        """The object on the server."""
        return self.server.get(resource, ObjectKey(NAMESPACE, name))

    def names(self) -> list[str]:
        """Kind and name of all objects."""
        return sorted(
            f"{resource.kind} {key_of(obj).name}"
            for resource in RESOURCES
            for obj in self.server.objects(resource)
        )

    def uids(self) -> set[str]:
        """The UIDs of all objects."""
        return {uid_of(obj) for resource in RESOURCES for obj in self.server.objects(resource)}

    def state(self) -> dict[str, Object]:
        """All objects without fields that differ between runs."""
        objects = {}
        for resource in RESOURCES:
            for obj in self.server.objects(resource):
                kept = {k: v for k, v in obj["metadata"].items() if k not in _VOLATILE}
                bare = {k: v for k, v in obj.items() if k != "status"}
                objects[f"{resource.kind} {key_of(obj).name}"] = {**bare, "metadata": kept}
        return objects

    def edit(self, resource: Resource, name: str, change: Callable[[Object], Object]) -> None:
        """Write an object as another manager."""
        live = self.live(resource, name)
        assert live is not None
        self.server.put(resource, change(live), manager="somebody")

    def says(self, resource: Resource, name: str, **status: Any) -> None:
        """Write the status of an object as its controller."""
        live = self.live(resource, name)
        assert live is not None
        seen = {"observedGeneration": live["metadata"]["generation"]}
        target = WriteTarget(COUNTED[resource], key_of(live), "status", "controller")
        self.server.writes.update(target, {**live, "status": {**seen, **status}})

    def controllers(self) -> None:
        """Observe each workload, and complete deletions."""
        for resource in COUNTED:
            for live in list(self.server.objects(resource)):
                if is_terminating(live):
                    metadata = {**live["metadata"], "finalizers": []}
                    self.server.put(resource, {**live, "metadata": metadata})
                else:
                    self.says(resource, key_of(live).name)

    async def provision(self, record: ServiceRecord, *vaults: Vault) -> None:
        """Call provision, and update the caches before and after it."""
        self.sync()
        try:
            await self.provider.provision(record, vaults)
        finally:
            self.sync()

    async def observe(self, record: ServiceRecord) -> Observation:
        self.sync()
        return await self.provider.observe(record)

    async def bring(self, record: ServiceRecord, *vaults: Vault) -> None:
        """Call provision until all objects match the spec."""
        await self.until(record, lambda: False, *vaults)

    async def until(self, record: ServiceRecord, over: Callable[[], bool], *vaults: Vault) -> None:
        """The same, or until `over` is true after a call."""
        for _ in range(PASSES):
            try:
                await self.provision(record, *vaults)
            except ProviderError as error:
                _pass_over(error)
            if over():
                return
            self.controllers()
            if (await self.observe(record)).digest == record.desired.digest:
                return
        raise AssertionError("the objects never match the spec")

    async def retire(self, record: ServiceRecord) -> None:
        """Call deprovision until all objects are deleted."""
        for _ in range(PASSES):
            self.sync()
            try:
                if await self.provider.deprovision(record):
                    return
            except ProviderError as error:
                _pass_over(error)
            self.controllers()
        raise AssertionError("the objects are never deleted")


def _pass_over(error: ProviderError) -> None:
    """Ignore an error that is not terminal."""
    if error.terminal:
        raise error


def writes(call: HttpRequest) -> bool:
    return call.writes


def every(call: HttpRequest) -> bool:
    return True


def shipper(*, redeploy: str = "", part: Any = None, **changes: Any) -> ServiceRecord:
    """A record whose service has files and a port."""
    main = {
        "name": "main",
        "image": bodies.IMAGE,
        "ports": ({"name": "http", "port": 8080},),
        "config_files": ({"path": "/etc/shipper.conf", "content": "flush 5\n"},),
        **(part or {}),
    }
    return bodies.record(
        bodies.desired_service(
            bodies.service("shipper", services=(main,), **changes), redeploy=redeploy
        )
    )


def with_volume(**changes: Any) -> ServiceRecord:
    return shipper(kind="StatefulSet", part={"volumes": (SPOOL,)}, **changes)


def vault_client(**changes: Any) -> ServiceRecord:
    return shipper(depends_on=("openbao:ready",), **changes)


def cluster(**spec: Any) -> ServiceRecord:
    vault = bodies.openbao("vault").to_object()["openbao"]
    return bodies.record(bodies.desired_service(bodies.openbao("vault", openbao=vault | spec)))


def with_metadata(**fields: Any) -> Callable[[Object], Object]:
    """A change of metadata fields of an object."""
    return lambda live: {**live, "metadata": {**live["metadata"], **fields}}


HELD = with_metadata(finalizers=["example.com/x"])


async def refusal_of(bench: Bench, record: ServiceRecord) -> tuple[str, bool]:
    """Reason of the error of one call, and whether it is terminal."""
    with pytest.raises(ProviderError) as raised:
        await bench.provision(record)
    return raised.value.reason, raised.value.terminal
