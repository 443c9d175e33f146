"""`kubectl bao` as a user runs it: in a separate process, with the kubeconfig of the rig."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY

_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of a verb, and its exit status."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs verbs as the administrator of a rig."""

    rig: Rig
    kubeconfig: Path | None = None
    """The kubeconfig, if it is not that of the rig."""

    def run(self, *words: str, input: str | None = None, seconds: float = _SECONDS) -> Answer:
        """Run a verb and wait for its exit. Raises TimeoutExpired."""
        done = subprocess.run(
            [sys.executable, "-m", "baoctl", *words],
            cwd=REPOSITORY,
            env={**self._environment(), "NO_COLOR": "1", "COLUMNS": "100"},
            input=input,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def _environment(self) -> dict[str, str]:
        chosen = {"KUBECONFIG": str(self.kubeconfig)} if self.kubeconfig else {}
        return {**self.rig.environment(), **chosen}

    def json(self, *words: str) -> Any:
        """Run a verb with `-o json`, and return the parsed output; fails without output."""
        answer = self.run(*words, "-o", "json")
        assert answer.out, answer.err
        return orjson.loads(answer.out)
