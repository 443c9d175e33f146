"""A kind that may be installed or not, for tests of optional kinds."""

from typing import Any

from runtime.cache.optional_kind import OptionalKind

WIDGET = OptionalKind("shop.example.com", "Widget", "widgets", ("v1", "v1alpha1"))


def definition(
    *served: str, unserved: str = "", established: str = "True", **metadata: Any
) -> dict[str, Any]:
    versions = [{"name": name, "served": True} for name in served]
    if unserved:
        versions.append({"name": unserved, "served": False})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGET.definition, **metadata},
        "spec": {"versions": versions},
        "status": {"conditions": [{"type": "Established", "status": established}]},
    }
