"""The shape of a rule about an object of ours.

Uses contracts.api.cluster.spec. The rules about clusters are in contracts.api.rules.cluster and its
neighbours, those about backups and restores in contracts.api.rules.backup_object and
contracts.api.rules.restore; contracts.api.schema.crd turns all of them into CEL.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import Violation, shown

Offence = tuple[str, Any]
"""A field path and the value there that breaks a rule."""

Kind = TypeVar("Kind")

BrokenOf: TypeAlias = Callable[[Kind, Kind | None], Iterable[Offence]]
"""The offences of an object; the second argument is the object before an update, None on creation
and whenever it is unknown."""

Broken: TypeAlias = BrokenOf[OpenBaoCluster]
Old: TypeAlias = OpenBaoCluster | None
"""A cluster before an update."""

CelReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]
FORBIDDEN: CelReason = "FieldValueForbidden"
REQUIRED: CelReason = "FieldValueRequired"


@dataclass(frozen=True, slots=True)
class RuleOf(Generic[Kind]):
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
    broken: BrokenOf[Kind]
    cel: str = ""
    got: str = ""
    reason: CelReason = "FieldValueInvalid"

    def field_path(self) -> str:
        """The field relative to `at`, as fieldPath of a CEL rule wants it; "" if it is `at`.

        Also "" for metadata, whose fields the API server takes for unknown in a rule.
        """
        rest = self.field.removeprefix(self.at) if self.at else f".{self.field}"
        return "" if rest.startswith(".metadata") else rest


Rule: TypeAlias = RuleOf[OpenBaoCluster]
"""A rule about a cluster."""


def broken_rules(rules: Iterable[RuleOf[Kind]], new: Kind, old: Kind | None) -> Iterator[Violation]:
    """What is wrong with an object, in the order of the rules."""
    for rule in rules:
        for field, value in rule.broken(new, old):
            yield Violation(field, shown(value), rule.id, rule.message)
