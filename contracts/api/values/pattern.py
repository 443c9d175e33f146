"""Patterns that mean the same to the API server and to the operator, matched in linear time.

Uses pydantic_core, whose engine is Rust's regex: like the RE2 of CEL it never goes back, so that no
text of a user can make it slow, and its `$` is the end of the text and nothing else. Called by the
rules of contracts.api.
"""

from typing import Any

from pydantic_core import SchemaValidator, core_schema


class Pattern:
    """A pattern, to be found anywhere in a text; anchor it with ^ and $ where it must be all."""

    def __init__(self, text: str) -> None:
        self.text = text
        schema: Any = core_schema.str_schema(pattern=text, strict=True)
        self._validator = SchemaValidator(schema)

    def __str__(self) -> str:
        return self.text

    def found_in(self, text: str) -> bool:
        """Whether some part of the text is of this pattern."""
        return self._validator.isinstance_python(text)

    def cel(self, value: str) -> str:
        """CEL for the same question about a text."""
        return f"{value}.matches(r'{self.text}')"
