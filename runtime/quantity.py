"""Quantities of the Kubernetes API (`500m`, `1.5Gi`, `12e6`): exact value and canonical form.

Pure; standard library only. Called by `runtime.apply.canonical` for the fields that hold
quantities, and by code that compares the sizes of volumes.

Source of the rules: k8s.io/apimachinery/pkg/api/resource, "Quantity".
tests/integration/test_quantity.py compares the results with a real API server. The parser of
kubernetes_asyncio cannot format quantities, and its import takes half a second.
"""

from __future__ import annotations

import re
from fractions import Fraction

_TEXT = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: power for power, suffix in _DECIMAL.items()}
_FINEST = -9
_COARSEST = 18
# Beyond these limits the server rounds, or stores the largest possible number.
_LARGEST = 2**63 - 1
_NANOS = 10**9

QuantityInput = str | int | float


def parse(written: QuantityInput) -> Fraction:
    """Parse a quantity to an exact number (bytes, cores, items); raises ValueError for other text.

    YAML and JSON also allow plain numbers: they are parsed from their shortest decimal text.
    """
    match = _match(written)
    number = Fraction(match["number"])
    if match["binary"]:
        return number * (1 << 10 * _BINARY.index(match["binary"]))
    power = int(match["exponent"] or _POWERS[match["decimal"] or ""])
    scale: int = 10 ** abs(power)
    return number * scale if power >= 0 else number / scale


def canonical(written: QuantityInput) -> str:
    """Format a quantity in the form that the API server stores unchanged.

    The form has no fraction, and the largest suffix of its family (binary, decimal, exponent) that
    permits that: `1000m` is `1`, `1.5Gi` is `1536Mi`. Less than 1024 bytes have no suffix. A
    quantity that the server would round or cap (finer than nano, beyond 2^63 - 1) is returned
    unchanged, because that would change the number. Raises ValueError for text that is no quantity.
    """
    match, value = _match(written), parse(written)
    nanos = value * _NANOS
    if abs(value) > _LARGEST or nanos.denominator != 1:
        return str(written)
    if match["binary"] and abs(value) >= 1024 and value.denominator == 1:
        return _binary(value.numerator)
    return _decimal(nanos.numerator, exponents=match["exponent"] is not None)


def _match(written: QuantityInput) -> re.Match[str]:
    match = None if isinstance(written, bool) else _TEXT.fullmatch(str(written))
    if match is None:
        raise ValueError(f"not a quantity: {str(written)[:40]!r}")
    return match


def _binary(count: int) -> str:
    power = 0
    while count % 1024 == 0 and power + 1 < len(_BINARY):
        count //= 1024
        power += 1
    return f"{count}{_BINARY[power]}"


def _decimal(count: int, *, exponents: bool) -> str:
    if count == 0:
        return "0"
    power = _FINEST
    while count % 1000 == 0 and power < _COARSEST:
        count //= 1000
        power += 3
    if exponents and power:
        return f"{count}e{power}"
    return f"{count}{_DECIMAL[power]}"
