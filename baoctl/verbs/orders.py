"""The verbs that change a cluster: each writes what a user could write with kubectl.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from baoctl.options import DRY_RUN, YES, Access, Verbs, confirm_name, reaches_cluster


def _order(access: Access, **order: Any) -> None:
    from baoctl.commands.cluster.order import ClusterOrder, carry_out

    click.echo(carry_out(ClusterOrder(**order), access))


def _simple(verb: str, help_text: str, target: str = "cluster") -> click.Command:
    @click.command(verb, help=help_text)
    @click.argument(target)
    @DRY_RUN
    @reaches_cluster
    def command(dry_run: bool, *, access: Access, **named: str) -> None:
        _order(access, verb=verb, dry_run=dry_run, **named)

    return command


_SIMPLE: Final[Mapping[str, str]] = {
    "restart": "Restart the servers of CLUSTER one at a time.",
    "resume": "End the pause of CLUSTER.",
    "wake": "Start the servers of a hibernated CLUSTER.",
}
_OF_PODS: Final[Mapping[str, str]] = {
    "fence": "Stop the server POD and keep it stopped, with its volume. A leader hands over first.",
    "unfence": "Let the server POD start again.",
}
_OF_UPGRADES: Final[Mapping[str, str]] = {
    "retry": "Try again what failed in the upgrade of CLUSTER.",
    "promote": "Let the green servers of CLUSTER that are held take over.",
    "rollback": "Give up the blue/green upgrade of CLUSTER, and go back.",
    "cleanup": "Remove the blue servers of CLUSTER that are held; there is no way back.",
}


_ROTATIONS: Final[Mapping[str, str]] = {
    "ca": "Replace the certificate authority of CLUSTER, with an overlap.",
    "unseal-key": "Replace the static unseal key of CLUSTER, server by server.",
}


def _made(texts: Mapping[str, str], target: str = "cluster") -> tuple[click.Command, ...]:
    return tuple(_simple(verb, text, target) for verb, text in texts.items())


@click.command("pause")
@click.argument("cluster")
@click.option("--for", "period", help="Wait so long, such as 30m, and resume it then.")
@DRY_RUN
@reaches_cluster
def pause_command(cluster: str, period: str | None, dry_run: bool, *, access: Access) -> None:
    """Have the operator change and repair nothing of CLUSTER.

    With --for the command waits and resumes the cluster at the end, also when it is interrupted.
    """
    from baoctl.commands.cluster.pause import pause_for, seconds_of

    if period is None:
        _order(access, verb="pause", cluster=cluster, dry_run=dry_run)
        return
    try:
        seconds = seconds_of(period)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--for") from None
    if dry_run:
        raise click.UsageError("--for waits: not with --dry-run")
    pause_for(cluster, seconds, access, click.echo)


@click.command("hibernate")
@click.argument("cluster")
@DRY_RUN
@YES
@reaches_cluster
def hibernate_command(cluster: str, dry_run: bool, yes: bool, *, access: Access) -> None:
    """Stop every server of CLUSTER, and keep its volumes."""
    if not yes and not dry_run:
        confirm_name(cluster, "Every server stops.")
    _order(access, verb="hibernate", cluster=cluster, dry_run=dry_run)


@click.group("rotate", cls=Verbs)
def rotate_group() -> None:
    """Replace a key that the operator manages, while the servers serve."""


COMMANDS: Final[tuple[click.Command, ...]] = (
    hibernate_command,
    pause_command,
    *_made(_SIMPLE),
    *_made(_OF_PODS, "pod"),
    rotate_group,
)
PROMOTE: Final = _simple("promote", _OF_UPGRADES["promote"])
UPGRADE_COMMANDS: Final[tuple[click.Command, ...]] = _made(_OF_UPGRADES)
for _rotation in _made(_ROTATIONS):
    rotate_group.add_command(_rotation)
