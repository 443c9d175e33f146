"""Patterns for the identity of a signer, which match only what cosign matches.

Uses Pattern, whose engine is Rust's regex: it takes linear time for any pattern of a tenant, and
its syntax is nearly that of Go (RE2). Where the two differ, a pattern is rejected or an identity
does not match. Called by contracts.api.rules.images and managers.images.keyless.
"""

import re

from pydantic_core import SchemaError

from contracts.api.values.pattern import Pattern

_PART = re.compile(r"(?s)\\b\{|\\.|\(\?[imsU-]*[Rux]|\{,|\[:\^?[a-z]+:\]|\[\^?\]?|&&|--|~~|.")
# Word boundaries, flags and a repetition that Go does not support, or reads as plain text.
_OTHERWISE = ("\\b{", "\\<", "\\>", "{,", "(?")
_SET_OPERATORS = ("&&", "--", "~~")


class IdentityPattern:
    """A pattern that matches anywhere in an identity, as in cosign."""

    def __init__(self, text: str) -> None:
        if _means_another_in_go(text):
            raise ValueError("it is not a pattern of the RE2 syntax")
        try:
            self._pattern = Pattern(text).compiled
        except SchemaError:
            raise ValueError("it is not a pattern of the RE2 syntax") from None

    def found_in(self, identity: str) -> bool:
        """Return whether some part of an identity matches the pattern.

        An identity with characters other than ASCII never matches: Go's classes of digits, words
        and capital letters differ there.
        """
        return identity.isascii() and self._pattern.isinstance_python(identity)


def _means_another_in_go(text: str) -> bool:
    """Return whether a pattern has an operator of Rust that is plain text or an error in Go."""
    brackets = False
    for part in _PART.findall(text):
        opens = part[0] == "[" and not part.startswith("[:")
        if brackets and (opens or part in _SET_OPERATORS):
            return True
        if not brackets and len(part) > 1 and part.startswith(_OTHERWISE):
            return True
        brackets = opens or (brackets and part != "]")
    return False
