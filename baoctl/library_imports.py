"""Imports libraries without the parts that no process of this package needs.

Uses the standard library. Called by baoctl.verbs before a verb imports its module. A library that
is imported already stays as it is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def import_structlog() -> None:
    """Import structlog without rich, which it uses only for tracebacks on a terminal.

    This saves 4 MB. A later import of rich works as usual.
    """
    if "structlog" not in sys.modules:
        _import_without("structlog", "rich")


def import_aiohttp() -> None:
    """Import aiohttp without the CAs of the system and without libstdc++, which saves 3 MB.

    aiohttp creates two TLS contexts when it is imported, and both read the CAs, which takes 40 ms.
    Every session of this package has a TLS context of its own; one without would trust no server.
    Only the extension module of frozenlist needs libstdc++; aiohttp uses it for callbacks.
    """
    if "aiohttp" not in sys.modules:
        with _without_default_authorities():
            _import_without("aiohttp", "frozenlist._frozenlist")


def _import_without(library: str, part: str) -> None:
    """Import a library that can do without a module, which stays as it is if it is imported."""
    if part in sys.modules:
        importlib.import_module(library)
        return
    # With None an import raises ModuleNotFoundError (docs.python.org, the import system).
    sys.modules[part] = None  # type: ignore[assignment]  # documented value
    try:
        importlib.import_module(library)
    finally:
        del sys.modules[part]


@contextmanager
def _without_default_authorities() -> Iterator[None]:
    import ssl

    def set_no_paths(self: ssl.SSLContext) -> None:
        """Add no CA."""

    ssl.SSLContext.set_default_verify_paths = set_no_paths  # type: ignore[method-assign]
    try:
        yield
    finally:
        # The method is that of the base class again.
        del ssl.SSLContext.set_default_verify_paths
