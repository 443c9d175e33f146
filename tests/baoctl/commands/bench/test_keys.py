"""baoctl.commands.bench.keys: what is removed, and what is reported as not removed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.bench.engine import Engine, own_engine
from baoctl.commands.bench.keys import REMOVAL_SECONDS, Keys, engine_of, other_runs
from baoctl.commands.bench.options import READS, BenchOptions
from baoctl.commands.bench.stages import run_stages
from baoctl.commands.bench.workload import Worker
from baoctl.commands.login.reads import LoginOptions
from baoctl.exit_codes import ExitCode
from managers.bao.client import Bao
from runtime.client.client import Client
from runtime.testing.clock import ManualClock
from runtime.testing.wait import eventually
from tests.managers.bao.servers import ADDRESS, Server, serving

OWN = own_engine("0123")
OLD = Engine("secret", 1, "bao_bench_0123")
BUSY = (400, {"errors": ["failed to remove entry in mounts table"]})
DENIED = (403, {"errors": ["permission denied"]})
GONE = (204, None)
CAPABILITIES = "sys/capabilities-self"


def worker(bao: Bao, clock: ManualClock) -> Worker:
    return Worker(0, bao, ADDRESS, "token", clock)


def deletions(server: Server) -> list[str]:
    return [
        request.path.removeprefix("/v1/")
        for request in server.requests
        if request.method == "DELETE"
    ]


async def test_a_removal_is_retried_until_it_succeeds(tmp_path: Path) -> None:
    """After a lost response the server returns 400 while its first attempt is in progress."""
    clock = ManualClock()
    async with serving(tmp_path, {OWN.mount_path: BUSY}) as server, server.client() as bao:
        run = asyncio.ensure_future(Keys(OWN, 1, clock).remove((worker(bao, clock),)))
        await eventually(lambda: clock.sleeping > 1)
        server.answers[OWN.mount_path] = GONE
        await clock.advance(1.0)
        assert await run == ""
    assert deletions(server) == [OWN.mount_path] * 2


async def test_a_failed_removal_is_reported_with_the_reason(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, {OWN.mount_path: BUSY}) as server, server.client() as bao:
        run = asyncio.ensure_future(Keys(OWN, 1, clock).remove((worker(bao, clock),)))
        await eventually(lambda: clock.sleeping > 1)
        await clock.advance(REMOVAL_SECONDS)
        left = await run
    assert OWN.mount in left
    assert "failed to remove entry" in left


async def test_a_denied_removal_is_not_retried(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, {OWN.mount_path: DENIED}) as server, server.client() as bao:
        left = await Keys(OWN, 1, clock).remove((worker(bao, clock),))
    assert "permission denied" in left
    assert len(deletions(server)) == 1


async def test_only_the_keys_of_the_run_are_removed_from_an_existing_engine(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    paths = [OLD.removal_path(f"w0k{number}") for number in range(3)]
    async with serving(tmp_path, dict.fromkeys(paths, GONE)) as server, server.client() as bao:
        assert await Keys(OLD, 3, clock).remove((worker(bao, clock),)) == ""
    assert deletions(server) == paths


async def test_an_engine_that_existed_before_is_never_removed(tmp_path: Path) -> None:
    taken = (400, {"errors": ["path is already in use at bao_bench_0123/"]})
    clock = ManualClock()
    async with serving(tmp_path, {OWN.mount_path: taken}) as server, server.client() as bao:
        with pytest.raises(RequestError, match="already in use"):
            await Keys(OWN, 1, clock).mount(worker(bao, clock))
    assert deletions(server) == []


async def test_an_engine_is_removed_if_the_response_to_its_mount_is_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, {OWN.mount_path: (502, {})}) as server, server.client() as bao:
        run = asyncio.ensure_future(Keys(OWN, 1, clock).mount(worker(bao, clock)))
        await eventually(lambda: clock.sleeping > 1)
        server.answers[OWN.mount_path] = GONE
        await clock.advance(1.0)
        with pytest.raises(RequestError, match="nothing was mounted"):
            await run
    assert deletions(server) == [OWN.mount_path] * 2


@pytest.mark.parametrize(
    ("mount", "engine", "code"),
    [
        (None, None, ExitCode.REFUSED),
        ("pki", (200, {"data": {"type": "pki"}}), ExitCode.REFUSED),
        ("none", DENIED, ExitCode.REFUSED),
        ("broken", (502, {}), ExitCode.ERROR),
    ],
)
async def test_an_unusable_engine_is_refused(
    tmp_path: Path, mount: str | None, engine: tuple[int, object] | None, code: ExitCode
) -> None:
    answers: dict[str, tuple[int, object]] = {CAPABILITIES: (200, {"data": {}})}
    if engine is not None:
        answers[f"sys/internal/ui/mounts/{mount}"] = engine
    async with serving(tmp_path, answers) as server, server.client() as bao:
        with pytest.raises(RequestError) as error:
            await engine_of(worker(bao, ManualClock()), mount, "0123")
    assert error.value.exit_code == code
    assert mount is None or "--mount" in str(error.value) or code == ExitCode.ERROR


async def test_a_run_stops_before_its_load_if_the_token_lacks_a_capability(tmp_path: Path) -> None:
    login = LoginOptions("first", (), "app", None, "jwt-operator", None, None)
    options = BenchOptions(login, (READS,), 1.0, 1, 64, None, None, force=False)
    clock = ManualClock()
    api = Session(cast(Client, None), clock, "default")
    answers: dict[str, tuple[int, object]] = {CAPABILITIES: (200, {"data": {}})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        with pytest.raises(RequestError, match="lacks update, delete at sys/mounts"):
            await run_stages(api, options, (worker(bao, clock),))


@pytest.mark.parametrize("answer", [DENIED, (502, {}), (200, {"data": {"secret": {}}})])
async def test_leftovers_are_unknown_if_mounts_cannot_be_listed(
    tmp_path: Path, answer: tuple[int, object]
) -> None:
    answers = {"sys/internal/ui/mounts": answer}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        assert await other_runs(worker(bao, ManualClock())) == ()
    assert len(server.requests) == 1
