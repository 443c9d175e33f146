"""The command line of the measurements."""

import sys
from pathlib import Path

import click

from e2e.demo.cli import run_with_screen
from e2e.demo.environment import RigEnvironment
from e2e.demo.install import REPOSITORY
from e2e.demo.screen import Screen
from e2e.measure.session import Options, measure
from e2e.rig import Rig


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--name", default="measure", show_default=True, help="Name of the rig.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of first boots of three servers, each with and without the operator.",
)
@click.option(
    "--quiet",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds to count requests without any change.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "build" / "measure",
    help="Folder for results.json and results.md.  [default: build/measure]",
)
@click.option("--keep", is_flag=True, help="Keep the rig running.")
def main(name: str, runs: int, quiet: float, output: Path, *, keep: bool) -> None:
    """Compare the operator to the same pods without an operator, on a separate rig."""

    def work(screen: Screen) -> None:
        rig = Rig(name, screen.say)
        was_up = rig.exists
        try:
            measure(RigEnvironment(rig), screen, Options(runs, quiet, output))
        finally:
            if not was_up and not keep:
                rig.down()

    sys.exit(run_with_screen(work))
