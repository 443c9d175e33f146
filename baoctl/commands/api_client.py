"""How a verb of `baoctl` asks the API server, with the identity that $KUBECONFIG names.

Uses runtime.client.client. Called by `baoctl upgrade plan` and by the verbs of `baoctl datacenter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from baoctl.credentials import credentials_of
from baoctl.settings import Settings, from_environment
from baoctl.variables import SettingError
from contracts.conditions.condition import clean_message
from runtime.client.client import Client
from runtime.clock import Clock, SystemClock
from runtime.errors import ApiError, TransportError

T = TypeVar("T")


class AskError(Exception):
    """There is no answer; the text says why, on one line, and is fit for a terminal."""

    def __init__(self, text: str) -> None:
        super().__init__(clean_message(text))


@asynccontextmanager
async def connected(settings: Settings, clock: Clock, verb: str) -> AsyncIterator[Client]:
    """Open a client that calls itself baoctl/<verb>. Raises AskError without credentials."""
    try:
        credentials = await credentials_of(settings, clock)
    except SettingError as error:
        raise AskError(str(error)) from None
    client = Client(credentials, user_agent=f"baoctl/{verb}", clock=clock)
    try:
        yield client
    finally:
        await client.close()


def ask(verb: str, question: Callable[[Client, Clock], Awaitable[T]]) -> T:
    """Put a question, and wait for the answer.

    Raises AskError without credentials, and for whatever the API server refuses or does not
    answer; SettingError for settings that make no sense.
    """
    settings = from_environment()
    try:
        return asyncio.run(_ask(verb, question, settings))
    except (ApiError, TransportError) as error:
        raise AskError(str(error)) from None


async def _ask(
    verb: str, question: Callable[[Client, Clock], Awaitable[T]], settings: Settings
) -> T:
    clock = SystemClock()
    async with connected(settings, clock, verb) as client:
        return await question(client, clock)
