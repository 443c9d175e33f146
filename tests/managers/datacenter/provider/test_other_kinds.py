"""managers.datacenter.provider.other_kinds: a CRD that changes after its discovery.

Other cases are in tests/integration/test_datacenter_objects.py.
"""

import random
from dataclasses import replace

import orjson
import pytest

from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.other_kinds import ObjectsProvider
from runtime.client.transport import HttpRequest, HttpResponse
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock
from runtime.types import ObjectKey, Resource
from tests.contracts.datacenter.services import objects
from tests.gen.api import owned_apply
from tests.managers.datacenter.bodies import desired_service, record, service

ISSUERS = Resource("example.com", "v1", "Issuer", "issuers")
ISSUER = {"apiVersion": "example.com/v1", "kind": "Issuer", "spec": {}}


def record_of(*issuers: str) -> ServiceRecord:
    bodies = [{**ISSUER, "metadata": {"name": name}} for name in issuers]
    return record(desired_service(service(**objects(*bodies, name="issuers"), services=())))


RECORD = record_of("own")


class Discovery(FakeWire):
    """A wire to a server whose discovery has the kinds of `served`."""

    served: tuple[Resource, ...] = ()

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        documents = {}
        for kind in self.served:
            listed = {"kind": kind.kind, "name": kind.plural, "namespaced": kind.namespaced}
            documents = {
                "/apis/example.com": {"preferredVersion": {"groupVersion": kind.api_version}},
                "/apis/example.com/v1": {"resources": [listed]},
            }
        if call.path not in documents:
            return await super().request(call)
        return HttpResponse(200, orjson.dumps(documents[call.path]))


class World:
    """A server, and a provider for it."""

    def __init__(self) -> None:
        clock, rng = ManualClock(), random.Random(1)
        self.server = FakeApiServer(clock, rng)
        self.wire = Discovery(self.server, rng, latency=(0.0, 0.0))
        client = client_of(self.wire)
        self.provider = ObjectsProvider(client, lambda caches: owned_apply(client, caches, clock))


async def test_a_replaced_crd_is_discovered_again() -> None:
    world = World()
    world.wire.served = (ISSUERS,)
    assert not (await world.provider.observe(RECORD)).present
    everywhere = replace(ISSUERS, namespaced=False)
    world.wire.served = (everywhere,)
    world.server.serve(custom(everywhere))
    await world.provider.provision(RECORD)
    assert world.server.get(everywhere, ObjectKey("", "own")) is not None
    assert (await world.provider.observe(RECORD)).digest == RECORD.desired.digest


async def test_a_deleted_crd_is_reported() -> None:
    world = World()
    world.wire.served = (ISSUERS,)
    await world.provider.observe(RECORD)
    world.wire.served = ()
    with pytest.raises(ProviderError, match="does not serve kind Issuer") as raised:
        await world.provider.provision(RECORD)
    assert (raised.value.reason, raised.value.terminal) == ("KindNotServed", False)


@pytest.mark.parametrize("order", [("own", "other"), ("other", "own")])
async def test_objects_are_deleted_in_reverse_order_of_the_body(order: tuple[str, str]) -> None:
    world = World()
    world.wire.served = (ISSUERS,)
    world.server.serve(custom(ISSUERS))
    both = record_of(*order)
    await world.provider.provision(both)
    await world.provider.deprovision(both)
    deleted = [call.path for call in world.server.requests if call.method == "DELETE"]
    assert [path.rpartition("/")[2] for path in deleted] == [*reversed(order)]
