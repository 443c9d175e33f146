"""managers.datacenter.run with more rows than a memory of the usual size holds."""

from __future__ import annotations

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.rows import DatacenterInfo
from managers.datacenter.row_object import body_of
from managers.datacenter.run import Wanted, _read
from runtime.memo import SIZE
from tests.managers.datacenter.bodies import service, wish
from tests.managers.datacenter.kubernetes_bench import NAMESPACE, Operator, Server, datacenter

COUNT = SIZE // 2 + 10
SERVICES = (service("dns"), service("shipper"), service("shop"))


async def test_what_did_not_change_is_not_read_again() -> None:
    server = Server()
    for number in range(COUNT):
        made = server.api.put(DATACENTERS, datacenter(name=f"dc{number}", namespace=NAMESPACE))
        place = DatacenterInfo(f"dc{number}", made["metadata"]["uid"], NAMESPACE)
        for body in SERVICES:
            server.api.put(WORKLOADS, body_of(place, wish(body)))
    operator = Operator(server)

    async def look() -> list[object]:
        """Everything as both reconcilers read it."""
        found: list[object] = []
        for live in operator.caches[DATACENTERS].list():
            wanted = _read(live)
            assert isinstance(wanted, Wanted)
            found += [wanted, *await operator.store.list_by_datacenter(wanted.info)]
        return found

    first, second = await look(), await look()
    assert len(first) == 4 * COUNT > 2 * SIZE
    assert all(one is other for one, other in zip(first, second, strict=True))


async def test_both_reconcilers_read_a_row_alike() -> None:
    """Else each would undo what the other one remembers."""
    server = Server()
    server.put(DATACENTERS, datacenter({"name": "dns", "services": [{"name": "a", "image": "a"}]}))
    operator = Operator(server)
    await operator.settle()
    (live,) = operator.caches[DATACENTERS].list()
    wanted = _read(live)
    (before,) = await operator.store.list_by_datacenter(wanted.info)
    await operator.row("dns")
    await operator.tick()
    (after,) = await operator.store.list_by_datacenter(wanted.info)
    assert after is before
