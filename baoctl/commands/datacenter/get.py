"""`baoctl datacenter get`: prints a datacenter, or one of its services, by UID or name.

Uses baoctl.commands.datacenter.status to read, and baoctl.commands.datacenter.watch to print.
Called by baoctl.verbs.datacenter. Audit records identify a service by the UID of its
BootstrapWorkload.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Final

import click

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.datacenter.status import fetch, metadata_of_all
from baoctl.commands.datacenter.view import View, service_of
from baoctl.commands.datacenter.watch import Output, printable, render_view
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from runtime.client.client import Client
from runtime.types import Object, Resource, key_of, labels_of, uid_of

_ID_MAX: Final = 80
"""Maximum characters of an unknown ID in the error."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The object with an ID: a datacenter, or one of its services."""

    view: View
    service: str = ""
    """The service with this ID, the only row of the view; "" for a datacenter."""

    @property
    def exit_code(self) -> int:
        """0 if the datacenter is Ready, or the service Running with its current spec; else 3."""
        if not self.service:
            return self.view.exit_code
        runs = (
            workload.state == "Running" and not workload.outdated
            for workload in self.view.workloads
        )
        return 0 if any(runs) else ExitCode.NOT_READY


def get(identity: str, access: Access, *, output: Output) -> int:
    """Print the object with an ID; return the exit status. Raises RequestError."""
    stdout = sys.stdout

    async def run(api: Session) -> LookupResult:
        result = await look_up(api.client, identity)
        text = render_view(
            result.view, api.clock.now(), output=output, verbose=True, terminal=stdout.isatty()
        )
        click.echo(printable(text, stdout.encoding), nl=False)
        return result

    return run_in_session("datacenter-get", run, access).exit_code


async def look_up(client: Client, identity: str) -> LookupResult:
    """Read the Datacenter or BootstrapWorkload with this UID or name.

    Raises RequestError if there is none, and the errors of the client.
    """
    datacenter = await _with_id(client, DATACENTERS, identity)
    if datacenter is not None:
        return LookupResult(await fetch(client, key_of(datacenter).name))
    workload = await _with_id(client, WORKLOADS, identity)
    if workload is None:
        raise RequestError(
            f"no Datacenter or BootstrapWorkload has the UID or name {identity[:_ID_MAX]!r}",
            ExitCode.NOT_FOUND,
        )
    name = labels_of(workload).get(names.DATACENTER, "")
    service = service_of(name, workload)
    view = await fetch(client, name)
    return LookupResult(
        replace(view, workloads=tuple(row for row in view.workloads if row.name == service)),
        service,
    )


async def _with_id(client: Client, kind: Resource, identity: str) -> Object | None:
    objects = await metadata_of_all(client, kind)
    return next((obj for obj in objects if identity in (uid_of(obj), key_of(obj).name)), None)
