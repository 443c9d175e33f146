"""Runs the login plugin of a kubeconfig: `exec` of a user, as kubectl runs it.

Imported by runtime.client.kubeconfig_library once kubernetes_asyncio.config can be imported. The
class of that library reads standard error until the plugin ends; a plugin for people writes an
address or a code there, and waits.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from typing import Any, Final

from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.exec_provider import ExecProvider

_REQUIRED: Final = ("apiVersion", "kind", "status")
_BUFFER: Final = 65536


def is_interactive() -> bool:
    """Whether a user can respond to a plugin."""
    return sys.stdin is not None and sys.stdin.isatty()


class LoginPlugin(ExecProvider):
    """A login plugin that writes to the standard error of this process."""

    async def run(self, previous_response: str | None = None) -> Any:
        """Return the status of its ExecCredential. Raises ConfigException and OSError."""
        return self._status_of(await self._output(previous_response))

    async def _output(self, previous_response: str | None) -> bytes:
        interactive = is_interactive()
        spec: dict[str, Any] = {"interactive": interactive}
        if previous_response:
            spec["response"] = previous_response
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        loop = asyncio.get_running_loop()
        # As asyncio.create_subprocess_exec, which does not return the transport.
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_BUFFER, loop=loop),
            *self.args,
            env={**self.env, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            # As kubectl: the input of a verb, such as a manifest, is not for a plugin.
            stdin=None if interactive else DEVNULL,
            stdout=PIPE,
            stderr=None,
        )
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
