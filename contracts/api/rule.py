"""The shape of a rule about an OpenBaoCluster.

Uses contracts.api.cluster. The rules themselves are in contracts.api.rules and its neighbours;
contracts.api.schema turns them into CEL.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from contracts.api.cluster import OpenBaoCluster

Offence = tuple[str, Any]
"""A field path and the value there that breaks a rule."""

Broken = Callable[[OpenBaoCluster, OpenBaoCluster | None], Iterable[Offence]]
"""The offences of a cluster; the second argument is the object before an update, None on creation
and whenever nobody knows it."""

CelReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


def either(path: str, default: str, of: str = "self") -> str:
    """CEL for an optional field, or a default where any part of the path is absent.

    Spelled with has(), because the cost estimate of the API server forgets the bounds of what goes
    through CEL's own optional values, and then refuses the rule.
    """
    steps = path.split(".")
    known = " && ".join(f"has({of}.{'.'.join(steps[:end])})" for end in range(1, len(steps) + 1))
    return f"({known} ? {of}.{path} : {default})"


def is_set(path: str, of: str = "self") -> str:
    """CEL for whether an optional field is there."""
    steps = path.split(".")
    parts = (f"has({of}.{'.'.join(steps[:end])})" for end in range(1, len(steps) + 1))
    return f"({' && '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, said twice: for the API server in CEL and for the operator in Python.

    `at` is the schema node that the CEL text belongs to ("" is the root, "[]" goes into the items
    of a list) and `field` the field that it complains about. `cel` is empty when CEL cannot say
    it: then only the operator checks. `got` is CEL for the offending value as a string, or empty.
    `message` says what must hold and what to do, and is used by both sides.
    """

    id: str
    at: str
    field: str
    message: str
    broken: Broken
    cel: str = ""
    got: str = ""
    reason: CelReason = "FieldValueInvalid"

    def field_path(self) -> str:
        """The field relative to `at`, as fieldPath of a CEL rule wants it; "" if it is `at`.

        Also "" for metadata, whose fields the API server takes for unknown in a rule.
        """
        rest = self.field.removeprefix(self.at) if self.at else f".{self.field}"
        return "" if rest.startswith(".metadata") else rest
