"""Regular expressions with the same result in the API server and in the operator.

Uses pydantic_core, whose engine is Rust's regex: like the RE2 of CEL it takes linear time for any
text of a user, and its `$` matches only the end of the text. Called by the rules of contracts.api.
"""

from functools import cached_property
from typing import Any

from pydantic_core import SchemaValidator, core_schema


class Pattern:
    """A pattern that matches anywhere in a text; anchor it with ^ and $ to match the whole text.

    It is compiled at its first use, because a spec needs few of the patterns.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def compiled(self) -> SchemaValidator:
        """The compiled pattern. Raises SchemaError if it is invalid."""
        schema: Any = core_schema.str_schema(pattern=self.text, strict=True)
        return SchemaValidator(schema)

    def __str__(self) -> str:
        return self.text

    def found_in(self, text: str) -> bool:
        """Return whether some part of the text matches the pattern."""
        return self.compiled.isinstance_python(text)

    def cel(self, value: str) -> str:
        """Return CEL for `found_in`; `value` is CEL too."""
        return f"{value}.matches(r'{self.text}')"
