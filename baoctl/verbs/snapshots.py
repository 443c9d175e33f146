"""The verbs that take and restore snapshots of a cluster.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click

from baoctl.options import DRY_RUN, YES, Access, confirm_name, output_option, prompt
from baoctl.verbs.access_options import cluster_options, names_of
from baoctl.verbs.cluster_argument import CLUSTER


@click.command("backup")
@CLUSTER
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait for the result.")
@click.option(
    "--timeout", metavar="TIME", default="10m", show_default=True, help="Maximum time to wait."
)
@output_option("text", "json", "yaml")
@cluster_options
def backup_command(cluster: str, wait: bool, timeout: str, output: str, *, access: Access) -> None:
    """Take a snapshot of CLUSTER now.

    Creates an OpenBaoBackup, which uses the store of spec.backup. Exits with 3 if it does not
    finish in time. With -o json or -o yaml it prints the OpenBaoBackup to standard output, and the
    progress to standard error.
    """
    from baoctl.commands.cluster.backup import backup

    seconds = _seconds(timeout)
    raise SystemExit(backup(cluster, access, wait=wait, seconds=seconds, output=output))


@click.command("restore")
@CLUSTER
@click.option(
    "--from",
    "source",
    metavar="NAME",
    shell_complete=names_of("backups"),
    help="OpenBaoBackup to restore.  [default: choose from a list]",
)
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait for the result.")
@click.option(
    "--timeout", metavar="TIME", default="30m", show_default=True, help="Maximum time to wait."
)
@DRY_RUN
@YES
@output_option("text", "json", "yaml")
@cluster_options
def restore_command(
    cluster: str, source: str | None, timeout: str, output: str, *, access: Access, **flags: bool
) -> None:
    """Restore a snapshot into CLUSTER. Data written after the snapshot is lost.

    Shows the consequences, and asks you to type the name of the cluster. Exits with 3 if the
    restore does not finish in time, or if its outcome is unknown.

    With -o json or -o yaml it prints the OpenBaoRestore to standard output, and all other lines to
    standard error.

    An OpenBaoBackup remains after its snapshot is removed: the list marks the snapshots that
    retention may have removed.
    """
    from baoctl.commands.cluster.restore import Prompts, RestoreOptions, restore

    if source is None and flags["yes"]:
        raise click.UsageError("--yes does not ask for a backup; choose one with --from")
    err = output != "text"
    confirm = _skip if flags["yes"] else functools.partial(_confirm, err=err)
    prompts = Prompts(functools.partial(_choose, err=err), confirm)
    seconds = _seconds(timeout)
    options = RestoreOptions(cluster, source, flags["dry_run"], flags["wait"], seconds, output)
    raise SystemExit(restore(options, access, prompts))


def _seconds(timeout: str) -> float:
    from baoctl.commands.cluster.pause import seconds_of

    try:
        return seconds_of(timeout)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None


def _choose(names: Sequence[str], *, err: bool) -> str:
    return str(prompt("Backup", type=click.Choice(names), show_choices=False, err=err))


def _skip(name: str) -> None:
    """Do not ask for confirmation."""


def _confirm(name: str, *, err: bool) -> None:
    confirm_name(name, "The data of the cluster is replaced.", err=err)
