"""The mutation detector finds changes of stored objects, and nothing else."""

import random
from collections.abc import Callable

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, Selection
from runtime.cache.store import Store
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.types import Object
from tests.runtime.mutations import MutationError, WatchfulStore, watched_stores
from tests.runtime.serving import Tokens, config_map


def stored_object(store: Store) -> Object:
    [obj] = store.select()
    return obj


def set_a_member(obj: Object) -> None:
    obj["data"]["color"] = "red"


def drop_a_label(obj: Object) -> None:
    obj["metadata"].pop("labels", None)
    obj["metadata"].pop("uid")


def append_to_a_list(obj: Object) -> None:
    obj["metadata"]["managedFields"].append({})


MUTATIONS = [set_a_member, drop_a_label, append_to_a_list]

MOMENTS: dict[str, Callable[[WatchfulStore], object]] = {
    "the end": lambda store: store.check(),
    "an update": lambda store: store.upsert(config_map("a", "12")),
    "a deletion": lambda store: store.remove(config_map("a", "12")),
    "a new list": lambda store: store.replace([], "20"),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("mutate", MUTATIONS)
def test_t29_a_changed_object_is_found(
    mutate: Callable[[Object], None], moment: Callable[[WatchfulStore], object]
) -> None:
    store = WatchfulStore()
    store.replace([config_map("a", "5")], "10")
    mutate(stored_object(store))
    with pytest.raises(MutationError, match="ConfigMap shop/a was changed"):
        moment(store)


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_t29_reading_changes_nothing(moment: Callable[[WatchfulStore], object]) -> None:
    store = WatchfulStore()
    store.replace([config_map("a", "5")], "10")
    str(stored_object(store))
    moment(store)
    store.check()


def test_t29_every_informer_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def use() -> None:
        with watched_stores(monkeypatch) as stores:
            informer = Informer(
                Client(Tokens("http://unused"), user_agent="test/1", clock=SystemClock()),
                Selection(CONFIG_MAP),
                clock=SystemClock(),
                rng=random.Random(1),
                metrics=Metrics(),
            )
            [store] = stores
            store.replace([config_map("a", "5")], "10")
            [obj] = informer.list()
            set_a_member(obj)

    with pytest.raises(MutationError):
        use()
