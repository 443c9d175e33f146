"""runtime.selection: which objects belong to a selection, judged without the server."""

import pytest

from runtime.resources import CONFIG_MAP
from runtime.selection import Selection, strip_managed_fields
from runtime.types import Object

WEB: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web", "example.com/tier": "front", "empty": ""},
        "managedFields": [{"manager": "kubectl"}],
    },
    "data": {"a": "b"},
}

LABEL_SELECTORS: dict[str, bool] = {
    "": True,
    "app=web": True,
    "app==web": True,
    "app = web": True,
    "app=shop": False,
    "app!=shop": True,
    "app!=web": False,
    "absent!=web": True,
    "absent=web": False,
    "app": True,
    "absent": False,
    "!absent": True,
    "!app": False,
    "empty=": True,
    "app=": False,
    "app in (web, shop)": True,
    "app in (shop)": False,
    "app notin (shop,bank)": True,
    "app notin (web)": False,
    "absent notin (web)": True,
    "example.com/tier=front,app in (web,shop),!absent": True,
    "example.com/tier=front,app notin (web,shop)": False,
    # Not in our grammar: cannot be told, so no.
    "app > 1": False,
    "app=web,app > 1": False,
    "app=web,": False,
}


@pytest.mark.parametrize(("selector", "selected"), LABEL_SELECTORS.items())
def test_label_selectors(selector: str, selected: bool) -> None:
    assert Selection(CONFIG_MAP, label_selector=selector).matches(WEB) is selected


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=web", True),
        ("metadata.name!=web", False),
        ("metadata.name=shop", False),
        ("metadata.namespace=shop,metadata.name==web", True),
        ("status.phase=Running", False),
        ("status.phase!=Running", False),
    ],
)
def test_field_selectors(selector: str, selected: bool) -> None:
    assert Selection(CONFIG_MAP, field_selector=selector).matches(WEB) is selected


@pytest.mark.parametrize(("namespace", "selected"), [(None, True), ("shop", True), ("bank", False)])
def test_namespaces(namespace: str | None, selected: bool) -> None:
    assert Selection(CONFIG_MAP, namespace).matches(WEB) is selected


def test_the_default_shape_drops_managed_fields_and_leaves_the_original_alone() -> None:
    shaped = Selection(CONFIG_MAP).shape(WEB)
    assert "managedFields" not in shaped["metadata"]
    assert shaped["data"] == {"a": "b"}
    assert "managedFields" in WEB["metadata"]


def test_the_metadata_shape_is_what_the_server_sends_for_it() -> None:
    shaped = Selection(CONFIG_MAP, metadata_only=True).shape(WEB)
    assert set(shaped) == {"apiVersion", "kind", "metadata"}


def test_a_transform_of_ones_own_replaces_the_default() -> None:
    def names_only(obj: Object) -> Object:
        return {"metadata": {"name": obj["metadata"]["name"]}}

    assert Selection(CONFIG_MAP, transform=names_only).shape(WEB) == {"metadata": {"name": "web"}}


def test_stripping_needs_no_metadata_and_is_idempotent() -> None:
    assert strip_managed_fields({}) == {}
    once = strip_managed_fields({"metadata": {"name": "a", "managedFields": []}})
    assert strip_managed_fields(once) == {"metadata": {"name": "a"}}


def test_equal_selections_are_one_key_and_say_what_they_are() -> None:
    one, two = (Selection(CONFIG_MAP, "shop", label_selector="app=web") for _ in range(2))
    assert {one: 1}[two] == 1
    assert str(one) == "configmaps in shop app=web"
    assert str(Selection(CONFIG_MAP)) == "configmaps"
