"""Kubeconfigs of one cluster and one user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def kubeconfig(
    folder: Path,
    server: str,
    user: object = None,
    namespaces: Mapping[str, str] | None = None,
    **cluster: Any,
) -> Path:
    """Write a kubeconfig; `namespaces` by context, the current one first, "" for none."""
    contexts = namespaces or {"x": ""}
    parts = {"cluster": "c", "user": "u"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        "contexts": [
            {"name": name, "context": {**parts, "namespace": namespace} if namespace else parts}
            for name, namespace in contexts.items()
        ],
        "current-context": next(iter(contexts)),
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path
