"""The credentials of a process for the API server: a pod's ServiceAccount, or a kubeconfig.

Uses runtime.client.credentials. Called by baoctl.process, and by baoctl.commands.api_client, which
must not import the operator.
"""

from __future__ import annotations

from baoctl.api_server_settings import ApiServerSettings, kubeconfig_files
from baoctl.variables import SettingError
from runtime.client.credentials import Credentials, from_kubeconfig, in_cluster
from runtime.clock import Clock
from runtime.errors import TransportError


async def credentials_of(
    settings: ApiServerSettings, clock: Clock, context: str | None = None
) -> Credentials:
    """Read the credentials. Raises SettingError before any request if they cannot be used.

    `context` is the name of a context of the kubeconfig; None for the current context.
    """
    if settings.kubeconfig is None:
        return _of_pod(settings, clock)
    try:
        return await from_kubeconfig(_existing_paths(settings.kubeconfig), context, clock)
    except TransportError as error:
        # Imported here: a process of a pod needs no YAML.
        from baoctl.kubeconfig_contexts import missing_context

        rule = missing_context(settings.kubeconfig, context)
        if not rule:
            which = f"context {context!r}" if context else "current context"
            rule = f"must be a kubeconfig whose {which} can be used: {_line(error)}"
        raise SettingError("KUBECONFIG", settings.kubeconfig, rule) from error


def _of_pod(settings: ApiServerSettings, clock: Clock) -> Credentials:
    try:
        return in_cluster(clock)
    except (OSError, RuntimeError, ValueError) as error:
        rule = (
            "is set, so this is a pod, and the files of its ServiceAccount cannot be read: "
            f"{_line(error)}; unset it to use a kubeconfig"
        )
        raise SettingError("KUBERNETES_SERVICE_HOST", settings.pod_host or "", rule) from error


def _existing_paths(paths: str) -> str:
    """Return the paths. Raises SettingError if no file exists, which the library ignores."""
    files = kubeconfig_files(paths)
    if not any(file.is_file() for file in files):
        rule = "must name an existing file; set it, or use --kubeconfig"
        raise SettingError("KUBECONFIG", paths, rule)
    return paths


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
