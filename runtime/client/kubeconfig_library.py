"""Imports the kubeconfig loader of kubernetes_asyncio without the models of the Kubernetes API.

Called by runtime.client.credentials before it uses the loader. The `__init__.py` of
`kubernetes_asyncio` and of `kubernetes_asyncio.client` import every API class and model: 890
modules, a third of the start time of a command, and 40 MB. The loader only sets attributes of a
Configuration, and the module of that class imports urllib3: another 30 modules.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

_PACKAGES: Final = ("kubernetes_asyncio", "kubernetes_asyncio.client")


@dataclass
class LoadedConfiguration:
    """The attributes of the Configuration of kubernetes_asyncio that the loader sets."""

    host: str = ""
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: object = None
    proxy: object = None
    api_key: dict[str, str] = field(default_factory=dict)


class _ErrorsOfTask(logging.Filter):
    """Collects the errors that a task logs, and hides them from the handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._task = asyncio.current_task()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for an error of the task."""
        if record.levelno < logging.ERROR or asyncio.current_task() is not self._task:
            return True
        self.texts.append(record.getMessage())
        return False


@contextmanager
def collect_loader_errors() -> Iterator[list[str]]:
    """Yield the list of errors that the loader logs in this task; no handler prints them.

    The loader logs each error of a login plugin before it raises the same error. It only logs, and
    does not raise, when a plugin returns no credential.
    """
    errors, logger = _ErrorsOfTask(), logging.getLogger("kubernetes_asyncio.config.kube_config")
    logger.addFilter(errors)
    try:
        yield errors.texts
    finally:
        logger.removeFilter(errors)


def import_kubeconfig_loader() -> None:
    """Import kubernetes_asyncio.config; its functions need a configuration as an argument.

    Raises ModuleNotFoundError if the library is not installed. A later import of
    kubernetes_asyncio itself works as usual.
    """
    if "kubernetes_asyncio.config" in sys.modules:
        return
    added = [name for name in _PACKAGES if name not in sys.modules]
    try:
        for name in added:
            _add_without_running(name)
        if "kubernetes_asyncio.client" in added:
            client: Any = sys.modules["kubernetes_asyncio.client"]
            # Only annotations use them, and results of functions that this code does not call.
            client.Configuration, client.ApiClient = LoadedConfiguration, None
        import_module("kubernetes_asyncio.config")
        loader: Any = import_module("kubernetes_asyncio.config.kube_config")
        plugin: Any = import_module("runtime.client.login_plugin")
        loader.ExecProvider, loader.KubeConfigLoader = plugin.LoginPlugin, plugin.ClusterLoader
    finally:
        for name in added:
            sys.modules.pop(name, None)


def _add_without_running(name: str) -> None:
    """Add a package whose submodules can be imported, without running its `__init__.py`."""
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.modules[name] = module_from_spec(spec)
