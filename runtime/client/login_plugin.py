"""Runs the login plugin of a kubeconfig: `exec` of a user, as kubectl runs it.

Imported by runtime.client.kubeconfig_library once kubernetes_asyncio.config can be imported. The
class of that library reads standard error until the plugin ends; an interactive plugin writes an
address or a code there, and waits for the user.
"""

import asyncio
import base64
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.exec_provider import ExecProvider
from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader

_MODES: Final = ("Never", "IfAvailable", "Always")
"""Values of interactiveMode."""
_CLUSTER_FIELDS: Final = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
)
"""Fields of a cluster of a kubeconfig that a plugin receives unchanged."""
_CLUSTER_CONFIG: Final = "client.authentication.k8s.io/exec"
"""Name of the extension of a cluster that is for plugins."""
_REQUIRED: Final = ("apiVersion", "kind", "status")
_BUFFER: Final = 65536
_HINT_MAX: Final = 500


def _cluster_info(cluster: ConfigNode) -> dict[str, Any]:
    """Return a cluster of a kubeconfig as spec.cluster of an ExecCredential."""
    info = {name: cluster.value[name] for name in _CLUSTER_FIELDS if cluster.value.get(name)}
    file = cluster.value.get("certificate-authority")
    if file and "certificate-authority-data" not in info:
        path = Path(cluster.path or "").absolute().parent / file
        info["certificate-authority-data"] = base64.b64encode(path.read_bytes()).decode()
    for extension in cluster.value.get("extensions") or ():
        if extension.get("name") == _CLUSTER_CONFIG:
            info["config"] = extension.get("extension")
    return info


def _line(text: str) -> str:
    """Return a text of a kubeconfig as one printable line."""
    words = " ".join(text.split())[:_HINT_MAX]
    return "".join(char if char.isprintable() else "?" for char in words)


def is_interactive() -> bool:
    """Whether a user can respond to a plugin."""
    return sys.stdin is not None and sys.stdin.isatty()


class ClusterLoader(KubeConfigLoader):
    """A loader whose login plugin gets the cluster of the context."""

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin. Raises ConfigException and OSError."""
        token = _cluster.set(self._cluster)
        try:
            return bool(await super().load_from_exec_plugin())
        finally:
            _cluster.reset(token)


_cluster: ContextVar[ConfigNode | None] = ContextVar("cluster", default=None)
"""The loader of the library does not pass the cluster to the plugin that it creates."""


class LoginPlugin(ExecProvider):
    """A login plugin that writes to the standard error of this process."""

    def __init__(self, exec_config: ConfigNode) -> None:
        super().__init__(exec_config)
        # A command with a slash is relative to the kubeconfig, as for kubectl.
        if "/" in self.args[0] and exec_config.path:
            self.args[0] = str(Path(exec_config.path).absolute().parent / self.args[0])
        self._mode = exec_config.safe_get("interactiveMode") or "IfAvailable"
        if self._mode not in _MODES:
            rule = f"must be one of {', '.join(_MODES)}"
            raise ConfigException(f"exec: interactiveMode {str(self._mode)[:80]!r}: {rule}")
        self._hint = _line(str(exec_config.safe_get("installHint") or ""))
        cluster = _cluster.get()
        wants_cluster = exec_config.safe_get("provideClusterInfo") is True
        self._cluster = _cluster_info(cluster) if wants_cluster and cluster is not None else None

    async def run(self, previous_response: str | None = None) -> Any:
        """Return the status of its ExecCredential. Raises ConfigException and OSError."""
        return self._status_of(await self._output(previous_response))

    def _is_interactive(self) -> bool:
        terminal = is_interactive()
        if self._mode == "Always" and not terminal:
            raise ConfigException(
                "exec: interactiveMode is Always, and standard input is not a terminal; run this "
                "in a terminal, or log in with another method"
            )
        return terminal and self._mode != "Never"

    async def _output(self, previous_response: str | None) -> bytes:
        interactive = self._is_interactive()
        spec: dict[str, Any] = {"interactive": interactive}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        if previous_response:
            spec["response"] = previous_response
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        loop = asyncio.get_running_loop()
        try:
            # As asyncio.create_subprocess_exec, which does not return the transport.
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=_BUFFER, loop=loop),
                *self.args,
                env={**self.env, "KUBERNETES_EXEC_INFO": json.dumps(info)},
                # As kubectl: the input of a command, such as a manifest, is not for a plugin.
                stdin=None if interactive else DEVNULL,
                stdout=PIPE,
                stderr=None,
            )
        except OSError as error:
            raise ConfigException(self._not_started(error)) from error
        process = Process(transport, protocol, loop)
        try:
            output, _ = await process.communicate()
        finally:
            # Kills the process. Its children may keep the pipe open, so wait() needs a closed one.
            transport.close()
            await process.wait()
        if process.returncode:
            raise ConfigException(f"exec: {self.args[0]} returned {process.returncode}")
        return output

    def _not_started(self, error: OSError) -> str:
        step = self._hint or "install it, or correct users[].user.exec.command"
        return f"exec: {self.args[0]}: {error.strerror or error}; {step}"

    def _status_of(self, output: bytes) -> Any:
        try:
            credential = json.loads(output)
        except ValueError as error:
            raise ConfigException(f"exec: failed to decode process output: {error}") from error
        missing = [
            key for key in _REQUIRED if not isinstance(credential, dict) or key not in credential
        ]
        if missing:
            raise ConfigException(f"exec: malformed response. missing key {missing[0]!r}")
        version = credential["apiVersion"]
        if version != self.api_version:
            raise ConfigException(
                f"exec: plugin api version {version} does not match {self.api_version}"
            )
        return credential["status"]
