"""JSON patch (RFC 6902) and JSON merge patch (RFC 7396).

Pure. Called by the write side of the fake server.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.types import Object


class Impossible(Exception):  # noqa: N818 - an error of the patch, not of the server
    """A test failed or a path does not exist."""


def apply_json_patch(document: Object, ops: Sequence[Mapping[str, Any]]) -> Object:
    """The document after all operations; the argument may be changed. Raises Impossible."""
    for op in ops:
        _perform(document, op)
    return document


def apply_merge_patch(value: Any, patch: Any) -> Any:
    """The value after a merge patch: null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, inner in patch.items():
        if inner is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), inner)
    return result


def _perform(document: Object, op: Mapping[str, Any]) -> None:
    match op["op"]:
        case "test":
            if not _holds(document, op["path"], op["value"]):
                raise Impossible(f"testing value {op['path']} failed: test failed")
        case "add":
            _add(document, op["path"], op["value"])
        case "remove":
            _remove(document, op["path"])
        case "replace":
            _remove(document, op["path"])
            _add(document, op["path"], op["value"])
        case "copy":
            _add(document, op["path"], _read(document, op["from"]))
        case "move":
            value = _read(document, op["from"])
            _remove(document, op["from"])
            _add(document, op["path"], value)
        case word:
            raise Impossible(f"unknown operation {word}")


def _holds(document: Any, pointer: str, value: Any) -> bool:
    above, _, last = pointer.rpartition("/")
    parent = _read(document, above)
    if value is None and isinstance(parent, dict) and _tokens(f"/{last}")[0] not in parent:
        # An absent value equals null.
        return True
    return bool(_read(document, pointer) == value)


def _read(document: Any, pointer: str) -> Any:
    for token in _tokens(pointer):
        document = _step(document, token, pointer)
    return document


def _add(document: Any, pointer: str, value: Any) -> None:
    *parents, last = _tokens(pointer)
    for token in parents:
        document = _step(document, token, pointer)
    if isinstance(document, dict):
        document[last] = value
        return
    if not isinstance(document, list):
        raise Impossible(f"add operation does not apply: doc is missing path: {pointer}")
    at = len(document) if last == "-" else _position(last, pointer)
    if at > len(document):
        raise Impossible(f"add operation does not apply: no index {at}: {pointer}")
    document.insert(at, value)


def _remove(document: Any, pointer: str) -> None:
    *parents, last = _tokens(pointer)
    for token in parents:
        document = _step(document, token, pointer)
    _step(document, last, pointer)
    del document[_position(last, pointer) if isinstance(document, list) else last]


def _step(document: Any, token: str, pointer: str) -> Any:
    if isinstance(document, dict) and token in document:
        return document[token]
    if isinstance(document, list):
        at = _position(token, pointer)
        if at < len(document):
            return document[at]
    raise Impossible(f"doc is missing path: {pointer}: missing value")


def _position(token: str, pointer: str) -> int:
    if not token.isdecimal():
        raise Impossible(f"no index {token}: {pointer}")
    return int(token)


def _tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
