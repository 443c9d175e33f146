"""Clusters to test with: a small valid one, and changes to it."""

from pathlib import Path
from typing import Any

import yaml

from contracts.api.cluster.spec import OpenBaoCluster

Object = dict[str, Any]


def cluster_object(name: str = "c", **spec: Any) -> Object:
    """A valid object; `spec` replaces or adds top-level fields of its spec, None removes one."""
    fields = {"version": "2.4.0", "storage": {"size": "1Gi"}, **spec}
    return {
        "apiVersion": "openbao.org/v1alpha1",
        "kind": "OpenBaoCluster",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def cluster(name: str = "c", **spec: Any) -> OpenBaoCluster:
    """The same as a model."""
    return OpenBaoCluster.from_object(cluster_object(name, **spec))


def _manifests() -> dict[str, Object]:
    manifests: dict[str, Object] = {}
    for file in sorted(Path(__file__).with_name("manifests").glob("*.yaml")):
        for obj in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            manifests[obj["metadata"]["name"]] = obj
    return manifests


MANIFESTS = _manifests()
"""Clusters as people write them for this API, older and newest spellings, by name. Together they
use every field; each is one that breaks no rule. Read only."""


def with_request(**fields: Any) -> Object:
    """spec.selfInit with one valid request, changed by `fields`; None removes a field."""
    request = {"name": "r", "operation": "update", "path": "kv/x", "data": {"a": "b"}, **fields}
    return {
        "enabled": True,
        "requests": [{key: value for key, value in request.items() if value is not None}],
    }
