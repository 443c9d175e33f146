"""runtime.cache.store.

The changes of each event and of each own write, as handlers get them.
"""

from collections.abc import Callable, Iterable

import pytest

from runtime.cache.store import Store, StoreChange, version_number
from runtime.types import Object, ObjectKey, key_of, resource_version_of

WEB = ObjectKey("shop", "web")


def obj(version: str, name: str = "web", *, uid: str = "u1", **labels: str) -> Object:
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid,
            "resourceVersion": version,
            "labels": labels,
        }
    }


def words(changes: Iterable[StoreChange]) -> list[str]:
    """Changes in short form: "+web@5", "-web@5", "web@5>7"."""

    def name(of: Object | None) -> str:
        return "" if of is None else f"{key_of(of).name}@{resource_version_of(of)}"

    return [
        f"+{name(c.new)}"
        if c.old is None
        else f"-{name(c.old)}"
        if c.new is None
        else f"{name(c.old)}>{resource_version_of(c.new)}"
        for c in changes
    ]


def store_with_objects(*items: Object, version: str = "10") -> Store:
    store = Store()
    store.replace(items, version)
    return store


def test_a_replace_returns_deletions_first_and_no_unchanged_objects() -> None:
    store = store_with_objects(obj("1", "same"), obj("2", "changed"), obj("3", "gone"))
    changes = store.replace(
        [obj("11", "new"), obj("1", "same"), obj("12", "changed"), obj("13", "last")], "20"
    )
    assert words(changes) == ["-gone@3", "+new@11", "changed@2>12", "+last@13"]
    assert store.resource_version == "20"
    assert {key_of(o).name for o in store.select()} == {"same", "changed", "new", "last"}


def test_the_store_and_not_the_watch_event_determines_the_change() -> None:
    store = store_with_objects()
    assert words(store.upsert(obj("11"))) == ["+web@11"]
    assert words(store.upsert(obj("12"))) == ["web@11>12"]
    assert words(store.upsert(obj("12"))) == []
    assert words(store.remove(obj("13"))) == ["-web@13"]
    assert words(store.remove(obj("13"))) == []
    assert store.resource_version == "13"


@pytest.mark.parametrize("how", ["watch", "relist", "observe"])
def test_a_recreated_object_of_the_same_name_is_a_delete_and_an_add(how: str) -> None:
    store = store_with_objects(obj("5", uid="old"))
    anew = obj("15", uid="new")
    ways: dict[str, Callable[[], list[StoreChange]]] = {
        "watch": lambda: store.upsert(anew),
        "relist": lambda: store.replace([anew], "20"),
        "observe": lambda: store.observe(anew),
    }
    assert words(ways[how]()) == ["-web@5", "+web@15"]
    assert store.get(WEB) is anew


def test_a_bookmark_only_changes_the_version() -> None:
    store = store_with_objects(obj("5"))
    store.advance("99")
    assert store.resource_version == "99"
    assert len(store) == 1


