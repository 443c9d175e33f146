"""managers.datacenter.reconcile with many datacenters: unchanged objects are not read again."""

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.workload_records import DatacenterInfo
from managers.datacenter.reconcile import ValidDatacenter, _read
from managers.datacenter.store.workload_object import body_of
from runtime.memo import SIZE
from tests.managers.datacenter.bodies import desired_service, service
from tests.managers.datacenter.kubernetes_bench import NAMESPACE, Operator, Server, body, datacenter

COUNT = SIZE // 2 + 10
SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
SERVICES = (service("dns"), service("shipper"), service("shop"))


async def test_unchanged_objects_are_not_read_again() -> None:
    server = Server()
    for number in range(COUNT):
        live_datacenter = server.api.put(
            DATACENTERS, datacenter(name=f"dc{number}", namespace=NAMESPACE)
        )
        place = DatacenterInfo(f"dc{number}", live_datacenter["metadata"]["uid"], NAMESPACE)
        for name in SERVICES:
            server.api.put(WORKLOADS, body_of(place, desired_service(name)))
    operator = Operator(server)

    async def look() -> list[object]:
        """Read all objects as both reconcilers do."""
        results: list[object] = []
        for live in operator.caches[DATACENTERS].list():
            desired = _read(live)
            assert isinstance(desired, ValidDatacenter)
            results += [desired, *await operator.store.list_by_datacenter(desired.info)]
        return results

    first, second = await look(), await look()
    assert len(first) == 4 * COUNT > 2 * SIZE
    assert all(item is other for item, other in zip(first, second, strict=True))


async def test_both_reconcilers_read_a_record_equally() -> None:
    """Otherwise each would evict the cached value of the other."""
    server = Server()
    server.put(DATACENTERS, datacenter({"name": "dns", "services": [{"name": "a", "image": "a"}]}))
    operator = Operator(server)
    await operator.settle()
    (live,) = operator.caches[DATACENTERS].list()
    desired = _read(live)
    (before,) = await operator.store.list_by_datacenter(desired.info)
    await operator.record("dns")
    await operator.tick()
    (after,) = await operator.store.list_by_datacenter(desired.info)
    assert after is before
