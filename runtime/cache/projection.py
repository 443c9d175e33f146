"""Values that are computed from cached objects, once per version of an object.

For readers of all objects, such as the gauges of a scrape: to parse a thousand objects for each
scrape would block the event loop, and to keep them takes 60 MB. Uses runtime.cache.cache and a type
of runtime.metrics.families. Called by managers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from runtime.cache.cache import Lister
from runtime.metrics.families import Reading
from runtime.types import Object, ObjectKey, key_of

Value = TypeVar("Value")


class Projection(Generic[Value]):
    """A value for each object of a cache; the values of deleted objects are dropped."""

    def __init__(self, objects: Lister, project: Callable[[Object], Value]) -> None:
        """`project` must depend only on its argument, and return something small."""
        self._objects = objects
        self._project = project
        self._values: dict[ObjectKey, tuple[Object, Value]] = {}

    def items(self) -> Iterator[tuple[ObjectKey, Value]]:
        """Yield the keys of all cached objects, with their values."""
        previous, self._values = self._values, {}
        for live in self._objects.list():
            key = key_of(live)
            entry = previous.get(key)
            if entry is None or entry[0] is not live:
                entry = (live, self._project(live))
            self._values[key] = entry
            yield key, entry[1]

    def gauge(self, read: Callable[[Value], float | None]) -> Callable[[], Iterator[Reading]]:
        """Return the readings of a gauge with the labels namespace and name.

        An object has no series if `read` returns None for its value.
        """

        def readings() -> Iterator[Reading]:
            for key, value in self.items():
                number = read(value)
                if number is not None:
                    yield (*key,), float(number)

        return readings
