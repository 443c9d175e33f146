"""e2e.demo.journal: a reader that waits for the changes that lists already contain."""

import queue
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson
import pytest

from e2e.demo.api import Api
from e2e.demo.journal import Change, Journal, View
from e2e.demo.objects import Object

PODS = View("pods", "/api/v1/pods")
LONG = 30.0


class Lists(Api):
    """Answers lists from `items`; delivers watch events when the test sends them."""

    def __init__(self) -> None:
        super().__init__(Path("unused"))
        self.shown: dict[str, int] = {"a": 1}
        self.version = 1
        self._events: queue.Queue[tuple[Change, str, int]] = queue.Queue()

    def get(self, path: str, headers: Mapping[str, str] = {}) -> Object:
        items = [pod(name, version) for name, version in self.shown.items()]
        return {"metadata": {"resourceVersion": str(self.version)}, "items": items}

    def watch(self, path: str, version: str, headers: Mapping[str, str] = {}) -> Iterator[bytes]:
        while True:
            change, name, at = self._events.get()
            yield orjson.dumps({"type": change, "object": pod(name, at)})

    def shows(self, version: int, **items: int) -> None:
        self.shown, self.version = items, version

    def deliver(self, change: Change, name: str, version: int) -> None:
        self._events.put((change, name, version))


def pod(name: str, version: int) -> Object:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}}


@pytest.mark.parametrize(
    ("version", "items", "change"),
    [
        (3, {"a": 3}, ("MODIFIED", "a", 3)),
        (4, {"a": 1, "b": 4}, ("ADDED", "b", 4)),
        (5, {}, ("DELETED", "a", 5)),
        (6, {"a": 5}, ("MODIFIED", "a", 6)),
    ],
    ids=["changed", "new", "gone", "newer than the list"],
)
def test_catch_up_waits_for_the_watch_events_of_a_list(
    version: int, items: dict[str, int], change: tuple[Change, str, int]
) -> None:
    api = Lists()
    with Journal(api, (PODS,)) as journal:
        assert journal.catch_up(LONG)
        api.shows(version, **items)
        assert not journal.catch_up(0.0)
        api.deliver(*change)
        assert journal.catch_up(LONG)
        assert [
            (entry.change, entry.object["metadata"]["name"]) for entry in journal.entries()
        ] == [change[:2]]
