"""The Jobs of a blue/green upgrade: three real servers, and three more.

Each test continues with the state of the last one, as an upgrade does: an upgrade, a rollback, and
an upgrade that completes. Every action runs twice, and is refused in every wrong order that could
lose votes.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.jobs.upgrade.main import do
from contracts.exit_codes import STEP_EXIT_CODES
from contracts.jobs.env import UpgradeEnv
from contracts.jobs.upgrade_actions import (
    DEMOTE,
    JOIN,
    PROMOTE,
    REMOVE_BLUE,
    REMOVE_GREEN,
    REPAIR,
    WAIT,
)
from runtime.clock import SystemClock
from tests.integration.bao_fleet import Fleet, fleet

BLUE = ("c-0", "c-1", "c-2")
# One name has the name of a blue server as its prefix, to detect comparisons of parts of names.
GREEN = ("c-1-0", "c-g-0", "c-g-1")
# The leader loses a vote request if its autopilot reads the configuration meanwhile. With 40 times
# the default number of reads it loses one of seven, so that every action is tested with it.
EAGER_AUTOPILOT = "50ms"
pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(bao: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    folder = tmp_path_factory.mktemp("sets")
    with fleet(bao, folder, BLUE, blue_green=True, autopilot_reads=EAGER_AUTOPILOT) as server:
        await server.wait_for(BLUE)
        for pod in GREEN:
            server.start(pod)
        yield server


async def _do(servers: Fleet, action: str, seconds: int = 60) -> tuple[str, int]:
    env = UpgradeEnv(
        servers.env(*BLUE, *GREEN), action, "run-1", blue=BLUE, green=GREEN, timeout=seconds
    )
    return await do(env.to_environment(), SystemClock(), servers.reach)


async def _twice(servers: Fleet, action: str) -> str:
    """Run an action twice; the second run changes nothing, and the leader stays."""
    message, code = await _do(servers, action)
    assert code == 0, message
    count, members = servers.leads(), await servers.members()
    again, code = await _do(servers, action)
    assert code == 0, again
    assert (servers.leads(), await servers.members()) == (count, members)
    return message


async def _refusal(servers: Fleet, action: str) -> str:
    """Check that an action is refused and changes nothing, and return the message."""
    before = await servers.members()
    message, code = await _do(servers, action, 3)
    assert code in STEP_EXIT_CODES.values(), message
    assert await servers.members() == before
    return message


async def _votes(servers: Fleet) -> dict[str, bool]:
    return {pod: member.voter for pod, member in (await servers.members()).items()}


def _all(pods: tuple[str, ...], vote: bool) -> dict[str, bool]:
    return dict.fromkeys(pods, vote)


@pytest.mark.parametrize("action", [WAIT, PROMOTE, DEMOTE, REMOVE_BLUE])
async def test_no_action_succeeds_before_green_has_joined(servers: Fleet, action: str) -> None:
    assert await _refusal(servers, action)
    assert await _votes(servers) == _all(BLUE, True)


async def test_green_joins_without_votes(servers: Fleet) -> None:
    assert await _twice(servers, JOIN) == f"{', '.join(GREEN)} joined"
    assert await _votes(servers) == {**_all(BLUE, True), **_all(GREEN, False)}


@pytest.mark.parametrize("action", [DEMOTE, REMOVE_BLUE])
async def test_blue_keeps_its_votes_while_green_has_none(servers: Fleet, action: str) -> None:
    assert await _refusal(servers, action)


async def test_green_gets_votes_after_it_is_in_sync(servers: Fleet) -> None:
    await _twice(servers, WAIT)
    await _twice(servers, PROMOTE)
    assert await _votes(servers) == _all((*BLUE, *GREEN), True)
    assert await servers.leader() in BLUE


async def test_voters_are_not_removed(servers: Fleet) -> None:
    assert "votes and was not removed" in await _refusal(servers, REMOVE_GREEN)
    assert "leads, and is not in the remaining pool" in await _refusal(servers, REMOVE_BLUE)


async def test_a_rollback_restores_blue(servers: Fleet) -> None:
    await _twice(servers, REPAIR)
    assert await _votes(servers) == {**_all(BLUE, True), **_all(GREEN, False)}
    assert await servers.leader() in BLUE


async def test_green_takes_over(servers: Fleet) -> None:
    await _twice(servers, PROMOTE)
    await _twice(servers, DEMOTE)
    assert await _votes(servers) == {**_all(BLUE, False), **_all(GREEN, True)}
    assert await servers.leader() in GREEN


async def test_the_leader_is_not_removed(servers: Fleet) -> None:
    assert "leads, and is not in the remaining pool" in await _refusal(servers, REMOVE_GREEN)


async def test_a_rollback_works_after_green_has_led(servers: Fleet) -> None:
    await _twice(servers, REPAIR)
    assert await _votes(servers) == {**_all(BLUE, True), **_all(GREEN, False)}
    assert await servers.leader() in BLUE


async def test_blue_is_removed_in_the_end(servers: Fleet) -> None:
    for action in (PROMOTE, DEMOTE):
        message, code = await _do(servers, action)
        assert code == 0, message
    # A server that is down is removed as well, because it has no vote.
    servers.kill(BLUE[1])
    await _twice(servers, REMOVE_BLUE)
    assert await _votes(servers) == _all(GREEN, True)
    assert await servers.leader() in GREEN


async def test_no_rollback_is_possible_after_that(servers: Fleet) -> None:
    assert "did not become members" in await _refusal(servers, REPAIR)
