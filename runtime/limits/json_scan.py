"""Finds the start and end of JSON values without decoding them.

Standard library only. Called by runtime.client.codec for texts that are too large to be decoded
whole: a value of two bytes needs eighty in memory, and one object may have a million. One regular
expression scans a value in C, in a single pass without backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import orjson

from runtime.limits.nesting import LEVELS_MAX

_STRING = rb'"(?:[^"\\]++|\\.)*+"'


def _nesting_pattern(levels: int) -> bytes:
    """Match a list or an object; the decoder checks the kind of the closing bracket."""
    pattern = b""
    for _ in range(levels):
        below = b"|" + pattern if pattern else b""
        pattern = rb'[\[{](?:[^"\[\]{}]++|' + _STRING + below + rb")*+[\]}]"
    return pattern


@cache
def _value() -> re.Pattern[bytes]:
    """Compile the pattern at its first use: that takes 12 ms, and most texts are decoded whole."""
    return re.compile(
        _STRING + b"|" + _nesting_pattern(LEVELS_MAX) + rb'|[^\s,:"\[\]{}]++', re.DOTALL
    )


_TOKEN = re.compile(_STRING + rb"|[\[{]|[\]}]", re.DOTALL)
_TEXT = re.compile(_STRING, re.DOTALL)
_SPACE = re.compile(rb"[ \t\n\r]*+")
_MARKS = (b",", b"[", b"{")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

Span = tuple[int, int]


def marks(text: bytes) -> int:
    """Count the commas and opening brackets outside of strings.

    The result is at least the number of values minus one, and at most twice that number.
    """
    bare = _TEXT.sub(b"", text) if b'"' in text else text
    return sum(map(bare.count, _MARKS))


def at_most(text: bytes, count: int) -> bool:
    """Whether `marks` is at most `count`; for most texts without a scan of strings."""
    return len(text) <= count or sum(map(text.count, _MARKS)) <= count or marks(text) <= count


class Skimmer:
    """Scans one JSON text. Every method raises ValueError for invalid JSON."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0

    @property
    def at(self) -> int:
        """The position in bytes."""
        return self._at

    def members(self) -> Iterator[str]:
        """The name of each member; the caller skips or reads its value before the next."""
        self._expect(b"{")
        while not self._skip(b"}"):
            if not self.stands_at(b'"'):
                raise ValueError(f"no name at byte {self._at}")
            name: str = orjson.loads(self.text())
            self._expect(b":")
            yield name
            self._skip(b",")

    def elements(self) -> Iterator[None]:
        """Yield once per element of the next list; the caller skips or reads the element."""
        self._expect(b"[")
        while not self._skip(b"]"):
            yield
            self._skip(b",")

    def text(self) -> bytes:
        """Return the text of the next value and skip it."""
        start, end = self.value()
        return self._text[start:end]

    def value(self) -> Span:
        """Return the span of the next value and skip it."""
        start = self._space()
        match = _value().match(self._text, start)
        self._at = self._far_end(start) if match is None else match.end()
        return start, self._at

    def _far_end(self, start: int) -> int:
        """Find the end of a value that is nested too deep for the expression, token by token."""
        depth = 0
        if self._text[start : start + 1] in (b"[", b"{"):
            for token in _TOKEN.finditer(self._text, start):
                depth += _STEPS.get(self._text[token.start()], 0)
                if depth == 0:
                    return token.end()
        raise ValueError(f"no value at byte {start}")

    def stands_at(self, mark: bytes) -> bool:
        """Whether the next value starts with that byte."""
        return self._text.startswith(mark, self._space())

    def _expect(self, mark: bytes) -> None:
        if not self._skip(mark):
            raise ValueError(f"no {mark.decode()!r} at byte {self._at}")

    def _skip(self, mark: bytes) -> bool:
        self._at = self._space()
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _space(self) -> int:
        match = _SPACE.match(self._text, self._at)
        return match.end() if match else self._at
