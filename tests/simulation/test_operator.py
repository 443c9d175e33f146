"""T8 for a whole operator: whatever happens, and however often it is killed, the end is right.

Replay: SIMULATION_SEED, as in test_convergence.
"""

import pytest

from runtime.testing.simulation import Simulation, simulate
from tests.simulation.farmyard import Farmyard
from tests.simulation.seeds import chunks, name_of

SCHEDULES = 120
CHUNK = 20

RECOVERY_SECONDS = 300.0
QUIET_SECONDS = 1500.0
"""Shorter than the half hour after which owned apply looks at everything anew."""


async def keep_flocks(simulation: Simulation) -> None:
    """One schedule."""
    yard = Farmyard(simulation)
    try:
        await yard.rage(simulation.rng.randint(5, 40))
        yard.faults.rate = 0.0
        await simulation.clock.sleep(RECOVERY_SECONDS)
        yard.expect_order()
        revision, count = yard.server.storage.revision, len(yard.server.requests)
        await simulation.clock.sleep(QUIET_SECONDS)
        writes = [call for call in list(yard.server.requests)[count:] if call.writes]
        assert writes == []
        assert yard.server.storage.revision == revision
        # A new process finds everything in place.
        await yard.shepherd.crash()
        await simulation.clock.sleep(QUIET_SECONDS)
        assert [call for call in list(yard.server.requests)[count:] if call.writes] == []
        yard.expect_order()
    except BaseException as error:
        error.add_note("\n".join(yard.story))
        raise
    finally:
        await yard.shepherd.stop()
    assert not yard.server.watches


@pytest.mark.parametrize("seeds", chunks(SCHEDULES, CHUNK), ids=name_of)
@pytest.mark.usefixtures("quiet")
def test_t08_an_operator_converges_and_rests(seeds: range) -> None:
    for seed in seeds:
        simulate(keep_flocks, seed=seed)


def test_the_faults_reach_the_operator() -> None:
    """What keep_flocks proves rests on lives lost and calls failed; here they are counted."""
    lives, failed = 0, 0

    async def main(simulation: Simulation) -> None:
        nonlocal lives, failed
        yard = Farmyard(simulation)
        await yard.rage(40)
        lives += yard.shepherd.lives
        failed += sum("rate of 0.9" in line for line in yard.story)
        await yard.shepherd.stop()

    for seed in range(3):
        simulate(main, seed=seed)
    assert lives > 5
    assert failed > 0
