"""T20: a cluster whose servers never terminate does not block its namespace."""

import pytest

from managers.cluster.delete import PODS_GRACE_PERIOD
from runtime.builtin_kinds import POD, PVC
from runtime.outcome import Done, Wait, timer_of
from tests import gen
from tests.managers.cluster.deletion_bench import WHOLE, Bench, claim

STUCK = (
    (POD, gen.pod(0).terminating().object()),
    (POD, gen.pod(1).terminating().object()),
    *((PVC, claim(n)) for n in range(2)),
)
NAMESPACE_MAY_TAKE = 60.0


@pytest.mark.parametrize("policy", ["DeletePVCs", "DeleteAll"])
class TestStuckPods:
    async def test_attack_t20_the_wait_for_hanging_pods_is_bounded(self, policy: str) -> None:
        bench = Bench(*STUCK)
        waited = 0.0
        while isinstance(outcome := await bench.run(policy), Wait):
            assert "x-0, x-1" in outcome.message
            step = gen.present(timer_of(outcome))
            waited += step
            await bench.outside.clock.advance(step)
        assert outcome == Done()
        assert waited <= PODS_GRACE_PERIOD.total_seconds() + 5.0 < NAMESPACE_MAY_TAKE
        # Each is protected: the API server keeps it until its pod has terminated.
        assert bench.writes == [f"delete PersistentVolumeClaim data-x-{n}" for n in range(2)]
        ((kind, reason, text),) = await bench.outside.flush_events()
        assert (kind, reason) == ("Warning", "ServersStillRun")
        assert "x-0, x-1" in text

    async def test_attack_t20_a_hanging_stateful_set_does_not_block_the_deletion(
        self, policy: str
    ) -> None:
        bench = Bench(*WHOLE)
        assert isinstance(await bench.run(policy), Wait)
        await bench.outside.clock.advance(PODS_GRACE_PERIOD.total_seconds())
        assert await bench.run(policy) == Done()

    async def test_attack_t20_no_server_and_no_secret_is_read(self, policy: str) -> None:
        bench = Bench(*STUCK)
        await bench.run(policy)
        assert bench.api.calls == []


async def test_attack_t20_retain_does_not_wait_for_pods() -> None:
    assert await Bench(*STUCK).run("Retain") == Done()
