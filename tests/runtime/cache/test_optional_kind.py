"""runtime.cache.optional_kind: the usable versions of a definition."""

from typing import Any

import pytest

from runtime.cache.optional_kind import served_versions
from tests.runtime.cache.widgets import WIDGET, definition


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
    assert served_versions(live) == versions


def test_the_best_version_comes_first() -> None:
    assert [resource.api_version for resource in WIDGET.resources] == [
        "shop.example.com/v1",
        "shop.example.com/v1alpha1",
    ]
    assert WIDGET.definition == str(WIDGET.resources[0])
