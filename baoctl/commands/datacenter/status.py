"""Reads a datacenter and its services from the API server.

Uses runtime.client.client and baoctl.commands.datacenter.reading. Changes nothing. Called by the
other modules of baoctl.commands.datacenter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from baoctl.commands.api_client import RequestError
from baoctl.commands.datacenter.view import View
from baoctl.exit_codes import ExitCode
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.names import NAME_PATTERN
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, key_of

NAMES_MAX: Final = 10
"""Maximum number of names in a message."""


async def fetch(client: Client, name: str) -> View:
    """Read a datacenter and its BootstrapWorkloads.

    Raises RequestError if it does not exist, and the errors of the client.
    """
    live = await find(client, name)
    by_datacenter = ListOptions(label_selector=f"{names.DATACENTER}={name}")
    workloads = await client.list(WORKLOADS, options=by_datacenter)
    # Imported after the first request, because it imports the models.
    from baoctl.commands.datacenter.reading import view_of

    return view_of(live, workloads.items)


async def find(client: Client, name: str) -> Object:
    """Read a Datacenter. Raises RequestError with the existing names if it does not exist."""
    if not re.fullmatch(NAME_PATTERN, name):
        rule = "must be lower-case letters, digits and dashes, and begin with a letter"
        raise RequestError(f"{name!r} is not a valid name of a datacenter: {rule}", ExitCode.USAGE)
    try:
        return await client.get(DATACENTERS, ObjectKey("", name))
    except NotFound:
        raise RequestError(await _not_found_message(client, name), ExitCode.NOT_FOUND) from None


async def metadata_of_all(client: Client, kind: Resource) -> tuple[Object, ...]:
    """List the metadata of a kind. Raises RequestError if its definition is missing."""
    try:
        listing = await client.list(kind, options=ListOptions(metadata_only=True))
    except NotFound:
        message = "the API server does not serve datacenters: apply config/crd first"
        raise RequestError(message, ExitCode.NOT_FOUND) from None
    return tuple(listing.items)


async def _not_found_message(client: Client, name: str) -> str:
    existing = format_names(
        key_of(datacenter).name for datacenter in await metadata_of_all(client, DATACENTERS)
    )
    return (
        f"there is no Datacenter {name}, only {existing}"
        if existing
        else f"there is no Datacenter {name}; there are no Datacenters"
    )


def format_names(items: Iterable[str]) -> str:
    """Return the first names, sorted, and the number of the others; "" for none."""
    ordered = sorted(items)
    more = f" and {len(ordered) - NAMES_MAX} more" if len(ordered) > NAMES_MAX else ""
    return ", ".join(ordered[:NAMES_MAX]) + more
