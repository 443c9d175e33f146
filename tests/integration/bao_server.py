"""A real OpenBao server on the loopback address, started with rendered documents.

The documents are used unchanged, except for what a pod provides: folders, addresses, and the API
server for service registration.
"""

import os
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from contracts.naming import mount_paths
from e2e.harness import certificates
from runtime.clock import SystemClock

NODE_ID = "c-0"
# The root token that the operator generated.
ROOT_TOKEN = "0123456789abcdef0123456789abcdef"
_REGISTRATION = 'service_registration "kubernetes" {}\n'


def free_port() -> int:
    """A free TCP port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def make_certificate(folder: Path) -> None:
    """Write tls.crt, tls.key and ca.crt for 127.0.0.1."""
    authority = certificates.authority("servers")
    leaf = certificates.leaf(authority, ("server",), addresses=("127.0.0.1",))
    (folder / "tls.crt").write_bytes(leaf.pem)
    (folder / "tls.key").write_bytes(leaf.key_pem)
    (folder / "ca.crt").write_bytes(authority.pem)


@dataclass(frozen=True)
class BaoServer:
    """A running server."""

    process: "subprocess.Popen[bytes]"
    url: str
    log: Path
    trust: ssl.SSLContext

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, token: str = ""
    ) -> tuple[int, Any]:
        """Status and JSON of a response. Raises aiohttp.ClientError without a response."""
        headers = {"X-Vault-Token": token} if token else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{self.url}/v1/{path}", json=body, ssl=self.trust) as answer,
        ):
            return answer.status, await answer.json(content_type=None)

    async def status(self, method: str, path: str, token: str) -> int:
        """The status of a response that need not be JSON."""
        async with (
            aiohttp.ClientSession(headers={"X-Vault-Token": token}) as session,
            session.request(method, f"{self.url}/v1/{path}", ssl=self.trust) as answer,
        ):
            return answer.status

    async def answers(self, seconds: float = 30.0) -> None:
        """Wait until it responds, in any state."""
        await self._until({200, 429, 501, 503}, seconds)

    async def active(self, seconds: float = 30.0) -> None:
        """Wait until it leads."""
        await self._until({200}, seconds)

    async def _until(self, codes: set[int], seconds: float) -> None:
        """Wait for a status of sys/health; fails with the log if the server exits or times out."""
        clock = SystemClock()
        deadline = clock.monotonic() + seconds
        while clock.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                status, _ = await self.call("GET", "sys/health")
            except aiohttp.ClientError:
                status = 0
            if status in codes:
                return
            await clock.sleep(0.1)
        raise AssertionError(f"no health status of {codes}:\n{self.log.read_text()[-4000:]}")


def prepare(folder: Path) -> None:
    """Create the folders of a pod in an empty folder, a certificate, and the root token."""
    for name in ("data", "tls", "unseal", "audit", "logs"):
        (folder / name).mkdir()
    make_certificate(folder / "tls")
    (folder / "root-token").write_text(ROOT_TOKEN)


def in_folder(config: str, folder: Path, port: int) -> str:
    """The configuration with these folders and loopback addresses in place of those of a pod."""
    optional = (mount_paths.AUDIT, mount_paths.LOGS, mount_paths.UNSEAL)
    for old, new in {
        mount_paths.DATA: str(folder / "data"),
        mount_paths.TLS: str(folder / "tls"),
        mount_paths.AUDIT: str(folder / "audit"),
        mount_paths.LOGS: str(folder / "logs"),
        mount_paths.UNSEAL: str(folder / "unseal"),
        "[::]:8200": f"127.0.0.1:{port}",
        "[::]:8201": f"127.0.0.1:{free_port()}",
        _REGISTRATION: "",
    }.items():
        assert old in config or old in optional
        config = config.replace(old, new)
    return config


def environment(port: int) -> dict[str, str]:
    """The environment variables of a server."""
    return {
        "PATH": os.environ["PATH"],
        "BAO_RAFT_NODE_ID": NODE_ID,
        "BAO_API_ADDR": f"https://127.0.0.1:{port}",
        "BAO_CLUSTER_ADDR": "https://127.0.0.1:2",
    }


@contextmanager
def run(
    binary: Path, folder: Path, port: int, config: str, self_init: str = "", log: str = "server.log"
) -> Iterator[BaoServer]:
    """Run a server in a prepared folder until the end of the context."""
    self_init = self_init.replace(f"{mount_paths.ROOT_TOKEN}/token", str(folder / "root-token"))
    command = [str(binary), "server"]
    for name, text in (("config.hcl", config), ("self-init.hcl", self_init)):
        (folder / name).write_text(text)
        command += ["-config", str(folder / name)] if text else []
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(
            command, env=environment(port), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            trust = ssl.create_default_context(cafile=str(folder / "tls" / "ca.crt"))
            yield BaoServer(process, f"https://127.0.0.1:{port}", folder / log, trust)
        finally:
            process.kill()
            process.wait()


@contextmanager
def serve(binary: Path, folder: Path, config: str, self_init: str) -> Iterator[BaoServer]:
    """Run a server in an empty folder until the end of the context."""
    port, key = free_port(), os.urandom(32)
    prepare(folder)
    for line in config.splitlines():
        if f"file://{mount_paths.UNSEAL}/" in line:
            (folder / "unseal" / line.rpartition("/")[2].rstrip('"')).write_bytes(key)
    with run(binary, folder, port, in_folder(config, folder, port), self_init) as server:
        yield server
