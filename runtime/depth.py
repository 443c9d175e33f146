"""How deep a JSON value may be nested, for values that somebody else wrote.

Pure; uses the standard library. Called by runtime.codec, runtime.selection and whoever reads free
data of users. The API server stores ten thousand levels; a decoder gives up at a thousand, and one
object that cannot be decoded would keep a whole list from being read. So what lies deeper than
anybody means is cut off before it can do that: its reader finds the object, and can say what is
wrong with it.
"""

import re
from collections.abc import Callable
from typing import Any

LEVELS_MAX = 100
"""What is kept: far more than any kind of Kubernetes has, and no danger to recursive code."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_CLOSING = b"]}"


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
    """Whether a JSON value is made of more than `values` values; looks at no more than these."""
    waiting = [value]
    seen = 0
    while waiting and seen <= values:
        part = waiting.pop()
        seen += 1
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return seen > values
