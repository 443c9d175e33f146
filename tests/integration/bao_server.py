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
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contracts.naming import mount_paths
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
    """Write tls.crt, tls.key and ca.crt for 127.0.0.1; the certificate is self-signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    now = datetime.fromtimestamp(0, UTC) + timedelta(days=365 * 50)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=365 * 50))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "tls.crt").write_bytes(pem)
    (folder / "ca.crt").write_bytes(pem)
    (folder / "tls.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


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


@contextmanager
def serve(binary: Path, folder: Path, config: str, self_init: str) -> Iterator[BaoServer]:
    """Run a server in an empty folder until the end of the context."""
    port, cluster_port = free_port(), free_port()
    for name in ("data", "tls", "unseal", "audit", "logs"):
        (folder / name).mkdir()
    make_certificate(folder / "tls")
    key = os.urandom(32)
    for line in config.splitlines():
        if f"file://{mount_paths.UNSEAL}/" in line:
            (folder / "unseal" / line.rpartition("/")[2].rstrip('"')).write_bytes(key)
    for old, new in {
        mount_paths.DATA: str(folder / "data"),
        mount_paths.TLS: str(folder / "tls"),
        mount_paths.AUDIT: str(folder / "audit"),
        mount_paths.LOGS: str(folder / "logs"),
        mount_paths.UNSEAL: str(folder / "unseal"),
        "[::]:8200": f"127.0.0.1:{port}",
        "[::]:8201": f"127.0.0.1:{cluster_port}",
        _REGISTRATION: "",
    }.items():
        assert old in config or old in (mount_paths.AUDIT, mount_paths.LOGS, mount_paths.UNSEAL)
        config = config.replace(old, new)
    (folder / "root-token").write_text(ROOT_TOKEN)
    self_init = self_init.replace(f"{mount_paths.ROOT_TOKEN}/token", str(folder / "root-token"))
    (folder / "config.hcl").write_text(config)
    (folder / "self-init.hcl").write_text(self_init)
    log = folder / "server.log"
    environment = {
        "PATH": os.environ["PATH"],
        "BAO_RAFT_NODE_ID": NODE_ID,
        "BAO_API_ADDR": f"https://127.0.0.1:{port}",
        "BAO_CLUSTER_ADDR": f"https://127.0.0.1:{cluster_port}",
    }
    command = [str(binary), "server"]
    for name in ("config.hcl", "self-init.hcl"):
        command += ["-config", str(folder / name)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            trust = ssl.create_default_context(cafile=str(folder / "tls" / "ca.crt"))
            yield BaoServer(process, f"https://127.0.0.1:{port}", log, trust)
        finally:
            process.kill()
            process.wait()
