"""The base model of the kinds of this API, which reads an object of the API server.

Uses contracts.api.meta and contracts.api.schema_words.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from contracts.api.meta import ApiModel
from contracts.api.oversize import oversize
from contracts.api.schema_words import rule_of
from contracts.api.violation import InvalidClusterError, Violation, format_value
from runtime.limits.nesting import too_many


class ApiObject(ApiModel):
    """The model of one kind."""

    invalid: ClassVar[type[InvalidClusterError]] = InvalidClusterError
    values_max: ClassVar[int | None] = None
    """The largest number of values in a spec; None if the schema bounds it."""

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], context: Any = None) -> Self:
        """Read an object of the API server; raises `invalid` with a Violation per field."""
        violation = oversize(obj) or cls.size_violation(obj.get("spec"))
        if violation is not None:
            raise cls.invalid([violation])
        try:
            return cls.model_validate(obj, context=context)
        except ValidationError as error:
            raise cls.invalid(schema_violations(error)) from None

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Self:
        """Read an object that a user wrote; raises `invalid` with a Violation per field.

        Also for a text in the place of a number or a boolean: the API server rejects it, and
        `from_object` converts it.
        """
        read = cls.from_object(manifest)
        try:
            cls.model_validate_json(json.dumps(manifest, default=str), strict=True)
        except ValidationError as error:
            violations = [*_type_violations(error)]
            if violations:
                raise cls.invalid(violations) from None
        return read

    @classmethod
    def size_violation(cls, spec: Any) -> Violation | None:
        """Return the violation of a spec with too many values; None if it can be read."""
        if cls.values_max is None or not too_many(spec, cls.values_max):
            return None
        return Violation("spec", "", "size", f"must hold at most {cls.values_max} values")


def schema_violations(error: ValidationError, prefix: str = "") -> list[Violation]:
    """Return a violation for each error of pydantic."""
    return [
        Violation(
            prefix + _path(part["loc"]),
            "" if part["type"] == "missing" else format_value(part["input"]),
            "schema",
            rule_of(part),
        )
        for part in error.errors()
    ]


def _type_violations(error: ValidationError) -> Iterator[Violation]:
    """Yield a violation for each value of another type; the API server accepts 3.0 as a number."""
    for part, violation in zip(error.errors(), schema_violations(error), strict=True):
        if isinstance(part["input"], str):
            yield replace(violation, message=f"{violation.message}; remove the quotes")
        elif not isinstance(part["input"], float):
            yield violation


def _path(steps: tuple[int | str, ...]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
