"""A text that no log, message or answer may ever show.

For tokens that are kept in memory. What carries a secret for one call only is an argument.
"""

from __future__ import annotations

from typing import NoReturn

from runtime.redaction import REDACTED


class SensitiveString:
    """Holds a secret; only `reveal` returns it, and nothing prints it by accident.

    Not a dataclass, because JSON encoders serialize the fields of those.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself, for the one call that needs it."""
        return self._text

    def __repr__(self) -> str:
        return REDACTED

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be copied or stored")
