"""Lists objects of the API server page by page.

Uses runtime.client.transport. Called by runtime.client.client; callers select the objects by
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
"""Deadline of one page of a list: the default timeout of the API server is 60 s."""
PAGE_BYTES = 8 << 20
"""Largest page of a list: five objects of the largest size that the API server stores."""
SMALLER = 4
"""The divisor of the page size after a page that was too large."""

Shape = Callable[[Object], Object]
"""Reduces a decoded object to what is stored; may change its argument in place."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list. limit is the page size, 0 for a single page.

    resource_version "" requests the most recent state, "0" any cached one. transform is applied
    piece by piece, so that the unreduced list is never in memory as a whole; a member that exceeds
    `bounds` is replaced by a marker (runtime.limits.object_size).
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
            # Repeat this page: a token contains the position, and not the limit.
            limit = (options.limit or PAGE_SIZE) // SMALLER
            options = replace(options, limit=max(1, limit))
            continue
        for piece in page:
            items += _transform_all(piece, options.transform)
            await yield_to_loop()
        # The version of the list is that of its first page; the later ones belong to the same
        # snapshot.
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
    # A continue token contains its version; another one with it is an error.
    if token:
        query["continue"] = token
    elif options.resource_version:
        query["resourceVersion"] = options.resource_version
    accept = PARTIAL_LIST if options.metadata_only else JSON
    # A single object cannot be requested in parts.
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


def _transform_all(items: Sequence[Object], transform: Shape | None) -> "list[Object]":
    return [transform(item) for item in items] if transform else [*items]
