"""Settings of a process that has a kubeconfig."""

import dataclasses
from pathlib import Path
from typing import Any

import yaml

from baoctl.settings import Settings, from_environment

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
    "current-context": "x",
}


def settings(tmp_path: Path, server: str = "http://127.0.0.1:1", **changes: Any) -> Settings:
    file = tmp_path / "kubeconfig"
    clusters = [{"name": "c", "cluster": {"server": server}}]
    file.write_text(yaml.safe_dump({**KUBECONFIG, "clusters": clusters}), encoding="utf-8")
    return dataclasses.replace(from_environment({"KUBECONFIG": str(file)}), **changes)
