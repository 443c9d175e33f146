"""The verbs that look at one cluster, or at all of them.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import click

from baoctl.options import Access, reaches_clusters

OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "wide", "json", "yaml"]),
    default="text",
    show_default=True,
    help="How to print it.",
)


@click.command("status")
@click.argument("cluster", required=False)
@click.option("-w", "--watch", is_flag=True, help="Draw it anew every two seconds.")
@OUTPUT
@reaches_clusters
def status_command(cluster: str | None, watch: bool, output: str, *, access: Access) -> None:
    """Show CLUSTER on one screen, or list all clusters.

    Servers, seal, certificate, backup, operation, and what waits and why. The values are those of
    the status that the operator wrote, and of the pods. Exits with 3 when a cluster is not Ready.
    """
    from baoctl.commands.cluster.show import STRUCTURED, show

    if watch and output in STRUCTURED:
        raise click.UsageError("--watch draws a screen: not with -o json or -o yaml")
    raise SystemExit(show(cluster, access, output=output, watch=watch))


@click.command("doctor")
@click.argument("cluster", required=False)
@click.option(
    "--operator-namespace",
    default="openbao-operator-system",
    show_default=True,
    help="Where the operator runs.",
)
@OUTPUT
@reaches_clusters
def doctor_command(
    cluster: str | None, operator_namespace: str, output: str, *, access: Access
) -> None:
    """Find out what is wrong with CLUSTER, or with all clusters, the cause first.

    Each finding comes with its next command. Works while the operator is down, and says what it
    may not read. Changes nothing. Exits with 3 when something is wrong.
    """
    from baoctl.commands.cluster.doctor import doctor

    raise SystemExit(doctor(cluster, access, output=output, operator_namespace=operator_namespace))
