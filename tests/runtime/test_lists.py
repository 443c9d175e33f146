"""runtime.client.client.list: the event loop while a list is decoded."""

import asyncio

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client import codec
from runtime.client.codec import PIECE_BYTES, PIECE_ITEMS
from runtime.client.listing import ListOptions
from runtime.clock import yield_to_loop
from runtime.testing.scripted import listing
from runtime.types import Object, key_of
from tests.runtime.serving import config_map, run_scripted_server


@pytest.mark.parametrize(
    ("size", "whole_bytes"), [(100, codec.WHOLE_BYTES), (PIECE_BYTES // 4, 0)], ids=["small", "big"]
)
async def test_t31_other_tasks_run_between_the_pieces_of_a_page(
    monkeypatch: pytest.MonkeyPatch, size: int, whole_bytes: int
) -> None:
    monkeypatch.setattr(codec, "WHOLE_BYTES", whole_bytes)
    items = [config_map(f"n{number}", blob="x" * size) for number in range(200)]
    turns = 0
    seen: list[int] = []

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await yield_to_loop()

    def shape(obj: Object) -> Object:
        seen.append(turns)
        return obj

    async with run_scripted_server(listing(items[:100], token="t"), listing(items[100:])) as (
        _,
        client,
    ):
        task = asyncio.create_task(others())
        answer = await client.list(CONFIG_MAP, options=ListOptions(transform=shape))
        task.cancel()
    assert [key_of(item) for item in answer.items] == [key_of(item) for item in items]
    longest = max(seen.count(turn) for turn in set(seen))
    assert longest <= (PIECE_ITEMS if whole_bytes else 5)
