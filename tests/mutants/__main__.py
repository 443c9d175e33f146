"""The command: python -m tests.mutants --count 300 --seed 19 --only managers/upgrade --workers 2.

Called by `make mutants`. It exits with 0 whatever survives, and with 1 when the copies do not work.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.house.checkout import LAYERS
from tests.mutants import report
from tests.mutants.copies import Copy, MachineryError
from tests.mutants.operators import Mutant, digest, enumerate_mutants
from tests.mutants.runner import Runner
from tests.mutants.selection import Selection
from tests.mutants.verdict import Result

_AIDS = "runtime/testing/"
# The tests that killed are run once more, all of them in one run.
_CHECK_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of the command."""

    count: int
    seed: int
    only: str
    workers: int
    seconds: float
    json: Path | None


def read_settings(arguments: Sequence[str]) -> Settings:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=19, help="of the draw")
    parser.add_argument("--only", default="", help="a folder or a file of the product")
    parser.add_argument("--workers", type=int, default=2, help="how many run in parallel")
    parser.add_argument("--seconds", type=float, default=300.0, help="the limit of one mutant")
    parser.add_argument("--json", type=Path, help="a file for the record")
    return Settings(**vars(parser.parse_args(arguments)))


def product(files: Mapping[str, str]) -> dict[str, str]:
    """The files that may be mutated: the product without what exists for tests."""
    return {
        path: text
        for path, text in files.items()
        if path.partition("/")[0] in LAYERS and not path.startswith(_AIDS)
    }


def sample(mutants: Sequence[Mutant], only: str, count: int, seed: int) -> list[Mutant]:
    """Draw mutants of a folder or a file; equal lists give equal results in the same order."""
    top = only.rstrip("/")
    below = [
        mutant
        for mutant in mutants
        if not top or mutant.path == top or mutant.path.startswith(f"{top}/")
    ]
    return random.Random(seed).sample(below, min(count, len(below)))


def print_line(text: str) -> None:
    """Print at once, also into a file."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def copies(folder: Path, count: int) -> list[Copy]:
    """Make copies, and verify them. Raises MachineryError."""
    copies = [Copy(folder / str(number)) for number in range(count)]
    for copy in copies:
        if copy is copies[0]:
            copy.make()
        else:
            copy.make_from(copies[0])
        copy.verify()
    return copies


def measure(settings: Settings, folder: Path) -> None:
    """Draw mutants, run them, and print the results. Raises MachineryError."""
    made = copies(folder, settings.workers)
    files = made[0].python_files()
    everything = enumerate_mutants(product(files))
    mutants = sample(everything, settings.only, settings.count, settings.seed)
    if not mutants:
        raise MachineryError(f"there are no mutants in {settings.only or 'the product'}")
    head: dict[str, Any] = {
        "enumerated": len(everything),
        "seed": settings.seed,
        "only": settings.only,
        "digest": digest(everything),
    }
    words = ", ".join(f"{name} {value}" for name, value in head.items() if value != "")
    print_line(f"{len(mutants)} mutants, {words}")
    results: list[Result] = []
    select = Selection(files).of
    made[0].verify_collection({test for mutant in mutants for test in select(mutant.path)})
    runner = Runner(made, select, settings.seconds)
    with ExitStack() as stack:
        if settings.json is not None:
            # Also after an interrupt: what was measured until then is worth keeping.
            target = settings.json
            stack.callback(lambda: target.write_text(report.record(head, results)))
        for result in runner.results(mutants):
            results.append(result)
            print_line(report.line(len(results), len(mutants), result))
        results[:] = runner.checked(results, _CHECK_SECONDS)
    print_line(f"\n{report.tables(results)}")


def main() -> None:
    """Run the command."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        try:
            measure(read_settings(sys.argv[1:]), Path(folder))
        except MachineryError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
