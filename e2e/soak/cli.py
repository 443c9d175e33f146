"""The command line of the soak test."""

import asyncio
import random
import secrets
import sys
from pathlib import Path

import click
import orjson

from e2e.demo import table
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.soak.growth import LIMITS, Sample, judge, plot
from e2e.soak.session import Soak, SoakError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--name", default="soak", show_default=True, help="Which rig.")
@click.option("--minutes", type=click.FloatRange(min=0.2), default=10.0, show_default=True)
@click.option("--every", default=10.0, show_default=True, help="Seconds between two samples.")
@click.option("--seed", type=int, default=None, help="Of faults and churn.  [default: drawn]")
@click.option("--keep", is_flag=True, help="Leave the rig up.")
def main(name: str, minutes: float, every: float, seed: int | None, *, keep: bool) -> None:
    """Run the website example with random faults; fail if usage grows or it does not converge."""
    chosen = secrets.randbits(32) if seed is None else seed
    rig = Rig(name)
    was_up = rig.exists
    folder = REPOSITORY / "build" / "soak"
    rig.progress(f"seed {chosen}")
    try:
        rig.up(control_plane=True)
        soak = Soak(rig, random.Random(chosen), folder, every)  # noqa: S311  faults, not keys
        asyncio.run(soak.run(60.0 * minutes))
        if len(soak.samples) < 4:
            raise SoakError(f"{len(soak.samples)} samples are too few to judge")
    except SoakError as error:
        sys.exit(f"failed with seed {chosen}: {error}")
    finally:
        if not was_up and not keep:
            rig.down()
    _report(soak, folder)
    if grown := [verdict.limit.name for verdict in judge(soak.samples) if verdict.grows]:
        sys.exit(f"failed with seed {chosen}: {', '.join(grown)} grew")


def _report(soak: Soak, folder: Path) -> None:
    samples: list[Sample] = soak.samples
    (folder / "samples.json").write_bytes(orjson.dumps(samples, option=orjson.OPT_INDENT_2))
    faults = ", ".join(f"{name} {count}" for name, count in soak.faults.counts.most_common())
    writes = ", ".join(f"{name} {count}" for name, count in soak.churn.counts.most_common())
    print(
        f"\n  {len(samples)} samples; converged {soak.converged_after:.1f} s after the last fault"
    )
    print(f"  faults: {faults}\n  churn: {writes}\n")
    for limit in LIMITS:
        print(f"  {limit.name:<9} {plot([sample[limit.name] for sample in samples])}")
    rows = [
        (
            verdict.limit.name,
            *(_number(verdict.limit.factor * value) for value in (verdict.lowest, verdict.highest)),
            _number(verdict.limit.factor * verdict.growth),
            _number(verdict.limit.factor * verdict.allowed),
            verdict.limit.unit or "-",
        )
        for verdict in judge(samples)
    ]
    headers = ("second half", "lowest", "highest", "growth", "allowed", "unit")
    print(f"\n{table.plain(headers, rows)}\n")


def _number(value: float) -> str:
    return f"{value:.1f}"
