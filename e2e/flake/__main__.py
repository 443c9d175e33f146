"""The command: python -m e2e.flake SCENARIO --runs 10 --loops 2."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from e2e.flake.report import Run, read, table
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY

_BUSY = "while True: pass"
_TEST_SECONDS = 900


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run `count` busy processes during the context."""
    loops = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def run_once(folder: Path, rig: str, report: Path) -> Run:
    """Run the tests of a folder on a rig that stays up; return the failures and the duration."""
    began = time.monotonic()
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", str(folder), f"--junit-xml={report}",
            # Its default family has no properties, which the budgets of scenarios are.
            "-o", "junit_family=xunit1", "--timeout", str(_TEST_SECONDS), "--tb", "short",
        ],
        cwd=REPOSITORY,
        env={**os.environ, "E2E_RIG": rig, "E2E_KEEP": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    return read(report, done.returncode, done.stdout[-3000:], time.monotonic() - began)


def run_all(folder: Path, rig: str, runs: int, loops: int) -> list[Run]:
    """Run a scenario `runs` times under load, and print each result."""
    ended: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="flake-") as reports, busy_loops(loops):
        for number in range(1, runs + 1):
            ended.append(run_once(folder, rig, Path(reports) / f"{number}.xml"))
            click.echo(f"run {number} of {runs}: {ended[-1].summary()}")
            for failure in ended[-1].failures:
                click.echo(f"\n--- {failure.test}\n{failure.text}\n")
    return ended


def folder_of(scenario: str) -> Path:
    """Return the folder of a scenario. Raises click.BadParameter with the existing names."""
    folder = REPOSITORY / "e2e" / scenario.replace("-", "_")
    if not list(folder.glob("test_*.py")):
        known = sorted({path.parent.name for path in (REPOSITORY / "e2e").glob("*/test_*.py")})
        names = ", ".join(name.replace("_", "-") for name in known)
        raise click.BadParameter(f"no scenario {scenario!r}; there are {names}")
    return folder


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--loops", type=click.IntRange(min=0), default=2, show_default=True)
@click.option("--name", default="flake", show_default=True, help="Name of the rig.")
@click.option("--keep", is_flag=True, help="Keep the rig running.")
def main(scenarios: Sequence[str], runs: int, loops: int, name: str, *, keep: bool) -> None:
    """Run scenarios RUNS times each under load; exit with 1 if a run failed."""
    folders = {scenario: folder_of(scenario) for scenario in scenarios}
    try:
        results = {
            scenario: run_all(folder, name, runs, loops) for scenario, folder in folders.items()
        }
    finally:
        if not keep:
            Rig(name).down()
    click.echo(table(results))
    sys.exit(any(run.failures for ended in results.values() for run in ended))


if __name__ == "__main__":
    main()
