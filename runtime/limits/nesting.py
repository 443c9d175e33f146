"""Limits the nesting of untrusted JSON values.

Pure. Called by runtime.client.codec, runtime.cache.selection and readers of free-form data of users
or responses of their servers. The API server stores ten thousand levels; the decoder fails at a
thousand, and one object that cannot be decoded would make a whole list unreadable. Therefore deeper
levels are cut off first: the reader gets the object, and can report what is wrong with it.
"""

import re
from collections.abc import Callable
from typing import Any

import orjson

LEVELS_MAX = 100
"""Levels that are kept: far more than any Kubernetes kind has, and safe for recursive code."""

VALUES_MAX = 10_000
"""Maximum number of values of a spec."""

# An unterminated string is one token too: a rescan from each quote would take quadratic time.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_CLOSING = b"]}"


class UnreadableError(ValueError):
    """External input exceeds a limit, or is no JSON.

    The message completes "it is ..." and is safe to show.
    """


def shallow_text(body: bytes, levels: int = LEVELS_MAX) -> bytes:
    """Replace each list and object below `levels` levels by null in a JSON text.

    It takes one pass without recursion. Invalid JSON stays invalid.
    """
    parts: list[bytes] = []
    depth, start = 0, 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first == ord('"'):
            continue
        if first in _CLOSING:
            depth -= 1
            if depth == levels:
                start = token.end()
        else:
            if depth == levels:
                parts.append(body[start : token.start()] + b"null")
            depth += 1
    if depth <= levels:
        parts.append(body[start:])
    return b"".join(parts)


def loads(text: bytes) -> Any:
    """Decode a value; if it is nested too deep for the decoder, without the deeper levels.

    Raises JSONDecodeError. One object of a user must not hide all others of its list.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        shallower = shallow_text(text)
        if len(shallower) == len(text):
            raise
    return orjson.loads(shallower)


def shallow(value: Any, levels: int = LEVELS_MAX) -> Any:
    """Copy a JSON value, with None for values that are nested deeper than `levels`."""
    result: list[Any] = [None]

    def put_result(copy: Any) -> None:
        result[0] = copy

    waiting: list[tuple[Any, int, Callable[[Any], None]]] = [(value, 0, put_result)]
    while waiting:
        part, depth, put = waiting.pop()
        if not isinstance(part, dict | list):
            put(part)
        elif depth == levels:
            put(None)
        elif isinstance(part, dict):
            members: dict[str, Any] = dict.fromkeys(part)
            put(members)
            waiting.extend((item, depth + 1, _into(members, name)) for name, item in part.items())
        else:
            items: list[Any] = [None] * len(part)
            put(items)
            waiting.extend((item, depth + 1, _into(items, at)) for at, item in enumerate(part))
    return result[0]


def _into(holder: Any, at: Any) -> Callable[[Any], None]:
    def put(copy: Any) -> None:
        holder[at] = copy

    return put


def read_json(
    text: bytes,
    *,
    levels: int = LEVELS_MAX,
    values: int = VALUES_MAX,
    decode: Callable[[bytes], Any] = orjson.loads,
) -> Any:
    """Decode untrusted JSON. Raises UnreadableError, which names the limit.

    The number of values is limited before decoding: two bytes of text need sixty in memory. It is
    estimated by the commas and brackets, including those inside of strings.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > values:
        raise UnreadableError(f"made of more than {values} values")
    deeper = f"nested deeper than {levels} levels"
    try:
        value = decode(text)
    except RecursionError:
        raise UnreadableError(deeper) from None
    except ValueError as error:
        # orjson raises this beyond 1024 levels.
        rule = deeper if "depth limit" in str(error) else "no JSON"
        raise UnreadableError(rule) from None
    if too_deep(value, levels) is not None:
        raise UnreadableError(deeper)
    return value


def too_deep(value: Any, levels: int) -> str | None:
    """The path of a value that is nested deeper than `levels`; None if there is none."""
    waiting = [(value, 0, "")]
    while waiting:
        part, depth, path = waiting.pop()
        if not isinstance(part, dict | list):
            continue
        if depth == levels:
            return path
        if isinstance(part, dict):
            waiting.extend((item, depth + 1, f"{path}.{name}") for name, item in part.items())
        else:
            waiting.extend((item, depth + 1, f"{path}[{at}]") for at, item in enumerate(part))
    return None


def too_many(value: Any, values: int) -> bool:
    """Whether a JSON value consists of more than `values` values; visits at most one more."""
    waiting = [value]
    count = 0
    while waiting and count <= values:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return count > values
