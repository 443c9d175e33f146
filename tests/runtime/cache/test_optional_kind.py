"""runtime.cache.optional_kind: which versions of a definition can be used."""

from typing import Any

import pytest

from runtime.cache.optional_kind import OptionalKind, offered

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


@pytest.mark.parametrize(
    ("live", "versions"),
    [
        (None, ()),
        (definition("v1", "v1beta1"), ("v1", "v1beta1")),
        (definition("v1", unserved="v1alpha1"), ("v1",)),
        (definition("v1", established="False"), ()),
        (definition("v1", deletionTimestamp="2030-01-01T00:00:00Z"), ()),
        ({"metadata": {"name": "widgets.shop.example.com"}}, ()),
        ({"spec": {"versions": [{"name": "v1", "served": True}]}}, ()),
    ],
    ids=["absent", "two", "one is not served", "not established", "goes", "bare", "no status"],
)
def test_a_version_counts_once_it_is_served(
    live: dict[str, Any] | None, versions: tuple[str, ...]
) -> None:
    assert offered(live) == versions


def test_the_best_version_comes_first() -> None:
    assert [one.api_version for one in WIDGET.resources] == [
        "shop.example.com/v1",
        "shop.example.com/v1alpha1",
    ]
    assert WIDGET.definition == str(WIDGET.resources[0])
