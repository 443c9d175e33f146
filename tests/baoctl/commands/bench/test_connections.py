"""baoctl.commands.bench.connections: how long a token outlives a run that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from baoctl.commands.bench.connections import RENEWAL, shorten
from managers.bao.models import LoginToken
from tests.managers.bao.servers import ADDRESS, serving

DENIED = (403, {"errors": ["permission denied"]})
RENEWED = (200, {"auth": {"lease_duration": 930}})
MONTH = 2_764_800

# sentence: (seconds that the token lives, answer, whether it is asked for less)
LIVES: dict[str, tuple[int, tuple[int, object], bool]] = {
    "a role without token_ttl": (MONTH, RENEWED, True),
    "a role with a short one": (600, RENEWED, False),
    "a policy that forbids it": (MONTH, DENIED, True),
    "a server that fails": (MONTH, (502, {}), True),
}


@pytest.mark.parametrize(("life", "answer", "is_requested"), LIVES.values(), ids=LIVES.keys())
async def test_a_token_outlives_a_run_by_little(
    tmp_path: Path, life: int, answer: tuple[int, object], is_requested: bool
) -> None:
    token = LoginToken(client_token="t", lease_duration=life)
    async with serving(tmp_path, {RENEWAL: answer}) as server, server.client() as bao:
        await shorten(bao, ADDRESS, token, 930.0)
    bodies = [(request.path, request.body) for request in server.requests]
    assert bodies == ([(f"/v1/{RENEWAL}", {"increment": "930s"})] if is_requested else [])
