"""Reads the contexts of a kubeconfig, for the completion and for errors about a missing context.

Uses baoctl.yaml_text. Called by baoctl.credentials and baoctl.commands.cluster.completion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from baoctl.api_server_settings import kubeconfig_files
from baoctl.yaml_text import TEXT_MAX, TextError, read_documents

_CONTEXTS_MAX: Final = 10
"""Maximum number of contexts in a message."""


def context_names(paths: str) -> tuple[str, ...]:
    """Return the sorted names of the contexts in the kubeconfigs that can be read."""
    names: set[str] = set()
    for file in kubeconfig_files(paths):
        with suppress(OSError, TextError):
            names.update(*map(_contexts_of, _documents_of(file)))
    return tuple(sorted(names))


def missing_context(paths: str, context: str | None) -> str:
    """Return why no context is selected, as the rule of a SettingError; "" if one is.

    Also "" if a file cannot be read: then the error of the library has the cause.
    """
    try:
        documents = [
            document for file in kubeconfig_files(paths) for document in _documents_of(file)
        ]
    except (OSError, TextError):
        return ""
    names = sorted({name for document in documents for name in _contexts_of(document)})
    if not names:
        return "must be a kubeconfig with contexts; add one with kubectl config set-context"
    choose = f"choose one with --context: {', '.join(names[:_CONTEXTS_MAX])}"
    if context is not None:
        rule = f"must be a kubeconfig with the context {context[:80]!r}"
        return "" if context in names else f"{rule}; {choose}"
    if any(document.get("current-context") for document in documents):
        return ""
    return (
        "must be a kubeconfig with a current-context; set it with kubectl config use-context, or "
        f"{choose}"
    )


def _documents_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the documents of a kubeconfig; none if it is missing. Raises OSError and TextError."""
    if not file.exists():
        return
    with file.open("rb") as content:
        documents = read_documents(content.read(TEXT_MAX + 1))
    yield from (document for document in documents if isinstance(document, Mapping))


def _contexts_of(document: Mapping[str, Any]) -> Iterator[str]:
    contexts = document.get("contexts")
    for context in contexts if isinstance(contexts, list) else ():
        name = context.get("name") if isinstance(context, Mapping) else None
        if name and isinstance(name, str):
            yield name
