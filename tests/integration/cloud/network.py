"""A network with the addresses and names of a cloud, and the processes in it. Needs root.

It has no route to other networks: connections to other addresses fail immediately.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.harness import certificates
from e2e.harness.waiting import until
from tests.house.checkout import ROOT
from tests.integration.cloud import server
from tests.integration.cloud.server import Cloud

ADDRESSES = (server.METADATA, server.POD_AGENT, server.STORES)
NAMES = {
    "metadata.google.internal": server.METADATA,
    server.GOOGLE_TOKENS: server.STORES,
    server.AZURE_TOKENS: server.STORES,
}
_UP_SECONDS = 30.0


@dataclass(frozen=True)
class Network:
    """A running cloud."""

    folder: Path
    authority: str
    """PEM of the CA of the stores and token services."""
    holder: int
    """Process id of the process that holds the namespaces."""

    def inside(self, *argv: str) -> list[str]:
        """Return a command that runs there."""
        spaces = f"/proc/{self.holder}/ns"
        return ["nsenter", f"--net={spaces}/net", f"--mount={spaces}/mnt", *argv]

    def job(self, variables: Mapping[str, str]) -> str:
        """Run a Job with only these variables; return its output."""
        done = subprocess.run(
            self.inside(sys.executable, "-m", "tests.integration.cloud.job"),
            env=_environment(variables), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    def requests(self) -> list[str]:
        """All requests so far: place, method, path, status."""
        log = self.folder / "requests"
        return log.read_text().splitlines() if log.exists() else []


@contextmanager
def network(cloud: Cloud, folder: Path) -> Iterator[Network]:
    """Create the network, and run the cloud in it until the end of the context."""
    authority = certificates.authority("cloud")
    names = (server.GOOGLE_TOKENS, server.AZURE_TOKENS)
    leaf = certificates.leaf(authority, names, addresses=(server.STORES,))
    (folder / "cloud.crt").write_bytes(leaf.pem)
    (folder / "cloud.key").write_bytes(leaf.key_pem)
    hosts = "".join(f"{address} {name}\n" for name, address in NAMES.items())
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
    server.write(cloud, folder)
    holder = subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-ec", _begin(folder)], stdin=subprocess.PIPE
    )
    try:
        until("the network is up", (folder / "up").exists, _UP_SECONDS)
        network = Network(folder, authority.pem.decode(), holder.pid)
        argv = network.inside(sys.executable, "-m", "tests.integration.cloud.server", str(folder))
        serving = subprocess.Popen(argv, env=_environment({}), stdin=subprocess.PIPE)
        try:
            until("the cloud serves", (folder / "ready").exists, _UP_SECONDS)
            yield network
        finally:
            serving.kill()
            serving.communicate()
    finally:
        holder.kill()
        holder.communicate()


def _begin(folder: Path) -> str:
    """The script of the process that holds the namespaces."""
    addresses = [f"ip address add {address}/32 dev lo" for address in ADDRESSES]
    steps = (
        "ip link set lo up",
        *addresses,
        f"mount --bind '{folder}/hosts' /etc/hosts",
        f"touch '{folder}/up'",
        # Until this process exits.
        "exec cat",
    )
    return "\n".join(steps)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nonexistent"} | dict(
        variables
    )
