"""Patterns for the identity of a signer, which match no more than cosign does.

Uses Pattern, whose engine is Rust's: it takes linear time, whatever a tenant writes, and reads
nearly the language of Go (RE2). Where the two differ, a pattern is refused or an identity does not
match. Called by contracts.api.rules.images and managers.images.keyless.
"""

import re

from pydantic_core import SchemaError

from contracts.api.values.pattern import Pattern

_PART = re.compile(r"(?s)\\b\{|\\.|\(\?[imsU-]*[Rux]|\{,|\[:\^?[a-z]+:\]|\[\^?\]?|&&|--|~~|.")
# Word boundaries, flags and a repetition that Go does not know, or reads as plain text.
_OTHERWISE = ("\\b{", "\\<", "\\>", "{,", "(?")
_SET_OPERATORS = ("&&", "--", "~~")


class IdentityPattern:
    """A pattern, to be found anywhere in an identity, as cosign does."""

    def __init__(self, text: str) -> None:
        if _means_another_in_go(text):
            raise ValueError("it is no pattern of the RE2 syntax")
        try:
            self._pattern = Pattern(text)
        except SchemaError:
            raise ValueError("it is no pattern of the RE2 syntax") from None

    def found_in(self, identity: str) -> bool:
        """Whether some part of an identity is of this pattern.

        Never of one beyond ASCII, where digits, words and capital letters are others in Go.
        """
        return identity.isascii() and self._pattern.found_in(identity)


def _means_another_in_go(text: str) -> bool:
    """Whether Rust reads something as an operator that is plain text or an error in Go."""
    brackets = False
    for part in _PART.findall(text):
        opens = part[0] == "[" and not part.startswith("[:")
        if brackets and (opens or part in _SET_OPERATORS):
            return True
        if not brackets and len(part) > 1 and part.startswith(_OTHERWISE):
            return True
        brackets = opens or (brackets and part != "]")
    return False
