"""A private copy of the working tree, in which mutants are written and tests are run.

Uses the standard library, runtime.clock and the list of files of tests.house.checkout. Called by
the runner. The virtual environment is the one of the checkout, whose editable installation points
at the checkout: PYTHONPATH puts the copy before it, and `verify` shows that it does.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.clock import SystemClock
from tests.house.checkout import ROOT, files
from tests.mutants.failure_plugin import VARIABLE
from tests.mutants.operators import Mutant, apply_mutant
from tests.mutants.verdict import Failure, Run

SMOKE_TESTS = (
    "tests/contracts/naming/test_names.py",
    "tests/managers/upgrade/bluegreen/test_table.py",
)
_SMOKE_MODULES = ("contracts/naming/names.py", "managers/upgrade/bluegreen/guards.py")
_SMOKE_SECONDS = 300.0
_MARK = "this module is from the copy"
# A mutant that collects without end must not take the memory of the machine.
_MEMORY = 4 * 2**30
_OUTPUT = 1500


class MachineryError(Exception):
    """The copies do not work; no outcome means anything."""


class Copy:
    """A copy of the tree in a separate folder, with another folder for temporary files."""

    def __init__(self, folder: Path) -> None:
        self._tree = folder / "tree"
        self._temporary = folder / "tmp"
        self._clock = SystemClock()

    def make(self) -> None:
        """Copy all files of the working tree that git does not ignore."""
        self._temporary.mkdir(parents=True)
        for path in files():
            target = self._tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, target, follow_symlinks=False)

    def make_from(self, other: "Copy") -> None:
        """Copy another copy, so that all are equal even if the checkout is edited."""
        self._temporary.mkdir(parents=True)
        shutil.copytree(other._tree, self._tree, symlinks=True)

    def python_files(self) -> dict[str, str]:
        """The Python files by path."""
        return {
            path.relative_to(self._tree).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self._tree.rglob("*.py"))
        }

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Keep a mutant in the tree during the context."""
        text = (self._tree / mutant.path).read_text(encoding="utf-8")
        with self._written(mutant.path, apply_mutant(text, mutant)):
            yield

    @contextmanager
    def _written(self, path: str, text: str) -> Iterator[None]:
        file = self._tree / path
        before = file.read_bytes()
        file.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            file.write_bytes(before)

    def run(self, tests: Iterable[str], seconds: float, *options: str) -> Run:
        """Run tests with additional options of pytest and a timeout."""
        failures, output = self._temporary / "failures.jsonl", self._temporary / "output.txt"
        failures.unlink(missing_ok=True)
        # Hypothesis would try what failed with the mutant before.
        shutil.rmtree(self._tree / ".hypothesis", ignore_errors=True)
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-p", "tests.mutants.failure_plugin", "--hypothesis-seed=0", "--tb=short",
            *options, *tests,
        ]  # fmt: skip
        began = self._clock.monotonic()
        with output.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=self._tree,
                env=self._environment(failures),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            status = _exit_status(process, seconds)
        return Run(
            status,
            _read(failures),
            self._clock.monotonic() - began,
            output.read_text(encoding="utf-8", errors="replace")[-_OUTPUT:],
        )

    def _environment(self, failures: Path) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if name != "PYTEST_ADDOPTS"}
        return {
            **kept,
            "PYTHONPATH": str(self._tree),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "TMPDIR": str(self._temporary),
            VARIABLE: str(failures),
        }

    def verify(self) -> None:
        """Show that tests pass in the copy, and that they fail once a module of it is broken.

        Raises MachineryError.
        """
        run = self.run(SMOKE_TESTS, _SMOKE_SECONDS)
        if run.status != 0:
            raise MachineryError(f"unmutated tests fail in the copy:\n{run.output}")
        for path, test in zip(_SMOKE_MODULES, SMOKE_TESTS, strict=True):
            text = (self._tree / path).read_text(encoding="utf-8")
            with self._written(path, f"{text}\nraise RuntimeError({_MARK!r})\n"):
                run = self.run([test], _SMOKE_SECONDS)
            if run.status == 0 or _MARK not in run.output:
                raise MachineryError(f"tests of the copy do not import {path} from it")

    def verify_collection(self, tests: Iterable[str]) -> None:
        """Show that pytest can import test files in the copy. Raises MachineryError."""
        run = self.run(sorted(tests), _SMOKE_SECONDS, "--collect-only")
        if run.status != 0:
            raise MachineryError(f"unmutated tests cannot be imported in the copy:\n{run.output}")


def _exit_status(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Wait for the exit status of a process; after the timeout, kill it and its children."""
    try:
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read(failures: Path) -> tuple[Failure, ...]:
    if not failures.exists():
        return ()
    lines = failures.read_text(encoding="utf-8").splitlines()
    return tuple(Failure(**json.loads(line)) for line in lines)
