"""Durations in Go's format: 90s, 1h30m, 1.5h.

Uses the standard library. Called by the rules of the API, by managers, and by verbs for their
options.
"""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SECONDS_MAX: Final = 2**63 / 1e9
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|us|ns)")
_LENGTH_MAX: Final = 256


def parse_duration(text: str) -> timedelta:
    """Read a Go duration; raises ValueError if it is invalid, or overflows Go's time.Duration."""
    if text == "0":
        return timedelta(0)
    parts = list(_PART.finditer(text)) if len(text) <= _LENGTH_MAX else []
    if not parts or "".join(part.group() for part in parts) != text:
        raise ValueError(f"not a duration: {text[:40]!r}")
    seconds = sum(float(part[1]) * _UNITS[part[2]] for part in parts)
    if seconds > _SECONDS_MAX:
        raise ValueError(f"a duration of more than 292 years: {text[:40]!r}")
    return timedelta(seconds=seconds)


def counted_duration(text: str) -> timedelta | None:
    """Return the duration; None for one that overflows, which the pattern of the schema accepts."""
    try:
        return parse_duration(text)
    except ValueError:
        return None
