"""Encodes and decodes objects, lists and watch events of the API server.

Pure; uses orjson, runtime.limits and runtime.types. Called by the client and the reflector.

Objects that are requested as PartialObjectMetadata have that kind in the response; every function
replaces apiVersion and kind by those of the resource.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from runtime.errors import TransportError
from runtime.limits.json_scan import Skimmer, at_most
from runtime.limits.nesting import loads
from runtime.limits.object_size import DEFAULT, Bounds, read_object
from runtime.types import Object, Resource

JSON = "application/json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
PARTIAL_OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

WHOLE_BYTES = 3 << 20
"""Largest list response that is decoded in one step, in bytes."""
WHOLE_VALUES = 300_000
"""Maximum number of values of such a response: as many as a page of ordinary objects has, and 30 MB
in memory."""

PIECE_ITEMS = 64
PIECE_BYTES = 1 << 18
"""The size of one piece of a list response."""

_PARTIAL_KIND = "PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; token is "" on the last page."""

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
    """JSON that has the same meaning when read as YAML, as the API server reads apply bodies.

    YAML folds a raw U+0085 into a space and refuses control characters (seen with 1.36), so
    these are escaped. Everything else stays UTF-8: the surrogate pairs that ASCII-only encoders
    write for characters beyond the BMP are not joined by YAML readers.
    """
    return _NOT_FOR_YAML.sub(_escape, orjson.dumps(body))


def _escape(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def decode_object(body: bytes, resource: Resource | None = None) -> Object:
    """A response body as an object.

    Raises TransportError if it is no JSON object: a proxy responded instead of the API server.
    """
    try:
        obj = loads(body)
    except orjson.JSONDecodeError as error:
        raise TransportError(f"the answer is not JSON: {error}") from error
    if not isinstance(obj, dict):
        raise TransportError(f"the answer is not an object but {type(obj).__name__}")
    if resource is not None and obj.get("kind") == _PARTIAL_KIND:
        _name_kind(obj, resource)
    return obj


def decode_page(body: bytes, resource: Resource) -> Page:
    """A list response; items of built-in kinds get apiVersion and kind here.

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
    """A list response, decoded in pieces that do not block the event loop for long.

    Iterate over the pieces, each a list of a few items; then `resource_version` and `token` are
    those of the page. Iterating raises TransportError if the body is no list.

    A body of up to WHOLE_BYTES is decoded in one step (20 ms) and returned in slices. A body that
    is larger or has more values is decoded item by item, without the members of an item that exceed
    the bounds: orjson cannot pause, and a skimmer finds the end of each item.
    """

    def __init__(self, body: bytes, resource: Resource, bounds: Bounds = DEFAULT) -> None:
        self._body = body
        self._resource = resource
        self._bounds = bounds
        self.resource_version = ""
        self.token = ""

    def __iter__(self) -> Iterator[list[Object]]:
        if len(self._body) > WHOLE_BYTES or not at_most(self._body, WHOLE_VALUES):
            return self._scan()
        return self._slices()

    def _slices(self) -> Iterator[list[Object]]:
        page = decode_page(self._body, self._resource)
        self.resource_version, self.token = page.resource_version, page.token
        for start in range(0, len(page.items), PIECE_ITEMS):
            yield page.items[start : start + PIECE_ITEMS]

    def _scan(self) -> Iterator[list[Object]]:
        rest: dict[str, Any] = {}
        try:
            skimmer = Skimmer(self._body)
            for name in skimmer.members():
                if name == "items" and skimmer.stands_at(b"["):
                    rest[name] = []
                    yield from self._pieces(skimmer)
                else:
                    rest[name] = loads(skimmer.text())
        except ValueError as error:
            raise TransportError(f"the answer is not JSON: {error}") from error
        empty = rest.get("items") is None and str(rest.get("kind")).endswith("List")
        if not (empty or rest.get("items") == []):
            raise TransportError(f"the answer is not a list but {rest.get('kind')!r}")
        self.resource_version, self.token = _place(rest)

    def _pieces(self, skimmer: Skimmer) -> Iterator[list[Object]]:
        """The items of the list at the skimmer, PIECE_BYTES of text at a time."""
        piece: list[Object] = []
        end = skimmer.at + PIECE_BYTES
        for _ in skimmer.elements():
            item = read_object(skimmer, self._bounds)
            _name_kind(item, self._resource)
            piece.append(item)
            if skimmer.at >= end:
                yield piece
                piece, end = [], skimmer.at + PIECE_BYTES
        yield piece


def _place(answer: Mapping[str, Any]) -> tuple[str, str]:
    """The version of a list and the token of its next page."""
    metadata: Mapping[str, Any] = answer.get("metadata") or {}
    return str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or "")


def decode_event(line: bytes, resource: Resource, bounds: Bounds = DEFAULT) -> tuple[str, Object]:
    """One line of a watch: its type and its object, without members that exceed the bounds.

    Raises TransportError for a line that is no event or incomplete: the stream is broken and must
    be reopened.
    """
    try:
        event = loads(line) if at_most(line, bounds.values) else _skim_event(line, bounds)
        kind, obj = event["type"], event["object"]
    except (ValueError, KeyError, TypeError) as error:
        raise TransportError(f"a line of the watch is not an event: {error}") from error
    if not isinstance(kind, str) or not isinstance(obj, dict):
        raise TransportError("a line of the watch is not an event")
    if obj.get("kind") == _PARTIAL_KIND:
        _name_kind(obj, resource)
    return kind, obj


def _skim_event(line: bytes, bounds: Bounds) -> dict[str, Any]:
    event: dict[str, Any] = {}
    skimmer = Skimmer(line)
    for name in skimmer.members():
        is_object = name == "object" and skimmer.stands_at(b"{")
        event[name] = read_object(skimmer, bounds) if is_object else loads(skimmer.text())
    return event


def _name_kind(obj: Object, resource: Resource) -> None:
    obj["apiVersion"] = resource.api_version
    obj["kind"] = resource.kind
