"""A real ACME server, pebble, in the network of the rig.

It validates each name with TLS-ALPN-01 at port 443 of the address from the DNS of the rig.
"""

import json
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.harness import certificates
from e2e.harness.certificates import SignedCertificate
from e2e.harness.waiting import until
from e2e.rig import Rig, builds
from e2e.rig.versions import PEBBLE_SERVER

DIRECTORY_PORT, MANAGEMENT_PORT = 14000, 15000
ISSUED = "Issued certificate serial"


@dataclass(frozen=True, slots=True)
class Pebble:
    """One running ACME server."""

    host: str
    authority: SignedCertificate
    """The CA of its directory."""
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def directory(self) -> str:
        """URL of the directory."""
        return f"https://{self.host}:{DIRECTORY_PORT}/dir"

    def issuer(self) -> bytes:
        """The root CA, as PEM; new at each start."""
        return self._get("/roots/0")

    def certificate_count(self) -> int:
        """The number of certificates that it has issued."""
        return self.log.read_text(errors="replace").count(ISSUED)

    def _get(self, path: str) -> bytes:
        context = ssl.create_default_context(cadata=self.authority.pem.decode())
        url = f"https://{self.host}:{MANAGEMENT_PORT}{path}"
        with urllib.request.urlopen(url, timeout=5.0, context=context) as answer:
            content: bytes = answer.read()
        return content


@contextmanager
def run_pebble(rig: Rig, folder: Path) -> Iterator[Pebble]:
    """Run an ACME server until the end of the context."""
    binary = builds.build(rig.cache, (PEBBLE_SERVER,), rig.progress)[0]
    host = rig.layout.api_host
    authority = certificates.authority("ACME directory")
    served = certificates.leaf(authority, ("pebble",), addresses=(host,))
    for name, content in (("pebble.crt", served.pem), ("pebble.key", served.key_pem)):
        (folder / name).write_bytes(content)
    config = {
        "pebble": {
            "listenAddress": f"{host}:{DIRECTORY_PORT}",
            "managementListenAddress": f"{host}:{MANAGEMENT_PORT}",
            "certificate": str(folder / "pebble.crt"),
            "privateKey": str(folder / "pebble.key"),
            "httpPort": 80,
            "tlsPort": 443,
        }
    }
    (folder / "pebble.json").write_text(json.dumps(config))
    log = folder / "pebble.log"
    argv = rig.inside(
        "setpriv", "--pdeathsig", "KILL", "--", str(binary),
        "-config", str(folder / "pebble.json"), "-dnsserver", f"{host}:53",
    )  # fmt: skip
    # No artificial delays and no refused nonces: those test ACME clients, not the operator.
    environment = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"}
    with log.open("wb") as output:
        process = subprocess.Popen(argv, env=environment, stdout=output, stderr=subprocess.STDOUT)
    pebble = Pebble(host, authority, log, process)
    try:
        until("pebble answers", pebble.issuer, 30.0, tolerate=(OSError,))
        yield pebble
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10.0)
