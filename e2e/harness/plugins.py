"""A container registry of the rig with plugins that OpenBao servers download.

It serves plain http: a server trusts the CAs of its image only, and falls back to http at a private
address.
"""

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.harness.stores import ServerHost, run_server
from e2e.harness.waiting import until
from e2e.rig import builds
from e2e.rig.versions import CRANE_TOOL, REGISTRY_SERVER, Server
from runtime.types import Object

PORT = 5002
# The catalog requires versions with three numbers.
VERSION = "v1.0.0"
_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PluginRegistry:
    """A running registry."""

    server_host: ServerHost
    folder: Path
    crane: Path

    def publish(self, program: Server) -> Object:
        """Build a plugin and push it; return the fields of spec.plugins[] that identify it."""
        (binary,) = builds.build(self.server_host.cache, [program], self.server_host.progress)
        layer = self.folder / f"{program.name}.tar"
        with tarfile.open(layer, "w") as tar:
            tar.add(binary, arcname=program.name)
        repository = f"{self.server_host.address}:{PORT}/plugins/{program.name}"
        self._call("append", "--new_layer", str(layer), "--new_tag", f"{repository}:{VERSION}")
        digest = self._call("digest", f"{repository}:{VERSION}").strip()
        return {
            "image": f"{repository}@{digest}",
            "version": VERSION,
            "binaryName": program.name,
        }

    def downloads(self, program: Server) -> int:
        """Count the downloads of the layer of a plugin by OpenBao servers."""
        lines = (self.folder / "registry.log").read_text(errors="replace").splitlines()
        blob = f"/v2/plugins/{program.name}/blobs/"
        return sum(f'"GET {blob}' in line and "crane" not in line for line in lines)

    def answers(self) -> bool:
        """Whether the registry answers."""
        self._call("catalog", f"{self.server_host.address}:{PORT}")
        return True

    def _call(self, verb: str, *arguments: str) -> str:
        argv = self.server_host.inside(str(self.crane), verb, "--insecure", *arguments)
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
        return done.stdout


@contextmanager
def plugin_registry(server_host: ServerHost, folder: Path) -> Iterator[PluginRegistry]:
    """Run the registry until the end of the context."""
    crane, server = builds.build(
        server_host.cache, [CRANE_TOOL, REGISTRY_SERVER], server_host.progress
    )
    config = folder / "registry.yaml"
    document = {
        "version": "0.1",
        "log": {"level": "info", "accesslog": {"disabled": False}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "store")}},
        "http": {"addr": f"{server_host.address}:{PORT}"},
    }
    config.write_text(yaml.safe_dump(document))
    argv = (str(server), "serve", str(config))
    with run_server(server_host, argv, folder / "registry.log", {}):
        registry = PluginRegistry(server_host, folder, crane)
        until(
            "the registry answers",
            registry.answers,
            _UP_SECONDS,
            tolerate=(subprocess.SubprocessError,),
        )
        yield registry
