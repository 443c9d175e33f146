"""What a broken rule of the schema says to a person, instead of what the library says.

Uses the standard library. Called by contracts.api.api_object.
"""

from collections.abc import Mapping
from typing import Any, Final

_PATTERNS: Final[tuple[tuple[str, str], ...]] = (
    ("^v?(0|[1-9]", "must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2"),
    ("^([0-9]+(\\.[0-9]+)?(h|m", "must be a duration of h, m and s, as in 1h30m"),
    ("^[0-9]+(\\.[0-9]+)?([KMGTPE]i", "must be a quantity of Kubernetes, as in 10Gi or 500m"),
    ("^[a-z0-9]([-a-z0-9", "must be of a-z, 0-9 and -, and neither begin nor end with -"),
    ("^[a-z]([-a-z0-9]", "must be of a-z, 0-9 and -, begin with a letter, and not end with -"),
    ("^https://", "must be an address that begins with https://"),
    ("^[0-9A-Za-z*/,?-]+( ", "must be a schedule of five fields, as in 0 3 * * *"),
    ("^/", "must be a path that begins with /"),
)
"""How a pattern begins, and what it means."""
_ANY_PATTERN: Final = "has characters, or a form, that the field does not take"
_RULES: Final[Mapping[str, str]] = {
    "missing": "is required: set it",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be a text; put it between quotes",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of keys to values",
    "mapping_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}
"""By the type of an error of pydantic; in braces what is in its context."""


def rule_of(error: Mapping[str, Any]) -> str:
    """Return the rule that one error of pydantic reports, in the words of our messages."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        return next(
            (words for start, words in _PATTERNS if pattern.startswith(start)), _ANY_PATTERN
        )
    rule = _RULES.get(kind)
    if rule is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return rule.format_map(context)
