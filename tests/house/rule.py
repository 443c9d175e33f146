"""A rule about single files: a check, the paths to which it applies, and examples of both kinds.

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

    Each file of `invalid` must be reported, and none of `valid`, which are similar: a rule that
    cannot fail proves nothing.
    """

    name: str
    check: Check
    holds_in: Callable[[str], bool]
    invalid: tuple[Source, ...]
    valid: tuple[Source, ...] = ()

    def violations(self, source: Source) -> list[str]:
        """The violations in a file, each with the path."""
        if not self.holds_in(source.path):
            return []
        return [f"{source.path}: {sentence}" for sentence in self.check(source)]


def below(*tops: str, suffix: str = ".py") -> Callable[[str], bool]:
    """Make a test for paths below one of these folders."""
    return lambda path: path.endswith(suffix) and path.startswith(tuple(f"{top}/" for top in tops))


def everywhere(path: str) -> bool:
    """Apply to every file."""
    return bool(path)


def expect_none(violations: Iterable[str], what: str) -> None:
    """Fail with one line per violation."""
    lines = list(violations)
    if lines:
        pytest.fail("\n  ".join([f"{what}:", *lines]), pytrace=False)
