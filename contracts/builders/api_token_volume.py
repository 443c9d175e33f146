"""The ServiceAccount folder as a volume, for the only container that calls the API server."""

from __future__ import annotations

from typing import Any

TOKEN_SECONDS = 3600


def api_token_volume(name: str) -> dict[str, Any]:
    """Build a volume with token, CA and namespace; mount it at `mount_paths.API_TOKEN`."""
    namespace = {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    sources: list[dict[str, Any]] = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources}}
