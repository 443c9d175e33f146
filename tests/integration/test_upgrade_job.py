"""The step-down Job with three real servers: the leader changes once, and only if allowed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.jobs.upgrade.main import do
from contracts.exit_codes import EXIT_CODES, STEP_EXIT_CODES
from contracts.jobs.env import UpgradeEnv
from contracts.jobs.upgrade_actions import PROMOTE, STEP_DOWN
from runtime.clock import SystemClock
from tests.integration.bao_fleet import Fleet, fleet

PODS = ("c-0", "c-1", "c-2")
pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(bao: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    with fleet(bao, tmp_path_factory.mktemp("three"), PODS, blue_green=False) as server:
        await server.wait_for(PODS)
        yield server


async def _step_down(servers: Fleet, target: str, *pods: str) -> tuple[str, int]:
    env = UpgradeEnv(servers.env(*(pods or PODS)), STEP_DOWN, "run-1", target)
    return await do(env.to_environment(), SystemClock(), servers.reach)


async def test_the_leader_steps_down_once(servers: Fleet) -> None:
    before, count = await servers.leader(), servers.leads()
    message, code = await _step_down(servers, before)
    after = await servers.leader()
    assert (code, message) == (0, f"{before} handed over to {after}")
    assert after != before
    assert servers.leads() == count + 1


async def test_a_second_run_does_not_affect_the_successor(servers: Fleet) -> None:
    before = await servers.leader()
    await servers.wait_for(PODS)
    await _step_down(servers, before)
    after, count = await servers.leader(), servers.leads()
    message, code = await _step_down(servers, before)
    assert (code, message) == (0, f"{before} does not lead; nothing was done")
    assert (await servers.leader(), servers.leads()) == (after, count)


async def test_a_deleted_pod_is_not_the_leader(servers: Fleet) -> None:
    assert await _step_down(servers, "c-7", *PODS, "c-7") == (
        "c-7 does not lead; nothing was done",
        0,
    )


async def test_the_role_of_a_rolling_upgrade_may_not_change_votes(servers: Fleet) -> None:
    env = UpgradeEnv(servers.env(*PODS), PROMOTE, "run-1", blue=PODS[:2], green=PODS[2:])
    message, code = await do(env.to_environment(), SystemClock(), servers.reach)
    assert code == EXIT_CODES["Authentication"]
    assert "the role of the job may not do this" in message


async def test_an_account_without_the_role_changes_nothing(servers: Fleet) -> None:
    leader, count = await servers.leader(), servers.leads()
    env = UpgradeEnv(
        replace(servers.env(*PODS), role="another"), STEP_DOWN, "run-1", leader, timeout=5
    )
    message, code = await do(env.to_environment(), SystemClock(), servers.reach)
    assert (code, servers.leads()) == (EXIT_CODES["Authentication"], count)
    assert "role another" in message


async def test_a_step_down_without_a_new_leader_fails_with_a_message(servers: Fleet) -> None:
    """The Job has no address of a server that could become the leader."""
    leader = await servers.leader()
    env = UpgradeEnv(servers.env(leader, "c-7"), STEP_DOWN, "run-2", leader, timeout=3)
    message, code = await do(env.to_environment(), SystemClock(), servers.reach)
    assert code == STEP_EXIT_CODES["StepDown"]
    assert f"no server leads after the step-down of {leader}" in message
    assert "c-7: its name does not resolve" in message
