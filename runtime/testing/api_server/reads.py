"""Lists in pages and single objects, in full or as metadata only.

Pure. All pages of a list are read at the same version.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from runtime.cache.selection import Selection
from runtime.testing.api_server.answers import bad_request, token_expired, too_large
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.storage import ObjectStorage
from runtime.types import Object, key_of

_PARTIAL = "as=PartialObjectMetadata"
_FIELDS = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """Which objects are requested, and in which shape."""

    kind: Kind
    selection: Selection
    partial: bool

    def shape(self, obj: Object) -> Object:
        """The object in a response; outside of lists it always has apiVersion and kind."""
        if not self.partial:
            return obj
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }


def asks_for_metadata(accept: str) -> bool:
    """Whether an Accept header requests only metadata."""
    return _PARTIAL in accept


def selection_of(kind: Kind, namespace: str | None, query: dict[str, str]) -> Selection:
    """The selectors of a request; 400 for unsupported ones."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    for term in filter(None, fields.split(",")):
        name = term.replace("!", "=").partition("=")[0]
        if name not in _FIELDS:
            raise bad_request(f"field label not supported: {name}")
    return Selection(kind.resource, namespace, labels, fields)


def list_page(storage: ObjectStorage, question: ReadQuery, query: dict[str, str]) -> Object:
    """One page of a list, or all of it."""
    limit = int(query.get("limit") or 0)
    if query.get("continue"):
        revision, start = _read_token(query["continue"])
    else:
        revision, start = _revision(storage, query), ""
        if query.get("resourceVersion") == "0":
            # Served from the watch cache, without pages.
            limit = 0
    objects = storage.at(question.kind.resource, revision)
    if objects is None:
        raise token_expired()
    return _page(question, objects, (revision, start), limit)


def _page(question: ReadQuery, objects: list[Object], where: tuple[int, str], limit: int) -> Object:
    revision, start = where
    matching = [
        obj for obj in objects if str(key_of(obj)) > start and question.selection.matches(obj)
    ]
    page = matching[:limit] if limit else matching
    metadata: Object = {"resourceVersion": str(revision)}
    if len(page) < len(matching):
        metadata["continue"] = _token(revision, str(key_of(page[-1])))
        if not question.selection.label_selector and not question.selection.field_selector:
            metadata["remainingItemCount"] = len(matching) - len(page)
    resource = question.kind.resource
    kind, version = (
        ("PartialObjectMetadataList", "meta.k8s.io/v1")
        if question.partial
        else (f"{resource.kind}List", resource.api_version)
    )
    return {
        "kind": kind,
        "apiVersion": version,
        "metadata": metadata,
        "items": [*_items(question, page)],
    }


def _items(question: ReadQuery, page: Iterable[Object]) -> Iterable[Object]:
    for obj in page:
        if question.partial or question.kind.items_say_their_kind:
            yield question.shape(obj)
        else:
            yield {name: obj[name] for name in obj if name not in ("apiVersion", "kind")}


def _revision(storage: ObjectStorage, query: dict[str, str]) -> int:
    """The version of a list without a continue token."""
    requested = version_of(query)
    if requested > storage.revision:
        raise too_large(requested, storage.revision)
    if query.get("resourceVersionMatch") == "Exact":
        return requested
    return storage.revision


def version_of(query: dict[str, str]) -> int:
    """The resourceVersion of a request; 0 for none."""
    text = query.get("resourceVersion") or "0"
    if not text.isdecimal():
        raise bad_request(f'Invalid value: "{text}": invalid resource version')
    return int(text)


def _token(revision: int, start: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"rv": revision, "start": start})).decode()


def _read_token(text: str) -> tuple[int, str]:
    try:
        token = orjson.loads(base64.urlsafe_b64decode(text))
        return int(token["rv"]), str(token["start"])
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
