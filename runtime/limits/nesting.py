"""How deep a JSON value may be nested, for values of other owners.

Pure. Called by runtime.client.codec, runtime.cache.selection and readers of free data of users or
answers of their servers. The API server stores ten thousand levels; a decoder gives up at a
thousand, and one object that cannot be decoded would keep a whole list from being read. So what
is nested too deep is cut off before it can do that: its reader gets the object, and can report what
is wrong with it.
"""

import re
from collections.abc import Callable
from typing import Any

import orjson

LEVELS_MAX = 100
"""What is kept: far more than any kind of Kubernetes has, and no danger to recursive code."""

VALUES_MAX = 10_000
"""As many as a spec may have."""

# A text that does not end is one token, too: scanned again from each quote in it, it would take
# the square of its length.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_CLOSING = b"]}"


class UnreadableError(ValueError):
    """External input breaks a bound, or is no JSON. The text is ours, and safe to show."""


def shallow_text(body: bytes, levels: int = LEVELS_MAX) -> bytes:
    """The JSON text with null in the place of each list and object below `levels` levels.

    Takes one pass and no recursion. What is no JSON comes back as something that is no JSON.
    """
    kept: list[bytes] = []
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
                kept.append(body[start : token.start()] + b"null")
            depth += 1
    if depth <= levels:
        kept.append(body[start:])
    return b"".join(kept)


def loads(text: bytes) -> Any:
    """The value; what is nested deeper than the decoder goes, without its depths.

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
    """A copy of a JSON value with None in the place of what is nested deeper than `levels`."""
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
    """Read JSON of another owner. Raises UnreadableError, which names the bound.

    The number of values is bounded before they are made: two bytes of text become sixty in memory.
    It is counted by the marks before each, so marks inside of texts count as well.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > values:
        raise UnreadableError(f"made of more than {values} values")
    deeper = f"nested deeper than {levels} levels"
    try:
        value = decode(text)
    except RecursionError:
        raise UnreadableError(deeper) from None
    except ValueError as error:
        # orjson says so beyond 1024 levels.
        rule = deeper if "depth limit" in str(error) else "no JSON"
        raise UnreadableError(rule) from None
    if too_deep(value, levels) is not None:
        raise UnreadableError(deeper)
    return value


def too_deep(value: Any, levels: int) -> str | None:
    """The path of something that is nested deeper than `levels`; None if nothing is."""
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
    """Whether a JSON value is made of more than `values` values; visits no more than these."""
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
