"""Clients for a scripted server, and the smallest objects that the runtime accepts."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.credentials import DIRECT
from runtime.clock import Clock, SystemClock
from runtime.metrics.metrics import Metrics
from runtime.testing.scripted import Answer, ScriptedServer
from runtime.types import Object, ObjectKey

# Scripted servers use plain HTTP; building a context takes longer than a test.
UNUSED_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Tokens:
    """Credentials with a new token after each 401."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.route = DIRECT
        self.namespace = "shop"
        self.refused = 0

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer t{self.refused}"}

    def ssl_context(self) -> ssl.SSLContext:
        return UNUSED_TLS

    def invalidate(self, *, before: float) -> None:
        self.refused += 1


@asynccontextmanager
async def run_scripted_server(
    *script: Answer,
    otherwise: Answer | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    guard: Callable[[], None] | None = None,
) -> AsyncIterator[tuple[ScriptedServer, Client]]:
    """A scripted server and a client of it; a request after the script is an error."""
    async with ScriptedServer(*script, otherwise=otherwise) as server:
        client = Client(
            Tokens(server.url),
            user_agent="test/1",
            clock=clock or SystemClock(),
            metrics=metrics,
            guard=guard,
        )
        try:
            yield server, client
        finally:
            await client.close()
    assert server.surplus == []


def config_map(name: str, version: str = "1", *, uid: str = "", **data: str) -> Object:
    """A ConfigMap as in a list or a watch."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid or f"uid-{name}",
            "resourceVersion": version,
            "managedFields": [{"manager": "test"}],
        },
        "data": data,
    }


# One call of each verb ------------------------------------------------------------------------

WEB = ObjectKey("shop", "web")

Verb = Callable[[Client], Awaitable[object]]


def get(client: Client) -> Awaitable[object]:
    return client.get(CONFIG_MAP, WEB)


def apply(client: Client) -> Awaitable[object]:
    return client.apply(CONFIG_MAP, config_map("web"), field_manager="me", force=True)


def create(client: Client) -> Awaitable[object]:
    return client.create(CONFIG_MAP, config_map("web"), field_manager="me")


def update(client: Client) -> Awaitable[object]:
    return client.update(CONFIG_MAP, config_map("web"))


def patch(client: Client) -> Awaitable[object]:
    return client.json_patch(CONFIG_MAP, WEB, [{"op": "test", "path": "/a", "value": 1}])


def delete(client: Client) -> Awaitable[object]:
    return client.delete(CONFIG_MAP, WEB, uid="u1")


WRITES: list[Verb] = [apply, create, update, patch, delete]
