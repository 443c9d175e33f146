"""Bytes to objects and back, for the three shapes the API server speaks: object, list, event.

Pure; uses orjson and runtime.types. Called by the client and the reflector.

Objects asked for as PartialObjectMetadata come back under that kind; the reader of a resource
wants the real one, so apiVersion and kind are filled in from the resource on every path.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from runtime.errors import TransportError
from runtime.types import Object, Resource

JSON = "application/json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
PARTIAL_OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

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


def decode_object(body: bytes, resource: Resource | None = None) -> Object:
    """A response body as an object.

    Raises TransportError when it is no JSON object: some box in between answered in its place.
    """
    try:
        obj = orjson.loads(body)
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
    metadata: Mapping[str, Any] = answer.get("metadata") or {}
    return Page(
        items=items,
        resource_version=str(metadata.get("resourceVersion") or ""),
        token=str(metadata.get("continue") or ""),
    )


def decode_event(line: bytes, resource: Resource) -> tuple[str, Object]:
    """One line of a watch: its type word and its object.

    Raises TransportError for a line that is no event, complete or not: the stream is torn and
    has to be opened anew.
    """
    try:
        event = orjson.loads(line)
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
