"""The command line of the measurement."""

import asyncio
import os
import tempfile
from pathlib import Path

import click

from e2e.cluster_fleet.figures import PHASE_COLUMNS, Run, goals, growth, phase_row
from e2e.cluster_fleet.session import measure
from e2e.demo.table import markdown
from e2e.simulation.control_plane import control_plane


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--clusters",
    type=click.IntRange(1, 5000),
    multiple=True,
    default=(300,),
    show_default=True,
    help="Number of clusters; repeatable, to compare sizes.",
)
@click.option(
    "--quiet", type=float, default=60.0, show_default=True, help="Seconds of the phase quiet."
)
def main(clusters: tuple[int, ...], quiet: float) -> None:
    """Measure an operator with many clusters of three servers each."""
    runs = []
    # One network namespace for all runs; each has its own control plane.
    for count in clusters:
        with (
            control_plane(f"fleet-{os.getpid()}") as rig,
            tempfile.TemporaryDirectory() as name,
        ):
            runs.append(asyncio.run(measure(rig, count, quiet, Path(name))))
    report(runs)


def report(runs: list[Run]) -> None:
    """Print the tables."""
    rows = [phase_row(run.clusters, phase) for run in runs for phase in run.phases.values()]
    click.echo(f"\n{markdown(PHASE_COLUMNS, rows)}\n")
    for run in runs:
        lines = [
            (
                goal.what,
                f"{goal.value:.2f} {goal.unit}".strip(),
                f"<= {goal.bound:g} {goal.unit}".strip(),
                "yes" if goal.is_met else "no",
            )
            for goal in goals(run)
        ]
        click.echo(f"{markdown((f'{run.clusters} clusters', 'measured', 'goal', 'met'), lines)}\n")
    if exponents := growth(runs):
        click.echo(markdown(("growth exponent", "requests", "CPU", "seconds"), exponents))
