"""What a rule about single files is: a check, where it holds, and examples of both kinds.

Called by the modules with rules; `test_files.py` runs them all.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest

from tests.house.checkout import Source

Check = Callable[[Source], Iterator[str]]
"""Yields one sentence per violation, without the path of the file."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    `broken` are files of which each must be reported, `kept` look alike and must not be: a rule
    that cannot fail would guard nothing.
    """

    name: str
    check: Check
    holds_in: Callable[[str], bool]
    broken: tuple[Source, ...]
    kept: tuple[Source, ...] = ()

    def violations(self, source: Source) -> list[str]:
        """What is wrong in a file, each with the path."""
        if not self.holds_in(source.path):
            return []
        return [f"{source.path}: {sentence}" for sentence in self.check(source)]


def below(*tops: str, suffix: str = ".py") -> Callable[[str], bool]:
    """Make a test for paths below one of these folders."""
    return lambda path: path.endswith(suffix) and path.startswith(tuple(f"{top}/" for top in tops))


def everywhere(path: str) -> bool:
    """Hold in every file."""
    return bool(path)


def expect_none(violations: Iterable[str], what: str) -> None:
    """Fail with one line per violation, as a person wants to read them."""
    lines = list(violations)
    if lines:
        pytest.fail("\n  ".join([f"{what}:", *lines]), pytrace=False)
