"""The files of the repository, with Python files parsed once for all rules.

Uses the standard library. Called by the rules and the tests beside it.
"""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("baoctl", "managers", "contracts", "runtime")
PYTHON = (*LAYERS, "release", "tests", "e2e", "examples")


@dataclass(frozen=True, slots=True)
class Source:
    """A text file: its path from the top of the checkout, and its text."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises SyntaxError."""
        return parse(self.text)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the syntax tree. Raises SyntaxError."""
        return walk(self.text)

    @property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.splitlines()


# Unbounded: each rule reads all files, and a smaller cache would drop each before its next use.
@cache
def parse(text: str) -> ast.Module:
    """Parse a Python file."""
    return ast.parse(text)


@cache
def walk(text: str) -> tuple[ast.AST, ...]:
    """Walk a Python file once for all rules."""
    return tuple(ast.walk(parse(text)))


@lru_cache(maxsize=1)
def files() -> tuple[str, ...]:
    """The paths of all files except those that .gitignore names.

    Without git, because a checkout may lack it or belong to another user.
    """
    ignored = (".git", *(ROOT / ".gitignore").read_text(encoding="utf-8").split())
    return tuple(sorted(_walk(ROOT, ignored)))


def _walk(folder: Path, ignored: tuple[str, ...]) -> Iterator[str]:
    for entry in os.scandir(folder):
        path = Path(entry.path)
        where = path.relative_to(ROOT).as_posix()
        if any(_matches(where, pattern) for pattern in ignored):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, ignored)
        else:
            yield where


def _matches(path: str, pattern: str) -> bool:
    name = pattern.strip("/")
    return fnmatch(path if pattern.startswith("/") else path.rpartition("/")[2], name)


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Every text file."""
    results = []
    for path in files():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        results.append(Source(path, text))
    return tuple(results)


def python_sources(*tops: str) -> tuple[Source, ...]:
    """The Python files below the given folders of the top."""
    return tuple(
        source
        for source in sources()
        if source.path.endswith(".py") and source.path.partition("/")[0] in tops
    )
