"""A provider over an API server in memory, with caches that a test brings up to date.

Uses runtime.testing. What the controllers of Kubernetes and its garbage collector would do is done
by `Bench.controllers`, so that a test sees the moments in between.
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
# Longer than what the client waits for by itself.
LATER = 30.0


@dataclass(frozen=True, slots=True)
class Refusing(Fault):
    """A fault that is an answer of the server's own."""

    answer: RefusedAnswer | None = None

    def refusal(self) -> RefusedAnswer | None:
        return self.answer


def refusing(code: int, reason: str, message: str = "told to") -> Fault:
    """Let the server answer a call with this."""
    return Refusing(FaultKind.INTERNAL, answer=RefusedAnswer(code, reason, message))


class Nth:
    """Spoils the n-th of the calls that count, from 1; 0 for none."""

    def __init__(self, counts: Callable[[HttpRequest], bool], number: int, fault: Fault) -> None:
        self._counts, self._left, self._fault = counts, number, fault

    def next(self, call: HttpRequest) -> Fault | None:
        if not self._counts(call):
            return None
        self._left -= 1
        return self._fault if self._left == 0 else None

    def struck(self) -> bool:
        """Whether it has done so."""
        return self._left <= 0


class Always:
    """Spoils every call that the text occurs in."""

    def __init__(self, where: str, fault: Fault) -> None:
        self._where, self._fault = where, fault

    def next(self, call: HttpRequest) -> Fault | None:
        return self._fault if self._where in f"{call.method} {call.target}" else None


class Bench:
    """One provider; `asked` is what reached the server."""

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
        """Forget what is remembered, as a new process does."""
        apply = owned_apply(self.client, self.caches, self.clock)
        self.provider = KubernetesProvider(self.client, self.caches, apply)

    def sync(self) -> None:
        """Let the caches see what the server has."""
        for resource, cache in self.caches.items():
            selected = filter(cache.selection.matches, self.server.objects(resource))
            cache.says(*map(cache.selection.shape, selected))

    @property
    def names_of(self) -> list[str]:
        """The calls as words, and from now on none."""
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
        """Kind and name of everything that is there."""
        return sorted(
            f"{resource.kind} {key_of(obj).name}"
            for resource in RESOURCES
            for obj in self.server.objects(resource)
        )

    def uids(self) -> set[str]:
        """The UIDs of everything that is there."""
        return {uid_of(obj) for resource in RESOURCES for obj in self.server.objects(resource)}

    def state(self) -> dict[str, Object]:
        """Everything that is there, without what differs from run to run."""
        objects = {}
        for resource in RESOURCES:
            for obj in self.server.objects(resource):
                kept = {k: v for k, v in obj["metadata"].items() if k not in _VOLATILE}
                bare = {k: v for k, v in obj.items() if k != "status"}
                objects[f"{resource.kind} {key_of(obj).name}"] = {**bare, "metadata": kept}
        return objects

    def edit(self, resource: Resource, name: str, change: Callable[[Object], Object]) -> None:
        """Let somebody else write an object."""
        live = self.live(resource, name)
        assert live is not None
        self.server.put(resource, change(live), manager="somebody")

    def says(self, resource: Resource, name: str, **status: Any) -> None:
        """Let the controller of an object write its status."""
        live = self.live(resource, name)
        assert live is not None
        seen = {"observedGeneration": live["metadata"]["generation"]}
        target = WriteTarget(COUNTED[resource], key_of(live), "status", "controller")
        self.server.writes.update(target, {**live, "status": {**seen, **status}})

    def controllers(self) -> None:
        """Look at each workload, and end what was deleted and waits for that alone."""
        for resource in COUNTED:
            for live in list(self.server.objects(resource)):
                if is_terminating(live):
                    metadata = {**live["metadata"], "finalizers": []}
                    self.server.put(resource, {**live, "metadata": metadata})
                else:
                    self.says(resource, key_of(live).name)

    async def provision(self, record: ServiceRecord, *vaults: Vault) -> None:
        """One call with caches that are up to date, before it and behind it."""
        self.sync()
        try:
            await self.provider.provision(record, vaults)
        finally:
            self.sync()

    async def observe(self, record: ServiceRecord) -> Observation:
        self.sync()
        return await self.provider.observe(record)

    async def bring(self, record: ServiceRecord, *vaults: Vault) -> None:
        """Call until everything is created from the spec."""
        await self.until(record, lambda: False, *vaults)

    async def until(self, record: ServiceRecord, over: Callable[[], bool], *vaults: Vault) -> None:
        """The same, or until a call in which something else came to be so."""
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
        raise AssertionError("it never comes to rest")

    async def retire(self, record: ServiceRecord) -> None:
        """Call until it is gone."""
        for _ in range(PASSES):
            self.sync()
            try:
                if await self.provider.deprovision(record):
                    return
            except ProviderError as error:
                _pass_over(error)
            self.controllers()
        raise AssertionError("it never goes")


def _pass_over(error: ProviderError) -> None:
    """Go on after an error that another attempt may get over."""
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


def events_sent(**changes: Any) -> ServiceRecord:
    return shipper(depends_on=("openbao:ready",), **changes)


def cluster(**spec: Any) -> ServiceRecord:
    vault = bodies.openbao("vault").to_object()["openbao"]
    return bodies.record(bodies.desired_service(bodies.openbao("vault", openbao=vault | spec)))


def with_metadata(**fields: Any) -> Callable[[Object], Object]:
    """A change that somebody makes to the metadata of an object."""
    return lambda live: {**live, "metadata": {**live["metadata"], **fields}}


HELD = with_metadata(finalizers=["example.com/x"])


async def refusal_of(bench: Bench, record: ServiceRecord) -> tuple[str, bool]:
    """Reason of the error of one call, and whether it is terminal."""
    with pytest.raises(ProviderError) as raised:
        await bench.provision(record)
    return raised.value.reason, raised.value.terminal
