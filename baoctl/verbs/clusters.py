"""The verbs that read one cluster, or all of them.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import click

from baoctl import variables
from baoctl.options import Access, fits, output_option
from baoctl.verbs.access_options import cluster_list_options, cluster_options, names_of
from baoctl.verbs.cluster_argument import CLUSTER, OPTIONAL_CLUSTER
from contracts.naming.installation import NAMESPACE

OUTPUT = output_option("text", "wide", "json", "yaml")


@click.command("status")
@OPTIONAL_CLUSTER
@click.option("-w", "--watch", is_flag=True, help="Refresh every two seconds.")
@OUTPUT
@cluster_list_options
def status_command(cluster: str | None, watch: bool, output: str, *, access: Access) -> None:
    """Show the status of CLUSTER, or list all clusters.

    Shows servers, seal, certificate, backup, operation, and the conditions that are not met. The
    values are from the status of the cluster and from its pods. Without CLUSTER it lists the
    clusters of the namespace, or of all namespaces with -A. Exits with 3 if a cluster is not Ready.
    """
    from baoctl.commands.cluster.show import show
    from baoctl.commands.cluster.terminal import STRUCTURED

    _expect_one_namespace(cluster, access)
    if watch and output in STRUCTURED:
        raise click.UsageError("--watch cannot be combined with -o json or -o yaml")
    raise SystemExit(show(cluster, access, output=output, watch=watch))


OPERATOR_NAMESPACE = click.option(
    "--operator-namespace",
    default=NAMESPACE,
    show_default=True,
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    shell_complete=names_of("namespaces"),
    help="Namespace of the operator.",
)


@click.command("doctor")
@OPTIONAL_CLUSTER
@OPERATOR_NAMESPACE
@OUTPUT
@cluster_list_options
def doctor_command(
    cluster: str | None, operator_namespace: str, output: str, *, access: Access
) -> None:
    """Diagnose CLUSTER: list its problems, the likely cause first.

    Without CLUSTER it examines all clusters of the namespace. Prints the next command for each
    problem, and the rights that you lack. Works while the operator is down. Changes nothing. Exits
    with 3 if there is a problem.
    """
    from baoctl.commands.cluster.doctor import doctor

    _expect_one_namespace(cluster, access)
    raise SystemExit(doctor(cluster, access, output=output, operator_namespace=operator_namespace))


def _expect_one_namespace(cluster: str | None, access: Access) -> None:
    if cluster is not None and access.all_namespaces:
        raise click.UsageError("CLUSTER and -A are mutually exclusive; use -n for its namespace")


@click.command("events")
@CLUSTER
@OUTPUT
@cluster_options
def events_command(cluster: str, output: str, *, access: Access) -> None:
    """List the events of CLUSTER and its objects, the newest last."""
    from baoctl.commands.cluster.events import events

    raise SystemExit(events(cluster, access, output=output))


@click.command("tree")
@CLUSTER
@OUTPUT
@cluster_options
def tree_command(cluster: str, output: str, *, access: Access) -> None:
    """Show the objects of CLUSTER, each below its owner."""
    from baoctl.commands.cluster.tree import tree

    raise SystemExit(tree(cluster, access, output=output))


@click.command("version")
@click.option("--client", "client_only", is_flag=True, help="Show only the version of this client.")
@output_option("text", "json", "yaml")
@OPERATOR_NAMESPACE
@cluster_list_options
def version_command(
    client_only: bool, output: str, operator_namespace: str, *, access: Access
) -> None:
    """Show the versions of client, operator and servers.

    Reports a skew if the minor versions of client and operator differ.
    """
    from baoctl.commands.cluster.versions import versions

    text = versions(
        access, client_only=client_only, output=output, operator_namespace=operator_namespace
    )
    click.echo(text, nl=False)
