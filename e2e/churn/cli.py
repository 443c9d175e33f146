"""The command line of the churn measurement."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from e2e.churn.growth import LARGE_MAX, RATIO_MAX, find_growth
from e2e.churn.session import WARM_UP, ChurnError, run_churn
from e2e.demo.table import plain
from e2e.hostile_tenant import attack
from e2e.rig import Rig

Play = Callable[[Rig, Path, int], Coroutine[Any, Any, list[str]]]
"""Prints the measured values, and returns those over their limit."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure the memory of an operator with many clusters, on a control plane without nodes."""


@main.command()
@click.option(
    "--count",
    type=click.IntRange(WARM_UP + 1),
    default=500,
    show_default=True,
    help="Below some hundreds, objects that are unrelated to clusters are reported as growth.",
)
def gone(count: int) -> None:
    """Create and delete clusters of three servers; fail if the operator holds more afterwards."""
    _measure(_create_and_delete, count)


@main.command()
@click.option("--count", type=click.IntRange(1), default=500, show_default=True)
def large(count: int) -> None:
    """Create clusters of maximum size; fail if a thousand of them need more than 64 MB."""
    _measure(_large, count)


def _measure(play: Play, count: int) -> None:
    rig = Rig(f"churn-{os.getpid()}")
    rig.up(control_plane=True)
    wrong: list[str] = []
    try:
        with tempfile.TemporaryDirectory() as name:
            wrong = asyncio.run(play(rig, Path(name), count))
    except* ChurnError as group:
        wrong = [str(group.exceptions[0])]
    finally:
        rig.down()
    if wrong:
        sys.exit(f"failed: {'; '.join(wrong)}")


async def _create_and_delete(rig: Rig, folder: Path, count: int) -> list[str]:
    async with run_churn(rig, folder) as churn:
        await churn.run(WARM_UP)
        before = await churn.measure_idle()
        await churn.run(count - WARM_UP)
        after = await churn.measure_idle()
    ratio = after.megabytes / before.megabytes
    seconds = sorted(churn.seconds)
    _report(
        ("clusters created and deleted", str(count)),
        ("seconds per cluster, median", f"{seconds[len(seconds) // 2]:.1f}"),
        (f"resident at rest after {WARM_UP}", f"{before.megabytes:.1f} MB"),
        ("resident at rest after all", f"{after.megabytes:.1f} MB"),
        ("ratio", f"{ratio:.2f} (at most {RATIO_MAX})"),
        ("resident, highest", f"{churn.most:.1f} MB"),
        ("live objects, before", str(sum(before.objects.values()))),
        ("live objects, after", str(sum(after.objects.values()))),
    )
    more = find_growth(before.objects, after.objects, count - WARM_UP)
    wrong = [
        f"{kind_growth.before} objects of {kind_growth.kind} became {kind_growth.after}"
        for kind_growth in more
    ]
    return wrong + ([f"{ratio:.2f} times the memory"] if ratio > RATIO_MAX else [])


async def _large(rig: Rig, folder: Path, count: int) -> list[str]:
    async with run_churn(rig, folder) as churn:
        await churn.run(WARM_UP)
        before = await churn.measure_idle()
        await churn.hold_large(count)
        after = churn.operator.resident_megabytes()
    cost, allowed = after - before.megabytes, LARGE_MAX * count / 1000
    _report(
        ("large clusters", f"{count} of {attack.LARGE_BYTES / 1e6:.1f} MB"),
        ("resident without them", f"{before.megabytes:.1f} MB"),
        ("resident with them", f"{after:.1f} MB"),
        ("cost", f"{cost:.1f} MB (at most {allowed:.0f})"),
        ("resident, highest", f"{churn.most:.1f} MB"),
    )
    return [f"they cost {cost:.1f} MB"] if cost > allowed else []


def _report(*rows: tuple[str, str]) -> None:
    print(f"\n{plain(('what', 'measured'), rows)}\n")
