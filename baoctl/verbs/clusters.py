"""The verbs that look at one cluster, or at all of them.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import click

from baoctl.options import Access, reaches_cluster, reaches_clusters

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
    from baoctl.commands.cluster.show import show
    from baoctl.commands.cluster.terminal import STRUCTURED

    if watch and output in STRUCTURED:
        raise click.UsageError("--watch draws a screen: not with -o json or -o yaml")
    raise SystemExit(show(cluster, access, output=output, watch=watch))


OPERATOR_NAMESPACE = click.option(
    "--operator-namespace",
    default="openbao-operator-system",
    show_default=True,
    help="Where the operator runs.",
)


@click.command("doctor")
@click.argument("cluster", required=False)
@OPERATOR_NAMESPACE
@OUTPUT
@reaches_clusters
def doctor_command(
    cluster: str | None, operator_namespace: str, output: str, *, access: Access
) -> None:
    """Find out what is wrong with CLUSTER, the cause first.

    Without a name it looks at all clusters. Each finding comes with its next command. Works while
    the operator is down, and says what it may not read. Changes nothing. Exits with 3 when
    something is wrong.
    """
    from baoctl.commands.cluster.doctor import doctor

    raise SystemExit(doctor(cluster, access, output=output, operator_namespace=operator_namespace))


@click.command("events")
@click.argument("cluster")
@OUTPUT
@reaches_cluster
def events_command(cluster: str, output: str, *, access: Access) -> None:
    """List what happened to CLUSTER and its objects."""
    from baoctl.commands.cluster.events import events

    raise SystemExit(events(cluster, access, output=output))


@click.command("tree")
@click.argument("cluster")
@OUTPUT
@reaches_cluster
def tree_command(cluster: str, output: str, *, access: Access) -> None:
    """Show the objects of CLUSTER, each below its owner."""
    from baoctl.commands.cluster.tree import tree

    raise SystemExit(tree(cluster, access, output=output))


@click.command("version")
@click.option("--client", "client_only", is_flag=True, help="Only that of this client.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text")
@OPERATOR_NAMESPACE
@reaches_clusters
def version_command(
    client_only: bool, output: str, operator_namespace: str, *, access: Access
) -> None:
    """Show the versions of client, operator and servers.

    Names a client and an operator that do not fit.
    """
    from baoctl.commands.cluster.versions import versions

    text = versions(
        access, client_only=client_only, output=output, operator_namespace=operator_namespace
    )
    click.echo(text, nl=False)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion of baoctl for SHELL.

    Put it into the start file of the shell.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"there is no completion for {shell}", ctx)
    program = ctx.find_root().command
    click.echo(made(program, {}, "baoctl", "_BAOCTL_COMPLETE").source())
