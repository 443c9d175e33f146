"""Bytes to objects and back, for the three shapes the API server speaks: object, list, event.

Pure; uses orjson, runtime.depth and runtime.types. Called by the client and the reflector.

Objects asked for as PartialObjectMetadata come back under that kind; the reader of a resource
wants the real one, so apiVersion and kind are filled in from the resource on every path.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from runtime.depth import shallow_text
from runtime.errors import TransportError
from runtime.types import Object, Resource

JSON = "application/json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
PARTIAL_OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

WHOLE_BYTES = 3 << 20
"""Largest list response that is decoded in one go."""

PIECE_ITEMS = 64
PIECE_CHARS = 1 << 18
"""How much of a list response is handed out at once."""

_PARTIAL_KIND = "PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a list request; token is "" on the last page."""

    items: list[Object]
    resource_version: str
    token: str


# DEL and the C1 controls, the Unicode line breaks, the byte order mark and two non-characters.
_NOT_FOR_YAML = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]"
)


def encode(body: object) -> bytes:
    """Compact UTF-8 JSON."""
    return orjson.dumps(body)


def encode_apply(body: object) -> bytes:
    """JSON that is the same thing when it is read as YAML, as the API server reads apply bodies.

    YAML folds a raw U+0085 into a space and refuses control characters (seen with 1.36), so
    these are escaped. Everything else stays UTF-8: the surrogate pairs that ASCII-only encoders
    write for characters beyond the BMP are not joined by YAML readers.
    """
    return _NOT_FOR_YAML.sub(_escape, orjson.dumps(body))


def _escape(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())


def _loads(body: bytes) -> Any:
    """The value; what is nested deeper than the decoder goes, without its depths.

    Raises JSONDecodeError. One object of a user must not hide all others of its list.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        shallower = shallow_text(body)
        if len(shallower) == len(body):
            raise
    return orjson.loads(shallower)


def decode_object(body: bytes, resource: Resource | None = None) -> Object:
    """A response body as an object.

    Raises TransportError when it is no JSON object: some box in between answered in its place.
    """
    try:
        obj = _loads(body)
    except orjson.JSONDecodeError as error:
        raise TransportError(f"the answer is not JSON: {error}") from error
    if not isinstance(obj, dict):
        raise TransportError(f"the answer is not an object but {type(obj).__name__}")
    if resource is not None and obj.get("kind") == _PARTIAL_KIND:
        _name_kind(obj, resource)
    return obj


def decode_page(body: bytes, resource: Resource) -> Page:
    """A list response; items of built-in kinds do not say what they are until told here.

    Raises TransportError when the body is no list.
    """
    answer = decode_object(body)
    items = answer.get("items")
    if items is None and str(answer.get("kind")).endswith("List"):
        # An empty list of a Go server may be null.
        items = []
    if not isinstance(items, list):
        raise TransportError(f"the answer is not a list but {answer.get('kind')!r}")
    for item in items:
        _name_kind(item, resource)
    return Page(items, *_place(answer))


class PageReader:
    """A list response, decoded in pieces that are short enough to hold an event loop for.

    Iterate over the pieces, each a list of a few items; then `resource_version` and `token` are
    those of the page. Iterating raises TransportError when the body is no list.

    A body of up to WHOLE_BYTES is decoded in one go (20 ms) and handed out in slices. A larger
    one, of large objects, is decoded item by item: the decoder for that is the slower one of the
    standard library, because orjson cannot stop in the middle.
    """

    def __init__(self, body: bytes, resource: Resource) -> None:
        self._body = body
        self._resource = resource
        self.resource_version = ""
        self.token = ""

    def __iter__(self) -> Iterator[list[Object]]:
        if len(self._body) > WHOLE_BYTES:
            return self._scanned()
        return self._sliced()

    def _sliced(self) -> Iterator[list[Object]]:
        page = decode_page(self._body, self._resource)
        self.resource_version, self.token = page.resource_version, page.token
        for start in range(0, len(page.items), PIECE_ITEMS):
            yield page.items[start : start + PIECE_ITEMS]

    def _scanned(self) -> Iterator[list[Object]]:
        rest: dict[str, Any] = {}
        try:
            scanner = _Scanner(self._body.decode())
            for name in scanner.members():
                if name == "items" and scanner.stands_at("["):
                    rest[name] = []
                    yield from self._named(scanner.pieces())
                else:
                    rest[name] = scanner.value()
        except ValueError as error:
            raise TransportError(f"the answer is not JSON: {error}") from error
        empty = rest.get("items") is None and str(rest.get("kind")).endswith("List")
        if not (empty or rest.get("items") == []):
            raise TransportError(f"the answer is not a list but {rest.get('kind')!r}")
        self.resource_version, self.token = _place(rest)

    def _named(self, pieces: Iterator[list[Object]]) -> Iterator[list[Object]]:
        for piece in pieces:
            for item in piece:
                _name_kind(item, self._resource)
            yield piece


class _Scanner:
    """Reads one JSON object member by member. Every method raises ValueError for bad JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def members(self) -> Iterator[str]:
        """The names of the members; the caller reads the value of each before the next."""
        self._expect("{")
        while not self._skip("}"):
            yield str(self.value())
            self._skip(",")

    def pieces(self) -> Iterator[list[Any]]:
        """The elements of the array that comes next, PIECE_CHARS of text at a time."""
        self._expect("[")
        piece: list[Any] = []
        end = self._at + PIECE_CHARS
        while not self._skip("]"):
            piece.append(self.value())
            self._skip(",")
            if self._at >= end:
                yield piece
                piece, end = [], self._at + PIECE_CHARS
        yield piece

    def value(self) -> Any:
        """The value that comes next, whole."""
        self._skip(":")
        at = self._space()
        try:
            value, self._at = _DECODER.raw_decode(self._text, at)
        except RecursionError:
            self._text = shallow_text(self._text[at:].encode()).decode()
            value, self._at = _DECODER.raw_decode(self._text, 0)
        return value

    def stands_at(self, char: str) -> bool:
        """Whether the next value begins with that character."""
        self._skip(":")
        return self._text.startswith(char, self._space())

    def _expect(self, char: str) -> None:
        if not self._skip(char):
            raise ValueError(f"no {char!r} at character {self._at}")

    def _skip(self, char: str) -> bool:
        at = self._space()
        found = self._text.startswith(char, at)
        self._at = at + len(char) if found else at
        return found

    def _space(self) -> int:
        found = _SPACE.match(self._text, self._at)
        return found.end() if found else self._at


_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def _place(answer: Mapping[str, Any]) -> tuple[str, str]:
    """The version of a list and the token of its next page."""
    metadata: Mapping[str, Any] = answer.get("metadata") or {}
    return str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or "")


def decode_event(line: bytes, resource: Resource) -> tuple[str, Object]:
    """One line of a watch: its type word and its object.

    Raises TransportError for a line that is no event, complete or not: the stream is torn and
    has to be opened anew.
    """
    try:
        event = _loads(line)
        kind, obj = event["type"], event["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise TransportError(f"a line of the watch is not an event: {error}") from error
    if not isinstance(kind, str) or not isinstance(obj, dict):
        raise TransportError("a line of the watch is not an event")
    if obj.get("kind") == _PARTIAL_KIND:
        _name_kind(obj, resource)
    return kind, obj


def _name_kind(obj: Object, resource: Resource) -> None:
    obj["apiVersion"] = resource.api_version
    obj["kind"] = resource.kind
