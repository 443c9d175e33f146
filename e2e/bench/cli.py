"""The command line of the benchmark."""

import asyncio
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from e2e.bench import report
from e2e.bench.environment import Environment, prepare
from e2e.bench.load import administrator
from e2e.bench.program import BenchError, Program
from e2e.bench.report import Machine, Row
from e2e.bench.session import PARTS, Session, Sizes
from e2e.rig import Rig
from e2e.rig.errors import RigError
from e2e.rig.paths import REPOSITORY, TOOLS
from e2e.rig.versions import KUBERNETES


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--name", default="bench", show_default=True, help="Name of the rig.")
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--objects",
    type=click.IntRange(min=1),
    multiple=True,
    default=(10_000,),
    show_default=True,
    help="Number of objects to sync; repeatable. 50000 take some minutes longer.",
)
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Parts; repeatable.  [all]")
@click.option("--scale", type=float, default=1.0, help="Factor for all sizes, for a quick run.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "build" / "bench",
    help="Folder for results.json and results.md.  [default: build/bench]",
)
@click.option("--keep", is_flag=True, help="Keep the rig running.")
def main(  # noqa: PLR0913  the options
    name: str,
    runs: int,
    objects: tuple[int, ...],
    only: tuple[str, ...],
    scale: float,
    output: Path,
    *,
    keep: bool,
) -> None:
    """Compare the runtime to a Go program on controller-runtime, on a separate rig."""
    rig = Rig(name)
    was_up = rig.exists
    load_before = os.getloadavg()[0]
    try:
        environment = prepare(rig, output / "account")
        rows = asyncio.run(_measure(environment, Sizes(runs, objects, scale, only or PARTS)))
    except (BenchError, RigError, TimeoutError) as error:
        sys.exit(f"failed: {error}")
    finally:
        if not was_up and not keep:
            rig.down()
    _write(_machine(runs, (load_before, os.getloadavg()[0])), rows, output)
    if over := [row.what for row in rows if not row.is_within_budget]:
        sys.exit(f"over budget: {', '.join(over)}")


async def _measure(environment: Environment, sizes: Sizes) -> list[Row]:
    ours, theirs = Program("ours", environment.ours), Program("theirs", environment.theirs)
    async with administrator(environment.rig) as load:
        return await Session(ours, theirs, load, sizes, environment.rig.progress).everything()


def _machine(runs: int, load: tuple[float, float]) -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    module = (TOOLS / "bench" / "go.mod").read_text()
    version = re.search(r"sigs\.k8s\.io/controller-runtime (\S+)", module)
    return Machine(
        when=datetime.now(UTC).date().isoformat(),
        cores=os.cpu_count() or 0,
        memory_gib=pages / 2**30,
        kubernetes=KUBERNETES,
        controller_runtime=version[1] if version else "?",
        runs=runs,
        load=load,
    )


def _write(machine: Machine, rows: list[Row], folder: Path) -> None:
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    (folder / "results.json").write_bytes(
        orjson.dumps(report.as_json(machine, rows), option=options)
    )
    (folder / "results.md").write_text(report.markdown(machine, rows))
    print(f"\n{report.headline(machine)}\n\n{report.plain(rows)}\n")
    print(f"  {folder}/results.json and results.md")
