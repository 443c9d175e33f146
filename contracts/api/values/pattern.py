"""Regular expressions with the same result in the API server and in the operator.

Uses pydantic_core, whose engine is Rust's regex: like the RE2 of CEL it takes linear time for any
text of a user, and its `$` matches only the end of the text. Called by the rules of contracts.api.
"""

from typing import Any

from pydantic_core import SchemaValidator, core_schema


class Pattern:
    """A pattern that matches anywhere in a text; anchor it with ^ and $ to match the whole text."""

    def __init__(self, text: str) -> None:
        self.text = text
        schema: Any = core_schema.str_schema(pattern=text, strict=True)
        self._validator = SchemaValidator(schema)

    def __str__(self) -> str:
        return self.text

    def found_in(self, text: str) -> bool:
        """Return whether some part of the text matches the pattern."""
        return self._validator.isinstance_python(text)

    def cel(self, value: str) -> str:
        """Return CEL for `found_in`; `value` is CEL too."""
        return f"{value}.matches(r'{self.text}')"
