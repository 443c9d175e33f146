"""A rule that a spec breaks.

Uses nothing. Created by contracts.api.rules.cluster and contracts.api.cluster.spec.parse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_VALUE_MAX = 80


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: the field, its value, the rule, and what to do."""

    field: str
    value: str
    rule: str
    message: str

    def __str__(self) -> str:
        got = f" (got {self.value})" if self.value else ""
        return f"{self.field}: {self.message}{got}"


class InvalidClusterError(ValueError):
    """The object is not an OpenBaoCluster that this version can read."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("; ".join(map(str, violations)))
        self.violations = tuple(violations)


def format_value(value: Any) -> str:
    """The value for a message: shortened, on one line, empty if absent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else repr(value)
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= _VALUE_MAX else text[: _VALUE_MAX - 3] + "..."
