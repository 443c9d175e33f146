"""Field paths: the leaves of an object, and how to merge and remove them.

Pure. A path is a tuple of the tokens of FieldsV1: "f:name" for a field, `k:{"name":"x"}` for an
item of a list that is a map, `v:"x"` for an item of a set. An item has its own path in addition to
those of its fields, written as "." in FieldsV1. Source: structured-merge-diff, fieldpath.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from runtime.testing.api_server.schema import SET, Keys, Schema
from runtime.types import Object

Path = tuple[str, ...]
ITEM = object()
"""The value of the path of a list item: it exists."""

_SELF = "."
"""In FieldsV1: the path itself, if there are paths below it too."""


def leaves(value: Any, schema: Schema, at: Path = (), name: str = "") -> Iterator[tuple[Path, Any]]:
    """Each path that can have an owner, with its value."""
    if isinstance(value, dict) and value and name not in schema.whole:
        for field, inner in value.items():
            yield from leaves(inner, schema, (*at, f"f:{field}"), field)
        return
    keys = schema.keys(name, value) if isinstance(value, list) and value else None
    if keys is None:
        yield at, value
        return
    for item in value:
        path = (*at, token_of(item, keys))
        yield path, ITEM
        if keys != SET:
            for field, inner in item.items():
                yield from leaves(inner, schema, (*path, f"f:{field}"), field)


def token_of(item: Any, keys: Keys) -> str:
    """The token of one item of a list."""
    if keys == SET:
        return "v:" + orjson.dumps(item).decode()
    # On a real server the default of protocol is part of the key.
    identity = {key: item.get(key, "TCP") if key == "protocol" else item.get(key) for key in keys}
    return "k:" + orjson.dumps(identity, option=orjson.OPT_SORT_KEYS).decode()


def merge_fields(live: Any, desired: Any, schema: Schema, name: str = "") -> Any:
    """Merge desired into live."""
    if isinstance(desired, dict) and isinstance(live, dict) and name not in schema.whole:
        both = dict(live)
        for field, inner in desired.items():
            both[field] = merge_fields(live.get(field), inner, schema, field)
        return both
    if isinstance(desired, list) and isinstance(live, list):
        keys = schema.keys(name, desired or live)
        if keys is not None:
            return _merged_items(live, desired, keys, schema)
    return desired


def _merged_items(live: list[Any], desired: list[Any], keys: Keys, schema: Schema) -> list[Any]:
    """The desired items keep their order; the others stay before their former successors."""
    old = {token_of(item, keys): item for item in live}
    new = {token_of(item, keys): item for item in desired}
    merged_items = {
        token: merge_fields(old[token], item, schema) if token in old and keys != SET else item
        for token, item in new.items()
    }
    pending = list(merged_items)
    order: list[str] = []
    for token in old:
        if token not in merged_items:
            order.append(token)
        elif token in pending:
            # All desired items up to this one.
            upto = pending.index(token) + 1
            order += pending[:upto]
            del pending[:upto]
    order += pending
    return [merged_items[token] if token in merged_items else old[token] for token in order]


def without(value: Any, removed: Mapping[str, Any], schema: Schema, name: str = "") -> Any:
    """Copy a value without the paths of a FieldsV1 tree and without values that become empty.

    Returns None if nothing is left.
    """
    if isinstance(value, dict):
        return _fields_without(value, removed, schema)
    if isinstance(value, list):
        keys = schema.keys(name, value)
        if keys is None:
            return value
        remaining = [
            without(item, removed.get(token_of(item, keys), {}), schema)
            for item in value
            if not _is_removed(removed.get(token_of(item, keys)))
        ]
        return remaining or None
    return value


def _fields_without(value: Object, removed: Mapping[str, Any], schema: Schema) -> Object | None:
    remaining: Object = {}
    for field, inner in value.items():
        below = removed.get(f"f:{field}")
        if below is None:
            remaining[field] = inner
        elif not _is_removed(below):
            rest = without(inner, below, schema, field)
            if rest is not None:
                remaining[field] = rest
    return remaining or None


def _is_removed(tree: Mapping[str, Any] | None) -> bool:
    return tree is not None and (not tree or _SELF in tree)


def tree_of(paths: Iterable[Path]) -> Object:
    """Paths as FieldsV1."""
    every = set(paths)
    tree: Object = {}
    for path in sorted(every):
        node = tree
        for token in path:
            node = node.setdefault(token, {})
        node[_SELF] = {}
    return _plain(tree)


def _plain(tree: Object) -> Object:
    """A leaf is an empty map; "." is written only together with other tokens."""
    inner = {part: _plain(below) for part, below in tree.items() if part != _SELF}
    return {_SELF: {}, **inner} if _SELF in tree and inner else inner


def paths_of(tree: Mapping[str, Any], at: Path = ()) -> Iterator[Path]:
    """FieldsV1 as paths."""
    inner = [part for part in tree if part != _SELF]
    if at and (_SELF in tree or not inner):
        yield at
    for part in inner:
        yield from paths_of(tree[part], (*at, part))


def format_path(path: Path) -> str:
    """A path as conflict messages write it: `.spec.containers[name="x"].image`."""
    return "".join(_shown_token(token) for token in path)


def _shown_token(token: str) -> str:
    kind, _, text = token.partition(":")
    if kind == "f":
        return f".{text}"
    if kind == "v":
        return f"[={text}]"
    keys = orjson.loads(text)
    words = (f"{name}={orjson.dumps(value).decode()}" for name, value in keys.items())
    return f"[{','.join(words)}]"
