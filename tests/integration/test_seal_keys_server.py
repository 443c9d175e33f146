"""The keys of a static seal that unseal a real server, before and after a rotation.

managers.bootstrap.seal.keys depends on this: a server with two keys unseals data of either key, and
one with wrong keys stays sealed and changes nothing.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from contracts.hcl.render import ConfigInput, render_config, render_self_init
from contracts.hcl.seals import static_stanza
from contracts.naming import mount_paths
from contracts.unseal_keys import KeyRing, UnsealKey
from e2e.rig import images
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO, OPENBAO_OLDEST
from runtime.clock import SystemClock
from tests.integration.bao_server import ROOT_TOKEN, BaoServer, free_port, in_folder, prepare, run

pytestmark = pytest.mark.timeout(900)  # the oldest server is built by the first test that needs it
IDS = {"A": "operator-generated-v1", "B": "two", "C": "three"}
FILES = {"A": "key", "B": "key-2", "C": "key-3"}
OPENED, UNKNOWN = "post-unseal setup complete", "unknown key id for data: `{}`"
NO_FILE = "no such file or directory"
SECONDS = 60.0


@dataclass(frozen=True)
class Home:
    """The folders of one server, which its processes share."""

    binary: Path
    folder: Path

    def prepare(self) -> None:
        """Create the folders, the certificate, the keys and the root token."""
        prepare(self.folder)
        for file in FILES.values():
            (self.folder / "unseal" / file).write_bytes(os.urandom(32))

    @contextmanager
    def start(self, keys: str, *, first: bool = False) -> Iterator[BaoServer]:
        """Run it with these keys, the current one first, until the end of the context."""
        port = free_port()
        source = ConfigInput("c", "ns", root_token_file=f"{mount_paths.ROOT_TOKEN}/token")
        config = render_config(replace(source, seal=static_stanza(ring(keys))))
        text, log = render_self_init(source) if first else "", f"{keys}-{port}.log"
        config = in_folder(config, self.folder, port)
        with run(self.binary, self.folder, port, config, text, log) as server:
            yield server

    async def opens(self, keys: str, *, sealed_by: str) -> bool:
        """Whether a server with these keys unseals the data. Fails if its log shows neither."""
        with self.start(keys) as server:
            return await first_word(server, OPENED, UNKNOWN.format(IDS[sealed_by])) == OPENED


def ring(keys: str) -> KeyRing:
    """The key ring of these letters, the current key first."""
    unseal_keys = [UnsealKey(IDS[key], FILES[key]) for key in keys]
    return KeyRing(unseal_keys[0], unseal_keys[1] if len(unseal_keys) == 2 else None)


async def first_word(server: BaoServer, *words: str) -> str:
    """Wait for the first of these texts in the log of a server. Fails after a timeout."""
    clock = SystemClock()
    ends = clock.monotonic() + SECONDS
    while clock.monotonic() < ends:
        text = server.log.read_text(errors="replace")
        match = next((word for word in words if word in text), None)
        if match is not None:
            return match
        await clock.sleep(0.1)
    raise AssertionError(server.log.read_text(errors="replace")[-3000:])


async def wrap(home: Home, keys: str) -> None:
    """Rewrap the root key with the first of these keys."""
    with home.start(keys) as server:
        await server.active()
        status, _ = await server.call("POST", "sys/rotate/root", token=ROOT_TOKEN)
        assert status == 204


@pytest.mark.parametrize("version", [OPENBAO, OPENBAO_OLDEST])
async def test_a_server_with_two_keys_unseals_data_of_either(version: str, tmp_path: Path) -> None:
    home = Home(images.openbao_binary(Cache(cache_root()), version, to_stderr()), tmp_path)
    home.prepare()
    with home.start("A", first=True) as server:
        await server.active()

    # A new key exists, and is not yet used.
    assert await home.opens("A", sealed_by="A")
    assert not await home.opens("B", sealed_by="A")
    assert await home.opens("BA", sealed_by="A"), "the keys of a recovered cluster"
    assert not await home.opens("B", sealed_by="A"), "a start with both keys must rewrap nothing"

    await wrap(home, "BA")
    assert await home.opens("B", sealed_by="B")
    assert not await home.opens("A", sealed_by="B")
    assert await home.opens("AB", sealed_by="B"), "the keys that a sealed cluster gets"
    assert await home.opens("BA", sealed_by="B")
    assert await home.opens("CB", sealed_by="B")
    assert not await home.opens("CA", sealed_by="B")
    # The failed attempts have changed nothing.
    assert await home.opens("B", sealed_by="B")

    # A server does not start without a key file of its configuration.
    (home.folder / "unseal" / FILES["A"]).unlink()
    with home.start("BA") as server:
        assert await first_word(server, NO_FILE, OPENED) == NO_FILE
        assert server.process.wait(SECONDS) == 1
    assert await home.opens("B", sealed_by="B")
