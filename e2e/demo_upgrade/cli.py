"""The command line of the demo of an upgrade."""

import sys

import click

from e2e.demo.cli import run_with_screen
from e2e.demo.screen import Screen
from e2e.demo_upgrade.steps import run
from e2e.rig import Rig


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--name", envvar="RIG", default="demo", show_default=True, help="Which rig.")
@click.option(
    "--strategy",
    type=click.Choice(("RollingUpdate", "BlueGreen")),
    default="RollingUpdate",
    show_default=True,
    help="One server at a time, or blue/green.",
)
def main(name: str, strategy: str) -> None:
    """Upgrade three servers while a client writes, and draw each step. Needs root.

    It can be run repeatedly: it replaces the cluster of the last run.
    """

    def work(screen: Screen) -> None:
        run(Rig(name, screen.say), screen, strategy)

    sys.exit(run_with_screen(work))
