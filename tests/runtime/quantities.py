"""Quantities in all their forms."""

from fractions import Fraction

from runtime.quantity import QuantityInput

# text: (value, canonical form)
FORMS: dict[QuantityInput, tuple[Fraction, str]] = {
    "0": (Fraction(0), "0"),
    "0Ki": (Fraction(0), "0"),
    "-0": (Fraction(0), "0"),
    2: (Fraction(2), "2"),
    0.5: (Fraction(1, 2), "500m"),
    "1000m": (Fraction(1), "1"),
    "1500m": (Fraction(3, 2), "1500m"),
    "1.5": (Fraction(3, 2), "1500m"),
    ".5": (Fraction(1, 2), "500m"),
    "5.": (Fraction(5), "5"),
    "+1": (Fraction(1), "1"),
    "-1000m": (Fraction(-1), "-1"),
    "007": (Fraction(7), "7"),
    "1000": (Fraction(1000), "1k"),
    "1024": (Fraction(1024), "1024"),
    "1.024M": (Fraction(1024000), "1024k"),
    "1000k": (Fraction(10**6), "1M"),
    "1n": (Fraction(1, 10**9), "1n"),
    "1024Ki": (Fraction(1024**2), "1Mi"),
    "1000Ki": (Fraction(1024000), "1000Ki"),
    "1.5Gi": (Fraction(3 * 2**29), "1536Mi"),
    "0.5Ki": (Fraction(512), "512"),
    "1Ki": (Fraction(1024), "1Ki"),
    "1Ei": (Fraction(2**60), "1Ei"),
    "1G": (Fraction(10**9), "1G"),
    "2E": (Fraction(2 * 10**18), "2E"),
    "1u": (Fraction(1, 10**6), "1u"),
    "-2048Ki": (Fraction(-2 * 1024**2), "-2Mi"),
    # Less than a byte more than 1 KiB: no binary suffix can express it.
    "1.0001Ki": (Fraction(10241024, 10**4), "1024102400u"),
    "1e3": (Fraction(1000), "1e3"),
    "1E3": (Fraction(1000), "1e3"),
    "1e+03": (Fraction(1000), "1e3"),
    "12000e0": (Fraction(12000), "12e3"),
    "1e2": (Fraction(100), "100"),
    "15e-4": (Fraction(3, 2000), "1500e-6"),
    "1E": (Fraction(10**18), "1E"),
    # The server rounds or caps these itself.
    "1024Ei": (Fraction(2**70), "1024Ei"),
    "0.1n": (Fraction(1, 10**10), "0.1n"),
    "1e21": (Fraction(10**21), "1e21"),
}
