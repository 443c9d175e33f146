"""The type of a validation rule.

Uses contracts.api.cluster.spec. The rules about clusters are in contracts.api.rules.cluster and the
modules that it uses, those about backups and restores in contracts.api.rules.backup_object and
contracts.api.rules.restore; contracts.api.schema.crd writes their CEL into the CRDs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import Violation, format_value

InvalidField = tuple[str, Any]
"""A field path, and the value that breaks a rule."""

Kind = TypeVar("Kind")

FindInvalidFieldsOf: TypeAlias = Callable[[Kind, Kind | None], Iterable[InvalidField]]
"""Returns the invalid fields of an object. The second argument is the object before an update; None
on creation, or if it is unknown."""

FindInvalidFields: TypeAlias = FindInvalidFieldsOf[OpenBaoCluster]
Old: TypeAlias = OpenBaoCluster | None
"""A cluster before an update."""

CelReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]
FORBIDDEN: CelReason = "FieldValueForbidden"
REQUIRED: CelReason = "FieldValueRequired"


@dataclass(frozen=True, slots=True)
class RuleOf(Generic[Kind]):
    """One rule in two forms: CEL for the API server, and Python for the operator.

    `at` is the schema node of the CEL rule ("" is the root, "[]" the items of a list), and `field`
    the field of the error. `cel` is empty if CEL cannot express the rule: then only the operator
    checks it. `got` is CEL for the invalid value as a string, or empty. `message` states the
    requirement and what to do; both forms use it.
    """

    id: str
    at: str
    field: str
    message: str
    find_invalid_fields: FindInvalidFieldsOf[Kind]
    cel: str = ""
    got: str = ""
    reason: CelReason = "FieldValueInvalid"

    def field_path(self) -> str:
        """Return the field relative to `at`, for fieldPath of a CEL rule; "" if it is `at`.

        Also "" for metadata, whose fields are unknown to the API server in fieldPath.
        """
        rest = self.field.removeprefix(self.at) if self.at else f".{self.field}"
        return "" if rest.startswith(".metadata") else rest


Rule: TypeAlias = RuleOf[OpenBaoCluster]
"""A rule about a cluster."""


def broken_rules(rules: Iterable[RuleOf[Kind]], new: Kind, old: Kind | None) -> Iterator[Violation]:
    """Return the violations of an object, in the order of the rules."""
    for rule in rules:
        for field, value in rule.find_invalid_fields(new, old):
            yield Violation(field, format_value(value), rule.id, rule.message)