class TestObserve:
    """Our own writes: the response arrives before the watch event."""

    def test_an_update_is_stored_and_its_event_is_ignored(self) -> None:
        store = store_with_objects(obj("5"))
        assert words(store.observe(obj("12"))) == ["web@5>12"]
        assert words(store.upsert(obj("12"))) == []
        assert words(store.upsert(obj("14"))) == ["web@12>14"]

    def test_older_events_that_arrive_later_change_nothing(self) -> None:
        store = store_with_objects(obj("5"))
        store.observe(obj("12"))
        assert words(store.upsert(obj("11"))) == []
        assert store.resource_version == "11"
        assert store.get(WEB) == obj("12")

    def test_a_new_object_ahead_of_the_watch_is_stored(self) -> None:
        store = store_with_objects(version="10")
        assert words(store.observe(obj("12"))) == ["+web@12"]

    def test_an_object_deleted_before_the_response_stays_deleted(self) -> None:
        store = store_with_objects(version="10")
        store.upsert(obj("12"))
        store.remove(obj("13"))
        assert words(store.observe(obj("12"))) == []
        assert store.get(WEB) is None

    def test_a_response_older_than_the_watch_is_ignored(self) -> None:
        store = store_with_objects(obj("15"))
        assert words(store.observe(obj("12"))) == []
        assert words(store.observe(obj("15"))) == []
        assert store.get(WEB) == obj("15")

    def test_the_late_delete_of_the_object_before_it_does_not_remove_the_new_one(self) -> None:
        store = store_with_objects(obj("5", uid="old"))
        store.observe(obj("15", uid="new"))
        assert words(store.remove(obj("14", uid="old"))) == []
        assert words(store.remove(obj("16", uid="new"))) == ["-web@16"]

    def test_a_list_from_before_the_write_does_not_revert_it(self) -> None:
        store = store_with_objects(obj("5"), obj("6", "other"))
        store.observe(obj("30"))
        store.observe(obj("31", "made"))
        assert words(store.replace([obj("5")], "20")) == ["-other@6"]
        assert store.get(WEB) == obj("30")
        # The floor is kept until the watch has reached that version.
        assert words(store.upsert(obj("25"))) == []
        assert words(store.replace([obj("40")], "41")) == ["-made@31", "web@30>40"]

    def test_a_list_of_a_restored_server_wins(self) -> None:
        store = store_with_objects(obj("5"), obj("6", "other"), version="100")
        store.observe(obj("130"))
        restored = obj("5", restored="yes")
        assert words(store.replace([restored, obj("6", "other")], "50")) == ["web@130>5"]
        assert words(store.upsert(obj("51"))) == ["web@5>51"]

    @pytest.mark.parametrize("version", ["", "opaque", "-5"])
    def test_responses_with_opaque_versions_are_ignored(self, version: str) -> None:
        assert version_number(version) is None
        store = store_with_objects(obj("5"))
        assert words(store.observe(obj(version))) == []
        store = store_with_objects(obj("opaque"), version="opaque")
        assert words(store.observe(obj("12"))) == []


class TestIndexes:
    """Reads by index."""

    @staticmethod
    def colors(of: Object) -> Iterable[str]:
        return [value for key, value in of["metadata"]["labels"].items() if "color" in key]

    def names(self, store: Store, value: str) -> list[str]:
        return [key_of(o).name for o in store.by_index("color", value)]

    def test_an_index_follows_every_change_and_may_be_added_late(self) -> None:
        store = store_with_objects(
            obj("1", "a", color="red"), obj("2", "b", color="blue", color2="red")
        )
        store.add_index("color", self.colors)
        assert self.names(store, "red") == ["a", "b"]
        store.upsert(obj("11", "a", color="blue"))
        assert (self.names(store, "red"), self.names(store, "blue")) == (["b"], ["b", "a"])
        store.observe(obj("12", "c", color="red"))
        store.remove(obj("13", "b"))
        assert (self.names(store, "red"), self.names(store, "blue")) == (["c"], ["a"])
        store.replace([], "20")
        assert (self.names(store, "red"), self.names(store, "blue")) == ([], [])

    def test_the_same_index_twice_is_one_index_and_another_one_is_an_error(self) -> None:
        store = store_with_objects()
        store.add_index("color", self.colors)
        store.add_index("color", self.colors)
        with pytest.raises(ValueError, match="color"):
            store.add_index("color", lambda of: ())
        with pytest.raises(KeyError):
            store.by_index("taste", "sweet")

    def test_namespaces(self) -> None:
        other = obj("2", "b")
        other["metadata"]["namespace"] = "bank"
        store = store_with_objects(obj("1", "a"), other)
        assert [key_of(o).name for o in store.select("bank")] == ["b"]
        assert store.select("nowhere") == []
        assert len(store.select()) == len(store) == 2
