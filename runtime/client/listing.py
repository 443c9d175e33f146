"""Lists of the API server: what to list, and how it is taken, page by page.

Uses runtime.client.transport. Called by runtime.client.client; callers name the objects by
ListOptions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from runtime.client.codec import JSON, PARTIAL_LIST, PageReader
from runtime.client.transport import AnswerTooLarge, HttpRequest, Transport
from runtime.clock import yield_to_loop
from runtime.limits.object_size import DEFAULT, Bounds
from runtime.types import Object, Resource

PAGE_SIZE = 500
PAGE_SECONDS = 60.0
"""Deadline of one list page: the API server itself gives up after 60 s by default."""
PAGE_BYTES = 8 << 20
"""Largest list page that is held: five objects of the most that the API server stores."""
SMALLER = 4
"""A page that was too large is requested again, with that part of its objects."""

Shape = Callable[[Object], Object]
"""Reduces a freshly decoded object to what is kept; may change its argument in place."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list. limit is the page size, 0 for one answer of any size.

    resource_version "" asks for the most recent state, "0" for any cached one. transform is
    applied piece by piece, so that the unreduced list never exists as a whole; of a member beyond
    `bounds` that is large no more than a mark is left (runtime.limits.object_size).
    """

    label_selector: str = ""
    field_selector: str = ""
    limit: int = PAGE_SIZE
    resource_version: str = ""
    metadata_only: bool = False
    transform: Shape | None = None
    bounds: Bounds = DEFAULT


@dataclass(frozen=True, slots=True)
class ObjectList:
    """All items of a list, each with apiVersion and kind, at one version of the collection."""

    items: list[Object]
    resource_version: str


LIST_ALL = ListOptions()


class Selectors(Protocol):
    """The selectors of a list or of a watch; "" selects everything."""

    @property
    def label_selector(self) -> str: ...

    @property
    def field_selector(self) -> str: ...


async def list_pages(
    transport: Transport, resource: Resource, namespace: str | None, options: ListOptions
) -> ObjectList:
    """List all objects of a selection, in pages. Raises what the transport raises."""
    token, version = "", ""
    items: list[Object] = []
    while True:
        try:
            page = await _list_page(transport, resource, namespace, options, token)
        except AnswerTooLarge:
            # The same place again: a token names where to go on, and no number of objects.
            limit = (options.limit or PAGE_SIZE) // SMALLER
            options = replace(options, limit=max(1, limit))
            continue
        for piece in page:
            items += _shaped(piece, options.transform)
            await yield_to_loop()
        # The version of the list is that of its first page: later ones continue that snapshot.
        version, token = version or page.resource_version, page.token
        if not token:
            return ObjectList(items, version)


async def _list_page(
    transport: Transport,
    resource: Resource,
    namespace: str | None,
    options: ListOptions,
    token: str,
) -> PageReader:
    query = selectors(options)
    if options.limit:
        query["limit"] = str(options.limit)
    # A page token carries its version; naming another one with it is an error.
    if token:
        query["continue"] = token
    elif options.resource_version:
        query["resourceVersion"] = options.resource_version
    accept = PARTIAL_LIST if options.metadata_only else JSON
    # A single object cannot be asked for in parts.
    most = None if options.limit == 1 else PAGE_BYTES
    call = HttpRequest("GET", resource.path(namespace), query, accept=accept, most=most)
    answer = await transport.request(call, seconds=PAGE_SECONDS)
    return PageReader(answer.body, resource, options.bounds)


def selectors(options: Selectors) -> dict[str, str]:
    """Build the query of label and field selectors."""
    query = {}
    if options.label_selector:
        query["labelSelector"] = options.label_selector
    if options.field_selector:
        query["fieldSelector"] = options.field_selector
    return query


def _shaped(items: Sequence[Object], transform: Shape | None) -> "list[Object]":
    return [transform(item) for item in items] if transform else [*items]
