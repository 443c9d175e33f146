"""The command line of the churn."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import click

from e2e.churn.growth import RATIO_MAX, grown
from e2e.churn.session import WARM, Churn, ChurnError, Held, churning
from e2e.demo.table import plain
from e2e.rig import Rig


async def _play(rig: Rig, folder: Path, clusters: int) -> tuple[Churn, Held, Held]:
    async with churning(rig, folder) as churn:
        await churn.through(WARM)
        before = await churn.rest()
        await churn.through(clusters - WARM)
        return churn, before, await churn.rest()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--clusters", type=click.IntRange(WARM + 1), default=500, show_default=True)
def main(clusters: int) -> None:
    """Let clusters of three servers come and go; fail when the operator holds more afterwards."""
    rig = Rig(f"churn-{os.getpid()}")
    rig.up(control_plane=True)
    try:
        with tempfile.TemporaryDirectory() as name:
            churn, before, after = asyncio.run(_play(rig, Path(name), clusters))
    except* ChurnError as group:
        sys.exit(f"failed: {group.exceptions[0]}")
    finally:
        rig.down()
    ratio = after.megabytes / before.megabytes
    more = grown(before.objects, after.objects, clusters - WARM)
    _report(churn, before, after, clusters)
    print(
        plain(
            ("type", "before", "after"),
            [(one.kind, str(one.before), str(one.after)) for one in more],
        )
    )
    if ratio > RATIO_MAX or more:
        sys.exit(f"failed: {ratio:.2f} times the memory, {len(more)} types of objects grew")


def _report(churn: Churn, before: Held, after: Held, clusters: int) -> None:
    seconds = sorted(churn.seconds)
    rows = [
        ("clusters that came and went", str(clusters)),
        ("seconds of one, median", f"{seconds[len(seconds) // 2]:.1f}"),
        (f"resident at rest after {WARM}", f"{before.megabytes:.1f} MB"),
        ("resident at rest after all", f"{after.megabytes:.1f} MB"),
        ("ratio", f"{after.megabytes / before.megabytes:.2f} (at most {RATIO_MAX})"),
        ("resident, highest", f"{churn.most:.1f} MB"),
        ("live objects, before", str(sum(before.objects.values()))),
        ("live objects, after", str(sum(after.objects.values()))),
    ]
    print(f"\n{plain(('what', 'measured'), rows)}\n")
