"""The command line of the demo of backup and restore."""

import sys
import tempfile
from pathlib import Path

import click

from e2e.demo.cli import run_with_screen
from e2e.demo.screen import Screen
from e2e.demo_backup.steps import run
from e2e.rig import Rig


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--name", envvar="RIG", default="demo", show_default=True, help="Which rig.")
def main(name: str) -> None:
    """Write, back up, destroy the data, restore, and read back, with times. Needs root.

    It can be run repeatedly: it replaces the cluster of the last run.
    """

    def work(screen: Screen) -> None:
        with tempfile.TemporaryDirectory(prefix="openbao-demo-store-") as folder:
            run(Rig(name, screen.say), screen, Path(folder))

    sys.exit(run_with_screen(work))
