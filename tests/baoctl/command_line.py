"""`baoctl` with an API server in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from baoctl.cli import main
from runtime.testing.api_server.faults import Faults
from runtime.testing.api_server.http import serving
from runtime.testing.api_server.server import FakeApiServer
from tests.gen.kubeconfigs import kubeconfig


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`baoctl` with a server on a socket; it runs in a thread, as the server needs the loop."""

    kubeconfig: Path
    verb: tuple[str, ...] = ()

    async def __call__(self, *arguments: str, typed: str = "", **env: str) -> Result:
        environ = {"KUBECONFIG": str(self.kubeconfig), "KUBERNETES_SERVICE_HOST": None, **env}
        return await asyncio.to_thread(
            CliRunner().invoke, main, [*self.verb, *arguments], input=typed, env=environ
        )


@asynccontextmanager
async def command_line(
    server: FakeApiServer,
    folder: Path,
    faults: Faults | None = None,
    verb: tuple[str, ...] = (),
) -> AsyncIterator[CommandLine]:
    """Serve until the end of the block; `verb` comes before all arguments."""
    async with serving(server, faults=faults) as url:
        contexts = {"here": "default", "there": "elsewhere"}
        yield CommandLine(kubeconfig(folder, url, namespaces=contexts), verb)
