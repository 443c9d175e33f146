"""A string that no log, message or response may ever show.

For tokens that are kept in memory. A secret for a single call is passed as an argument.
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
        """Return the secret, for the call that needs it."""
        return self._text

    def __repr__(self) -> str:
        return REDACTED

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret must not be copied or stored")
