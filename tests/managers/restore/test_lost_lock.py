"""A restore whose lock disappears after its Job sent the snapshot takes it again, and ends."""

import pytest

from contracts.api.group import CLUSTERS
from runtime.outcome import Done
from tests.managers.restore.bench import CLUSTER, Bench


async def replicating() -> Bench:
    """Return a restore that waits until the server has the data."""
    bench = Bench()
    await bench.until_created()
    await bench.claim()
    await bench.report("Succeeded", message="done")
    bench.servers.index = 6
    await bench.look()
    assert bench.stage == "Recovering"
    return bench


@pytest.mark.parametrize("lost", [("operationLock",), ("operationLock", "operationLockEpoch")])
async def test_it_is_taken_again_and_released_at_the_end(lost: tuple[str, ...]) -> None:
    bench = await replicating()
    for field in lost:
        del bench.api.objects[(CLUSTERS, CLUSTER)]["status"][field]
    await bench.look()
    lock = bench.lock
    assert lock is not None
    assert lock["holder"] == "openbaorestore/monday"
    assert lock["epoch"] > bench.status["execution"]["lockEpoch"]
    bench.servers.index = 7
    for _ in range(3):
        await bench.look()
    assert bench.status["phase"] == "Completed"
    assert bench.lock is None
    assert isinstance(await bench.look(), Done)
