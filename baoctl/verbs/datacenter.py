"""`baoctl datacenter`: the shared services of datacenters.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from typing import Any, Literal

import click

from baoctl.options import Access, Verbs, reaches_api_server


@click.group("datacenter", cls=Verbs)
def datacenter_group() -> None:
    """Look at the shared services of datacenters."""


@datacenter_group.command("status")
@click.argument("datacenter", metavar="DC")
@click.option("-w", "--watch", is_flag=True, help="Print it anew whenever something has changed.")
@click.option("--until-ready", is_flag=True, help="Watch, and end as soon as it is Ready.")
@click.option("--timeout", help="End after so long, such as 5m, whatever it is then.")
@click.option("-v", "--verbose", is_flag=True, help="Name the objects of each service, too.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
@reaches_api_server
def datacenter_status_command(
    datacenter: str,
    verbose: bool,
    output: Literal["text", "json"],
    *,
    access: Access,
    **looking: Any,
) -> None:
    """Show Datacenter DC, its sources and its services as a tree. Changes nothing.

    A service stands under the first one that it depends on. Exits with 0 when everything runs as
    the present spec asks (Ready), and with 3 when not.
    """
    from baoctl.commands.datacenter.watch import looks_of, show

    try:
        looks = looks_of(**looking)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None
    raise SystemExit(show(datacenter, looks, access, output=output, verbose=verbose))


@datacenter_group.command("get")
@click.argument("identity", metavar="ID")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
@reaches_api_server
def datacenter_get_command(
    identity: str, output: Literal["text", "json"], *, access: Access
) -> None:
    """Show the datacenter or the service that ID names: its UID, or its name. Changes nothing.

    The id of an audit record is that of a service. Exits with 0 when the datacenter is Ready, or
    the service Running, with 3 when not, and with 5 when nothing has that ID.
    """
    from baoctl.commands.datacenter.get import get

    raise SystemExit(get(identity, access, output=output))


@datacenter_group.command("redeploy")
@click.argument("target", metavar="DC/SERVICE")
@click.option("--token", help="Text of the order; the same text again is none.  [default: now]")
@reaches_api_server
def datacenter_redeploy_command(target: str, token: str | None, *, access: Access) -> None:
    """Have the pods of SERVICE in Datacenter DC replaced, whatever source it comes from.

    Writes an order into spec.redeploy of the Datacenter; the operator carries it out.
    """
    from baoctl.commands.datacenter.redeploy import redeploy

    click.echo(redeploy(target, token, access))
