"""runtime.cache.projection: one computation per version of an object."""

import gc
import weakref
from typing import Any

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.projection import Projection
from runtime.types import ObjectKey, key_of
from tests.gen.api import StillInformer
from tests.runtime.serving import config_map


class Value:
    def __init__(self, version: str) -> None:
        self.version = version


def value_of(live: Any) -> Value:
    return Value(live["metadata"]["resourceVersion"])


def versions(projection: Projection[Value]) -> dict[ObjectKey, str]:
    return {key: value.version for key, value in projection.items()}


def test_only_a_changed_object_is_computed_again() -> None:
    informer = StillInformer(CONFIG_MAP)
    projection = Projection(informer, value_of)
    assert versions(projection) == {}
    informer.says(config_map("a", "1"), config_map("b", "1"))
    first = dict(projection.items())
    informer.says(config_map("a", "1"), config_map("b", "2"))
    second = dict(projection.items())
    a, b = ObjectKey("shop", "a"), ObjectKey("shop", "b")
    assert second[a] is first[a]
    assert (first[b].version, second[b].version) == ("1", "2")


def test_the_value_of_a_deleted_object_is_dropped() -> None:
    informer = StillInformer(CONFIG_MAP)
    projection = Projection(informer, value_of)
    informer.says(config_map("a", "1"), config_map("b", "1"))
    gone = weakref.ref(dict(projection.items())[ObjectKey("shop", "a")])
    informer.says(config_map("b", "1"))
    assert list(versions(projection)) == [ObjectKey("shop", "b")]
    gc.collect()
    assert gone() is None


def test_a_gauge_has_no_series_for_an_object_without_a_number() -> None:
    informer = StillInformer(CONFIG_MAP)
    projection = Projection(informer, lambda live: {"a": 1, "b": None}[key_of(live).name])
    informer.says(config_map("a", "1"), config_map("b", "1"))
    assert list(projection.gauge(lambda value: value)()) == [(("shop", "a"), 1.0)]
