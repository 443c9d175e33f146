"""Prints how long each verb of `baoctl` takes to start, as Markdown for docs/performance.md.

The kubeconfig has a server that refuses connections, so a verb that needs the API server ends with
its first request. Other verbs run completely. Needs no rig.
"""

import base64
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import orjson

from baoctl.cli import main
from baoctl.exit_codes import ExitCode
from e2e.demo import table
from e2e.harness import certificates
from e2e.harness.waiting import Stopwatch
from e2e.rig.paths import REPOSITORY

GOAL: Final = 0.3
"""The most seconds that a verb may take to start."""
SAMPLE: Final = "config/samples/quickstart.yaml"
ARGUMENTS: Final[Mapping[str, str]] = {
    "completion": "bash",
    "datacenter redeploy": "x/y",
    "hibernate": "x --yes",
    "migrate": f"-f {SAMPLE}",
    "plan": f"-f {SAMPLE}",
    "render": f"-f {SAMPLE}",
    "upgrade cleanup": "x --yes",
    "upgrade start": "x --to 2.7.2",
    "upgrade plan": "--cluster x --to 2.7.2",
}
"""Arguments of the verbs that do not accept one `x` per required argument."""
_ENDED: Final = frozenset({ExitCode.GOOD, ExitCode.NO_ACCESS})


def verbs(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every verb that runs a command, with its full name; includes hidden verbs."""
    for name, verb in group.commands.items():
        words = (*above, name)
        if isinstance(verb, click.Group):
            yield from verbs(verb, *words)
        else:
            yield " ".join(words), verb


def arguments(words: str, verb: click.Command) -> list[str]:
    """Return the arguments to call a verb with."""
    if words in ARGUMENTS:
        return ARGUMENTS[words].split()
    return ["x" for param in verb.params if isinstance(param, click.Argument) and param.required]


def seconds(argv: Sequence[str], kubeconfig: Path) -> tuple[float, float]:
    """Run `baoctl` once; return the elapsed seconds, and those of the processor."""
    before, watch = _cpu_seconds(), Stopwatch()
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", *argv],
        cwd=REPOSITORY,
        # Modules are compiled once, as by an installation.
        env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    took = watch.seconds
    if done.returncode not in _ENDED:
        raise SystemExit(f"{argv} ended with {done.returncode}: {done.stderr.decode()}")
    return took, _cpu_seconds() - before


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def unreachable_kubeconfig(folder: Path) -> Path:
    """Write a kubeconfig whose API server refuses connections; as usual it contains a CA."""
    name = {"name": "unreachable"}
    authority = base64.b64encode(certificates.authority("unreachable").pem).decode()
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "unreachable",
        "clusters": [{**name, "cluster": cluster}],
        "users": [{**name, "user": {"token": "x"}}],
        "contexts": [{**name, "context": {"cluster": "unreachable", "user": "unreachable"}}],
    }
    path = folder / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    return path


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True)
def start_up(runs: int) -> None:
    """Print the table; each value is the median of some runs."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = unreachable_kubeconfig(Path(folder))
        for words, verb in verbs(main):
            if verb.hidden:
                continue
            called = [*words.split(), *arguments(words, verb)]
            helped = [seconds([*words.split(), "--help"], kubeconfig) for _ in range(runs)]
            durations = [seconds(called, kubeconfig) for _ in range(runs)]
            values = (
                *map(_median, zip(*helped, strict=True)),
                *map(_median, zip(*durations, strict=True)),
            )
            cells = [f"{value:.2f}" for value in values]
            rows.append((f"`{words}`", *cells, "yes" if values[-1] <= GOAL else "no"))
    heads = ("verb", "--help, clock", "processor", "call, clock", "processor", f"<= {GOAL} s")
    click.echo(table.markdown(heads, rows))


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    start_up()
