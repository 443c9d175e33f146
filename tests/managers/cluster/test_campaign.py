"""Errors of every class at every call: the cluster converges anyway, or reports the cause.

Each request of a whole life (first boot, three servers, a change that replaces every pod) fails
with the faults of `campaign.FAULTS`, once or several times. A fault may only cost rounds: the
objects are the same, without duplicates and without endless writes.

By default every call meets two faults; with CAMPAIGN=all every call meets every fault.
"""

import asyncio
import os

import pytest

from tests.managers.cluster.campaign import FAULTS, CallFault, FaultyApi, Life, let_servers_answer

# Number of failures of a persistent fault: more than the status hides.
WHILE = 6
# Additional rounds that one fault may cost.
MORE_ROUNDS = WHILE + 4
MORE_WRITES = 2 * WHILE
EVERYTHING = os.environ.get("CAMPAIGN") == "all"


def run(call_fault: CallFault | None = None) -> Life:
    """Run a whole life; raises AssertionError when it does not converge."""
    with pytest.MonkeyPatch.context() as patch:
        life = Life(FaultyApi(call_fault))
        let_servers_answer(patch, life)

        async def live() -> None:
            await life.until_settled(40)
            life.change()
            await life.until_settled(40)

        asyncio.run(live())
    return life


SOUND = run()
CALLS = list(SOUND.api.call_counts)


def call_faults() -> list[CallFault]:
    """The faults of each call."""
    chosen = []
    for number, call in enumerate(CALLS):
        # Coprime to the number of faults, so that each kind of call meets all of them.
        faults = FAULTS if EVERYTHING else (FAULTS[(3 * number) % len(FAULTS)],)
        chosen += [CallFault(call, fault) for fault in faults]
        faults = FAULTS if EVERYTHING else (FAULTS[(3 * number + 5) % len(FAULTS)],)
        chosen += [CallFault(call, fault, WHILE) for fault in faults]
    return chosen


def fault_id(call_fault: CallFault) -> str:
    return f"{call_fault.call}: {call_fault.fault} x{call_fault.times}"


@pytest.mark.parametrize("call_fault", call_faults(), ids=fault_id)
def test_a_failing_call_only_costs_rounds(call_fault: CallFault) -> None:
    life = run(call_fault)
    assert call_fault.done >= 1
    assert life.object_names() == SOUND.object_names()
    assert life.templates() == SOUND.templates()
    assert life.generation() == SOUND.generation()
    assert life.ready() == ("True", "AllReplicasReady")
    assert life.rounds <= SOUND.rounds + MORE_ROUNDS
    assert life.writes() <= SOUND.writes() + MORE_WRITES
    for unique in ("create Secret x-unseal-key", "create Secret x-tls-ca"):
        failures = life.api.creation_counts[unique]
        assert failures == 1, f"{unique}: {failures} times"


def test_a_persistent_error_is_reported() -> None:
    """A persistent refusal is reported with its message, and cleared at its end."""
    for fault in (403, 422, 500):
        life = run(CallFault("apply Service x-public", fault, WHILE))
        reasons = {reason for _, reason in life.ready_reasons}
        assert reasons & {"TransientError", "Rejected"}, fault


def test_the_faults_reach_every_kind_of_call() -> None:
    verbs = {call.split()[0] for call in CALLS}
    assert verbs >= {"get", "peek", "create", "apply", "apply/status", "patch", "delete"}
    assert len(CALLS) > 30
    met = {(call_fault.call.split()[0], call_fault.fault) for call_fault in call_faults()}
    assert {fault for verb, fault in met if verb == "apply"} == set(FAULTS)
