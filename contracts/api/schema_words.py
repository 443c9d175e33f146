"""The messages of broken schema rules, which replace those of pydantic.

Uses the standard library. Called by contracts.api.api_object.
"""

from collections.abc import Mapping
from typing import Any, Final

_VERSION: Final = "must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2"
_PATTERNS: Final[tuple[tuple[str, str], ...]] = (
    ("^v?(0|[1-9]", _VERSION),
    ("^([0-9]+(\\.[0-9]+)?(h|m", "must be a duration of h, m and s, as in 1h30m"),
    ("^[0-9]+(\\.[0-9]+)?([KMGTPE]i", "must be a Kubernetes quantity, as in 10Gi or 500m"),
    ("^[a-z0-9]([-a-z0-9", "must contain only a-z, 0-9 and -, and not begin or end with -"),
    (
        "^[a-z]([-a-z0-9]",
        "must contain only a-z, 0-9 and -, begin with a letter, and not end with -",
    ),
    ("^https://", "must be a URL that begins with https://"),
    ("^[0-9A-Za-z*/,?-]+( ", "must be a cron schedule of five fields, as in 0 3 * * *"),
    ("^/", "must be a path that begins with /"),
)
"""The beginning of a pattern, and its message."""
_ANY_PATTERN: Final = "has characters or a format that the field does not accept"
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
    "string_type": "must be a string; put it between quotes",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of keys to values",
    "mapping_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}
"""Messages by the error type of pydantic; the placeholders are keys of the error's context."""


def rule_of(error: Mapping[str, Any]) -> str:
    """Return the message for one error of pydantic."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        return next(
            (message for start, message in _PATTERNS if pattern.startswith(start)), _ANY_PATTERN
        )
    if kind == "string_too_short" and error["loc"][-2:] == ("spec", "version"):
        # The rule of the pattern, which explains more than the length.
        return _VERSION
    rule = _RULES.get(kind)
    if rule is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return rule.format_map(context)
