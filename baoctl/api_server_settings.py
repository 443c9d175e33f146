"""The settings with the address of the API server.

Uses baoctl.variables. Called by baoctl.settings, and by the commands of users. They read no other
setting of the operator, so that a LOG_LEVEL that is invalid here does not end them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from baoctl import variables

_SEPARATOR: Final = ":"
"""Separator of the paths in KUBECONFIG, as kubectl uses on Linux and macOS."""


@dataclass(frozen=True, slots=True)
class ApiServerSettings:
    """The address of the API server for a process."""

    pod_host: str | None
    """The address for pods, which the kubelet sets; None if this process does not run in a pod."""
    kubeconfig: str | None
    """Paths of kubeconfigs, as in KUBECONFIG; None if this process runs in a pod."""


def api_server_settings(environ: Mapping[str, str] | None = None) -> ApiServerSettings:
    """Read KUBERNETES_SERVICE_HOST and KUBECONFIG. Raises SettingError."""
    env = os.environ if environ is None else environ
    variables.check_api_server(env)
    pod_host = env.get("KUBERNETES_SERVICE_HOST") or None
    default = str(Path.home() / ".kube/config")
    return ApiServerSettings(pod_host, None if pod_host else env.get("KUBECONFIG") or default)


def kubeconfig_files(paths: str) -> tuple[Path, ...]:
    """Return the files of KUBECONFIG, existing or not."""
    return tuple(Path(path).expanduser() for path in paths.split(_SEPARATOR) if path)
