"""An API server that rejects the credentials: every verb exits with the same status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from baoctl.cli import main
from baoctl.exit_codes import ExitCode
from e2e.rig.paths import REPOSITORY
from e2e.start_up.__main__ import arguments, verbs

OFFLINE = ("bench", "completion", "explain", "login", "migrate", "render")
"""Verbs that need no API server, or kubectl first."""
VERBS = {
    words: verb
    for words, verb in verbs(main)
    if not verb.hidden and words.partition(" ")[0] not in OFFLINE
}
STATUS = json.dumps(
    {"kind": "Status", "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized",
     "code": 401}
)  # fmt: skip

HEAD = (
    "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close\r\n"
    f"Content-Length: {len(STATUS)}\r\n"
)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond with 401 to the request of a connection."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{HEAD}\r\n{STATUS}".encode())
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def kubeconfig(folder: Path) -> AsyncIterator[Path]:
    """Serve until the end of the block; yield a kubeconfig with an expired token."""
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "expired"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    try:
        yield path
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(("words", "verb"), VERBS.items(), ids=VERBS.keys())
async def test_an_expired_token_is_reported_with_the_next_step(
    words: str, verb: click.Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    argv = [*words.split(), *arguments(words, verb)]
    async with kubeconfig(tmp_path) as path:
        environ = {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": None}
        result = await asyncio.to_thread(CliRunner().invoke, main, argv, env=environ)
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stderr.count("\n")) == (ExitCode.NO_ACCESS, 1), result.output
    assert "401" in result.stderr
    assert "log in again, or choose another --context" in result.stderr


async def test_a_watch_ends_when_the_token_expires(tmp_path: Path) -> None:
    async with kubeconfig(tmp_path) as path:
        environ = {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": None}
        argv = ["status", "--watch"]
        result = await asyncio.to_thread(CliRunner().invoke, main, argv, env=environ)
    assert (result.exit_code, "log in again" in result.stderr) == (6, True), result.output
