"""runtime.client.login_plugin: the streams and the end of a login plugin."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.client.credentials import PLUGIN_SECONDS, KubeconfigCredentials, from_kubeconfig
from runtime.errors import TransportError
from runtime.testing.clock import ManualClock
from tests.gen.kubeconfigs import kubeconfig

VERSION = "client.authentication.k8s.io/v1"
CREDENTIAL = json.dumps(
    {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "abc"}}
)
SECONDS = 10.0
"""Bound of the real time that a process may take."""


async def load(folder: Path, clock: ManualClock, script: str) -> KubeconfigCredentials:
    """Load a kubeconfig whose login plugin is a shell script."""
    plugin = {"apiVersion": VERSION, "command": "/bin/sh", "args": ["-c", script]}
    path = kubeconfig(folder, "https://api.example.com", {"exec": plugin})
    return await from_kubeconfig(str(path), None, clock)


@contextmanager
def replaced(stream: int, descriptor: int) -> Iterator[None]:
    """Replace a standard stream of this process."""
    original = os.dup(stream)
    os.dup2(descriptor, stream)
    try:
        yield
    finally:
        os.dup2(original, stream)
        os.close(original)


async def test_it_writes_to_standard_error_before_it_ends(tmp_path: Path) -> None:
    """A plugin that waits for the user first writes where to log in."""
    reader, writer = os.pipe()
    browser = tmp_path / "browser"
    os.mkfifo(browser)
    script = f"echo open https://login.example.com >&2; cat {browser}"
    with replaced(2, writer):
        login = asyncio.create_task(load(tmp_path, ManualClock(), script))
        os.close(writer)
        async with asyncio.timeout(SECONDS):
            address = await asyncio.to_thread(os.read, reader, 100)
            assert not login.done()
            await asyncio.to_thread(browser.write_text, CREDENTIAL)
            credentials = await login
    os.close(reader)
    assert address == b"open https://login.example.com\n"
    assert await credentials.headers() == {"Authorization": "Bearer abc"}


async def test_it_gets_no_input_without_a_terminal(tmp_path: Path) -> None:
    """The input belongs to the verb, such as a manifest."""
    reader, writer = os.pipe()
    os.write(writer, b"kind: OpenBaoCluster\n")
    os.close(writer)
    script = (
        f"cat > {tmp_path}/input; echo $KUBERNETES_EXEC_INFO > {tmp_path}/info; echo '{CREDENTIAL}'"
    )
    with replaced(0, reader):
        await load(tmp_path, ManualClock(), script)
    os.close(reader)
    assert (tmp_path / "input").read_text() == ""
    info = json.loads((tmp_path / "info").read_text())
    assert (info["apiVersion"], info["spec"]) == (VERSION, {"interactive": False})


async def test_it_is_killed_at_the_end_of_its_time(tmp_path: Path) -> None:
    clock, life = ManualClock(), tmp_path / "life"
    os.mkfifo(life)
    # The child of the shell keeps standard output open, and ends when the test closes its input.
    script = f"mkfifo {tmp_path}/end; cat {tmp_path}/end & exec 3>{life}; echo started >&3; wait"
    login = asyncio.create_task(load(tmp_path, clock, script))
    async with asyncio.timeout(SECONDS):
        with await asyncio.to_thread(life.open) as stream:
            assert await asyncio.to_thread(stream.readline) == "started\n"
            await clock.advance(PLUGIN_SECONDS)
            with pytest.raises(
                TransportError, match="kubeconfig: the login did not end within 30 s"
            ):
                await login
            # The file ends with the last process that has it open.
            assert await asyncio.to_thread(stream.read) == ""
            with await asyncio.to_thread((tmp_path / "end").open, "w"):
                pass
