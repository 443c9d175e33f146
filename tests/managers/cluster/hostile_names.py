"""Objects with one of their texts replaced by a hostile one."""

import copy
from collections.abc import Iterator
from typing import Any


def strings(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each string in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from strings(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from strings(part, (*path, number))


def with_text(manifest: Any, path: tuple[Any, ...], text: str) -> Any:
    """The manifest with another text at a path."""
    body = copy.deepcopy(manifest)
    inner = body["spec"]
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = text
    return body
