"""A string that no log, message or response may show.

For tokens that stay in memory. A secret for a single call is passed as an argument.
"""

from __future__ import annotations

from typing import NoReturn

from runtime.redaction import REDACTED


class SensitiveString:
    """A secret. Only `reveal` returns it; `repr` and serializers do not show it.

    Not a dataclass, because JSON encoders serialize the fields of dataclasses.
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
