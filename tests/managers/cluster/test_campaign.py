"""Errors of every class at every call: a cluster comes to its end all the same, or says why not.

Each request of a whole life (first boot, three servers, a change that replaces every pod) meets the
answers of `campaign.FAULTS`, once or for a while. What went wrong may cost rounds and nothing else:
the same objects, no second one of anything, no endless writing.

A usual run lets every call meet two faults; CAMPAIGN=all lets every call meet every fault.
"""

import asyncio
import os

import pytest

from tests.managers.cluster.campaign import FAULTS, Harm, Life, MoodyApi, let_servers_answer

# How often a call goes wrong when it goes wrong for a while: longer than errors are kept quiet.
WHILE = 6
# What one fault may cost beyond a life without any.
MORE_ROUNDS = WHILE + 4
MORE_WRITES = 2 * WHILE
EVERYTHING = os.environ.get("CAMPAIGN") == "all"


def run(harm: Harm | None = None) -> Life:
    """Live a whole life; AssertionError when it does not come to its end."""
    with pytest.MonkeyPatch.context() as patch:
        life = Life(MoodyApi(harm))
        let_servers_answer(patch, life)

        async def live() -> None:
            await life.until_settled(40)
            life.change()
            await life.until_settled(40)

        asyncio.run(live())
    return life


SOUND = run()
CALLS = list(SOUND.api.heard)


def harms() -> list[Harm]:
    """Which calls meet which faults."""
    chosen = []
    for number, call in enumerate(CALLS):
        # Neighbours are prime to the number of faults, so that each kind of call meets all of them.
        faults = FAULTS if EVERYTHING else (FAULTS[(3 * number) % len(FAULTS)],)
        chosen += [Harm(call, fault) for fault in faults]
        faults = FAULTS if EVERYTHING else (FAULTS[(3 * number + 5) % len(FAULTS)],)
        chosen += [Harm(call, fault, WHILE) for fault in faults]
    return chosen


def named(harm: Harm) -> str:
    return f"{harm.call}: {harm.fault} x{harm.times}"


@pytest.mark.parametrize("harm", harms(), ids=named)
def test_a_call_that_goes_wrong_costs_rounds_and_nothing_else(harm: Harm) -> None:
    life = run(harm)
    assert harm.done >= 1
    assert life.kept() == SOUND.kept()
    assert life.templates() == SOUND.templates()
    assert life.generation() == SOUND.generation()
    assert life.ready() == ("True", "AllReplicasReady")
    assert life.rounds <= SOUND.rounds + MORE_ROUNDS
    assert life.writes() <= SOUND.writes() + MORE_WRITES
    for unique in ("create Secret x-unseal-key", "create Secret x-tls-ca"):
        made = life.api.made[unique]
        assert made == 1, f"{unique}: {made} times"


def test_what_lasts_is_named() -> None:
    """An API that goes on refusing is told with its words, and forgotten when it is over."""
    for fault in (403, 422, 500):
        life = run(Harm("apply Service x-public", fault, WHILE))
        reasons = {reason for _, reason in life.told}
        assert reasons & {"TransientError", "Rejected"}, fault


def test_the_faults_reach_every_kind_of_call() -> None:
    verbs = {call.split()[0] for call in CALLS}
    assert verbs >= {"get", "peek", "create", "apply", "apply/status", "patch", "delete"}
    assert len(CALLS) > 30
    met = {(harm.call.split()[0], harm.fault) for harm in harms()}
    assert {fault for verb, fault in met if verb == "apply"} == set(FAULTS)
