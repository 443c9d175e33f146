"""The verbs that change the spec of a cluster. Each sends a patch that kubectl could send.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from baoctl.options import DRY_RUN, YES, Access, Verbs, confirm_name
from baoctl.verbs.access_options import cluster_options, names_of
from baoctl.verbs.cluster_argument import CLUSTER, IS_NAME


def _edit(access: Access, confirm: Callable[[str], None] | None = None, **request: Any) -> None:
    from baoctl.commands.cluster.patch import EditRequest, edit_cluster

    click.echo(edit_cluster(EditRequest(**request), access, confirm))


_TARGETS: Final = {
    "fence": click.argument("pod", callback=IS_NAME, shell_complete=names_of("servers")),
    "unfence": click.argument("pod", callback=IS_NAME, shell_complete=names_of("fenced pods")),
}
"""The arguments of the verbs that take a pod instead of a cluster."""


def _edit_command(verb: str, help_text: str) -> click.Command:
    @click.command(verb, help=help_text)
    @_TARGETS.get(verb, CLUSTER)
    @DRY_RUN
    @cluster_options
    def command(dry_run: bool, *, access: Access, **target: Any) -> None:
        _edit(access, verb=verb, dry_run=dry_run, **target)

    return command


def _command_with_confirmation(verb: str, help_text: str, consequence: str) -> click.Command:
    @click.command(verb, help=help_text)
    @CLUSTER
    @DRY_RUN
    @YES
    @cluster_options
    def command(cluster: str, dry_run: bool, yes: bool, *, access: Access) -> None:
        confirm = None if yes else functools.partial(confirm_name, consequence=consequence)
        _edit(access, confirm, verb=verb, cluster=cluster, dry_run=dry_run)

    return command


_CLUSTER_TEXTS: Final[Mapping[str, str]] = {
    "restart": "Restart the servers of CLUSTER one at a time.",
    "resume": "Resume the paused CLUSTER.",
    "wake": "Start the servers of a hibernated CLUSTER.",
}
_POD_TEXTS: Final[Mapping[str, str]] = {
    "fence": (
        "Stop the server in POD, and keep it stopped. A leader steps down first. The volume stays. "
        "kubectl bao unfence starts the server again."
    ),
    "unfence": "Start the server in a fenced POD again.",
}
_UPGRADE_TEXTS: Final[Mapping[str, str]] = {
    "retry": "Retry the failed step of the upgrade of CLUSTER.",
    "promote": (
        "Promote the green servers of CLUSTER. This approves a blue/green upgrade that waits for "
        "approval."
    ),
    "rollback": "Roll back the blue/green upgrade of CLUSTER.",
}
_HIBERNATE_TEXT: Final = (
    "Stop all servers of CLUSTER, and keep their volumes.\n\nAsks you to type the name of the "
    "cluster. kubectl bao wake starts the servers again."
)
_CLEANUP_TEXT: Final = (
    "Delete the blue servers of CLUSTER after an upgrade. This cannot be undone.\n\nAsks you to "
    "type the name of the cluster. A rollback is possible until then."
)


_ROTATION_TEXTS: Final[Mapping[str, str]] = {
    "ca": (
        "Rotate the CA of CLUSTER. The operator creates a second CA, which replaces the first "
        "after two overlaps (spec.tls.caOverlap)."
    ),
    "unseal-key": (
        "Rotate the static unseal key of CLUSTER. Restarts the servers three times, one at a time."
    ),
}


def _commands(texts: Mapping[str, str]) -> tuple[click.Command, ...]:
    return tuple(_edit_command(verb, text) for verb, text in texts.items())


@click.command("pause")
@CLUSTER
@click.option(
    "--for", "duration", metavar="TIME", help="Resume CLUSTER after this time, for example 30m."
)
@DRY_RUN
@cluster_options
def pause_command(cluster: str, duration: str | None, dry_run: bool, *, access: Access) -> None:
    """Pause CLUSTER: the operator makes no changes and no repairs.

    kubectl bao resume ends the pause. With --for, this command waits, and resumes the cluster after
    that time or after Ctrl-C.
    """
    from baoctl.commands.cluster.pause import pause_for, seconds_of

    if duration is None:
        _edit(access, verb="pause", cluster=cluster, dry_run=dry_run)
        return
    try:
        seconds = seconds_of(duration)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--for") from None
    if dry_run:
        raise click.UsageError("--for cannot be combined with --dry-run")
    pause_for(cluster, seconds, access, click.echo)


@click.command("start")
@CLUSTER
@click.option(
    "--to", "version", required=True, metavar="VERSION", help="Target version of OpenBao."
)
@DRY_RUN
@cluster_options
def upgrade_start_command(cluster: str, version: str, dry_run: bool, *, access: Access) -> None:
    """Start an upgrade of CLUSTER: write spec.version.

    Preview it with kubectl bao upgrade plan, and follow it with kubectl bao status --watch. If the
    manifest of CLUSTER is in a repository, change the version there too.
    """
    from baoctl.commands.upgrade.live_objects import VERSION, is_version

    if not is_version(version):
        raise click.BadParameter(f"{version[:80]!r}: {VERSION}", param_hint="--to")
    _edit(access, verb="start", cluster=cluster, version=version, dry_run=dry_run)


@click.group("rotate", cls=Verbs)
def rotate_group() -> None:
    """Rotate the CA or the unseal key of a cluster. The cluster stays available."""


COMMANDS: Final[tuple[click.Command, ...]] = (
    _command_with_confirmation("hibernate", _HIBERNATE_TEXT, "All servers stop."),
    pause_command,
    *_commands(_CLUSTER_TEXTS),
    *_commands(_POD_TEXTS),
    rotate_group,
)
PROMOTE: Final = _edit_command("promote", _UPGRADE_TEXTS["promote"])
UPGRADE_COMMANDS: Final[tuple[click.Command, ...]] = (
    upgrade_start_command,
    *_commands(_UPGRADE_TEXTS),
    _command_with_confirmation(
        "cleanup", _CLEANUP_TEXT, "The blue servers are deleted, and a rollback becomes impossible."
    ),
)
for _rotation in _commands(_ROTATION_TEXTS):
    rotate_group.add_command(_rotation)
