"""`baoctl datacenter`: shows and redeploys the shared services of datacenters.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from typing import Any, Literal

import click

from baoctl.options import Access, Verbs, output_option
from baoctl.verbs.access_options import api_server_options, names_of


@click.group("datacenter", cls=Verbs)
def datacenter_group() -> None:
    """Show and redeploy the shared services of datacenters."""


@datacenter_group.command("status")
@click.argument("datacenter", metavar="DC", shell_complete=names_of("datacenters"))
@click.option("-w", "--watch", is_flag=True, help="Print the tree again after every change.")
@click.option("--until-ready", is_flag=True, help="Watch until the datacenter is Ready.")
@click.option("--timeout", metavar="TIME", help="Stop watching after this time, for example 5m.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the objects of each service.")
@output_option("text", "json", "yaml")
@api_server_options
def datacenter_status_command(
    datacenter: str,
    verbose: bool,
    output: Literal["text", "json", "yaml"],
    *,
    access: Access,
    **flags: Any,
) -> None:
    """Show datacenter DC, its sources and its services as a tree. Changes nothing.

    A service is shown below the first service that it depends on. Exits with 0 if the datacenter
    is Ready for its current spec, and with 3 if not.
    """
    from baoctl.commands.datacenter.watch import read_schedule, show

    try:
        options = read_schedule(**flags)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None
    raise SystemExit(show(datacenter, options, access, output=output, verbose=verbose))


@datacenter_group.command("get")
@click.argument("identity", metavar="ID", shell_complete=names_of("datacenters"))
@output_option("text", "json", "yaml")
@api_server_options
def datacenter_get_command(
    identity: str, output: Literal["text", "json", "yaml"], *, access: Access
) -> None:
    """Show the datacenter or service whose UID or name is ID. Changes nothing.

    An audit record contains the UID of a service. Exits with 0 if the datacenter is Ready or the
    service is Running, with 3 if not, and with 5 if there is no such object.
    """
    from baoctl.commands.datacenter.get import get

    raise SystemExit(get(identity, access, output=output))


@datacenter_group.command("redeploy")
@click.argument("target", metavar="DC/SERVICE", shell_complete=names_of("services"))
@click.option(
    "--token",
    help="Token of the request; the same token has no effect again.  [default: the current time]",
)
@api_server_options
def datacenter_redeploy_command(target: str, token: str | None, *, access: Access) -> None:
    """Replace the pods of SERVICE in datacenter DC.

    Writes a request to spec.redeploy of the Datacenter, and the operator replaces the pods. Any
    source may declare the service.
    """
    from baoctl.commands.datacenter.redeploy import redeploy

    click.echo(redeploy(target, token, access))
