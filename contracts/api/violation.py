"""A rule that a spec breaks.

Uses the standard library. Created by the rules of contracts.api.rules, and by
contracts.api.api_object for a schema error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_VALUE_MAX = 80


class Explanation(str):
    """Why a value breaks a rule, shown instead of a value that is secret, long or not text."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: the field, its value or an Explanation, the rule, and what to do.

    A message about several fields, which CEL reports at their common parent, starts with the field.
    """

    field: str
    value: str
    rule: str
    message: str

    def __str__(self) -> str:
        text = self.message
        if not text.startswith(f"{self.field} "):
            text = f"{self.field}: {text}"
        if not self.value:
            return text
        got = "" if isinstance(self.value, Explanation) else "got "
        return f"{text} ({got}{self.value})"


class InvalidClusterError(ValueError):
    """The object is not an OpenBaoCluster that this version can read."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("; ".join(map(str, violations)))
        self.violations = tuple(violations)


def format_value(value: Any) -> str:
    """Return the value for a message: shortened, on one line, empty if absent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else repr(value)
    text = "".join(char if char.isprintable() else "?" for char in text)
    if len(text) > _VALUE_MAX:
        text = text[: _VALUE_MAX - 3] + "..."
    return Explanation(text) if isinstance(value, Explanation) else text
