"""T8 for a whole operator: it converges after any faults and crashes.

Replay: SIMULATION_SEED, as in test_convergence.
"""

import pytest

from runtime.testing.simulation import Simulation, simulate
from tests.simulation.config_map_set_faults import SetSimulation
from tests.simulation.seeds import chunks, name_of

SCHEDULES = 120
CHUNK = 20

RECOVERY_SECONDS = 300.0
QUIET_SECONDS = 1500.0
"""Shorter than the half hour after which owned apply compares all objects again."""


async def converge(simulation: Simulation) -> None:
    """One schedule."""
    sets = SetSimulation(simulation)
    try:
        await sets.run(simulation.rng.randint(5, 40))
        sets.faults.rate = 0.0
        await simulation.clock.sleep(RECOVERY_SECONDS)
        sets.expect_convergence()
        revision, count = sets.server.storage.revision, len(sets.server.requests)
        await simulation.clock.sleep(QUIET_SECONDS)
        writes = [call for call in list(sets.server.requests)[count:] if call.writes]
        assert writes == []
        assert sets.server.storage.revision == revision
        # A new process has nothing to write.
        await sets.runner.crash()
        await simulation.clock.sleep(QUIET_SECONDS)
        assert [call for call in list(sets.server.requests)[count:] if call.writes] == []
        sets.expect_convergence()
    except BaseException as error:
        error.add_note("\n".join(sets.history))
        raise
    finally:
        await sets.runner.stop()
    assert not sets.server.watches


@pytest.mark.parametrize("seeds", chunks(SCHEDULES, CHUNK), ids=name_of)
@pytest.mark.usefixtures("quiet")
def test_t08_an_operator_converges_and_becomes_idle(seeds: range) -> None:
    for seed in seeds:
        simulate(converge, seed=seed)


def test_the_faults_affect_the_operator() -> None:
    """The schedules contain crashes and failed calls."""
    lives, failed = 0, 0

    async def main(simulation: Simulation) -> None:
        nonlocal lives, failed
        sets = SetSimulation(simulation)
        await sets.run(40)
        lives += sets.runner.lives
        failed += sum("rate of 0.9" in line for line in sets.history)
        await sets.runner.stop()

    for seed in range(3):
        simulate(main, seed=seed)
    assert lives > 5
    assert failed > 0
