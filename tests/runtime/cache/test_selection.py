"""runtime.cache.selection: which objects match a selection, without the server."""

from typing import Any

import orjson
import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache import selection
from runtime.cache.selection import Selection
from runtime.limits.json_scan import Skimmer
from runtime.limits.object_size import Bounds, oversize_of, read_object, trim_metadata
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
    # Not in our grammar: no match.
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


def test_t16_the_default_shape_drops_managed_fields_and_leaves_the_original_alone() -> None:
    shaped = Selection(CONFIG_MAP).shape(WEB)
    assert "managedFields" not in shaped["metadata"]
    assert shaped["data"] == {"a": "b"}
    assert "managedFields" in WEB["metadata"]


def test_t16_a_projection_keeps_the_named_fields_and_what_identifies() -> None:
    obj: Object = {
        **WEB,
        "spec": {"replicas": 3, "template": {"spec": {"a": 1}, "metadata": {}}, "paused": None},
        "status": {"phase": "Running", "conditions": [1]},
    }
    fields = ("spec.replicas", "spec.paused", "spec.template.spec", "status.no", "data.a.b", "x.y")
    shaped = Selection(CONFIG_MAP, fields=fields).shape(obj)
    assert shaped == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {k: v for k, v in WEB["metadata"].items() if k != "managedFields"},
        "spec": {"replicas": 3, "paused": None, "template": {"spec": {"a": 1}}},
        "status": {},
        "data": {},
    }
    assert Selection(CONFIG_MAP, fields=fields).reducer()(dict(shaped)) == shaped
    assert "managedFields" in WEB["metadata"]


def test_t16_a_projection_keeps_the_marker_of_an_omitted_member() -> None:
    text = orjson.dumps({"kind": "X", "spec": list(range(99))})
    obj = read_object(Skimmer(text), Bounds(values=9))
    shaped = Selection(CONFIG_MAP, fields=("spec.replicas",)).reducer()(obj)
    mark = oversize_of(shaped)
    assert mark is not None
    assert mark.member == "spec"


def test_equal_sets_of_fields_are_equal_selections() -> None:
    one = Selection(CONFIG_MAP, fields=("status", "spec.replicas", "status.phase"))
    two = Selection(CONFIG_MAP, fields=("spec.replicas", "status", "spec.replicas"))
    assert one == two
    assert hash(one) == hash(two)
    assert str(one) == "configmaps (spec.replicas, status)"
    # A common prefix of the name is not a parent path.
    assert Selection(CONFIG_MAP, fields=("spec", "specs.x", "spec-a")).fields == (
        "spec",
        "spec-a",
        "specs.x",
    )


@pytest.mark.parametrize("path", ["", "a..b", ".a", "a.", "a b", "metadata.labels", "kind"])
def test_an_invalid_path_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|kept"):
        Selection(CONFIG_MAP, fields=("spec", path))


ODD_METADATA: list[Any] = [
    None,
    {"labels": None, "ownerReferences": None},
    {"labels": {"a": {}}, "ownerReferences": []},
]


def test_equal_strings_of_different_objects_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(label: str) -> Object:
        owner = {"kind": "StatefulSet", "uid": label, "controller": True}
        metadata = {"namespace": "shop", "labels": {"app": label}, "ownerReferences": [owner]}
        return {"metadata": orjson.loads(orjson.dumps(metadata))}

    reduce = Selection(CONFIG_MAP).reducer()
    one, two = (reduce(made("web"))["metadata"] for _ in range(2))
    assert one == made("web")["metadata"]
    assert one["namespace"] is two["namespace"]
    assert one["labels"]["app"] is two["labels"]["app"] is two["ownerReferences"][0]["uid"]
    # The pool is bounded.
    monkeypatch.setattr(selection, "SHARED_STRINGS", 3)
    reduce(made("other"))
    assert reduce(made("web"))["metadata"]["labels"]["app"] is not one["labels"]["app"]
    for odd in ODD_METADATA:
        assert reduce({"metadata": odd}) == {"metadata": odd}


def test_metadata_only_excludes_fields() -> None:
    with pytest.raises(ValueError, match="metadata_only"):
        Selection(CONFIG_MAP, metadata_only=True, fields=("spec",))


def test_the_metadata_shape_equals_that_of_the_server() -> None:
    shaped = Selection(CONFIG_MAP, metadata_only=True).shape(WEB)
    assert set(shaped) == {"apiVersion", "kind", "metadata"}
    assert str(Selection(CONFIG_MAP, metadata_only=True)) == "configmaps (metadata)"


def test_t16_a_transform_comes_after_the_projection() -> None:
    def without_labels(obj: Object) -> Object:
        assert set(obj) == {"apiVersion", "kind", "metadata"}
        del obj["metadata"]["labels"]
        return obj

    chosen = Selection(CONFIG_MAP, metadata_only=True, transform=without_labels)
    assert chosen.shape(WEB)["metadata"] == {"name": "web", "namespace": "shop"}


def test_stripping_needs_no_metadata_and_is_idempotent() -> None:
    assert trim_metadata({}) == {}
    once = trim_metadata({"metadata": {"name": "a", "managedFields": []}})
    assert trim_metadata(once) == {"metadata": {"name": "a"}}


def test_equal_selections_are_one_key_with_one_text() -> None:
    one, two = (Selection(CONFIG_MAP, "shop", label_selector="app=web") for _ in range(2))
    assert {one: 1}[two] == 1
    assert str(one) == "configmaps in shop app=web"
    assert str(Selection(CONFIG_MAP)) == "configmaps"
