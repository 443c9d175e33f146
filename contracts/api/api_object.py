"""A kind of this API, as the API server keeps it: how an object is read.

Uses contracts.api.meta and contracts.api.schema_words. The base of the model of each kind.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from contracts.api.meta import ApiModel
from contracts.api.oversize import oversize
from contracts.api.schema_words import rule_of
from contracts.api.violation import InvalidClusterError, Violation, shown
from runtime.limits.nesting import too_many


class ApiObject(ApiModel):
    """The model of one kind."""

    invalid: ClassVar[type[InvalidClusterError]] = InvalidClusterError
    values_max: ClassVar[int | None] = None
    """How many values the spec may hold; None: the schema bounds them."""

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], context: Any = None) -> Self:
        """Read an object of the API server; raises `invalid` with a Violation per field."""
        broken = oversize(obj) or cls.unwieldy(obj.get("spec"))
        if broken is not None:
            raise cls.invalid([broken])
        try:
            return cls.model_validate(obj, context=context)
        except ValidationError as error:
            raise cls.invalid(schema_violations(error)) from None

    @classmethod
    def unwieldy(cls, spec: Any) -> Violation | None:
        """Return the bound that a spec breaks before it is read; None when it may be read."""
        if cls.values_max is None or not too_many(spec, cls.values_max):
            return None
        return Violation("spec", "", "size", f"must hold at most {cls.values_max} values")


def schema_violations(error: ValidationError, prefix: str = "") -> list[Violation]:
    """Name each field that could not be read."""
    return [
        Violation(
            prefix + _path(part["loc"]),
            "" if part["type"] == "missing" else shown(part["input"]),
            "schema",
            rule_of(part),
        )
        for part in error.errors()
    ]


def _path(steps: tuple[int | str, ...]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
