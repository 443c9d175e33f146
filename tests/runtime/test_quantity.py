"""runtime.quantity: exact values, and one canonical form.

tests/integration/test_quantity.py compares that form with a real API server.
"""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.quantity import QuantityInput, canonical, parse
from tests.runtime.quantities import FORMS

DIGITS = st.text("0123456789", min_size=1, max_size=12)
NUMBERS = st.one_of(
    DIGITS, st.builds("{}.{}".format, DIGITS, DIGITS), st.builds(".{}".format, DIGITS)
)
SUFFIXES = st.one_of(
    st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
    st.builds("{}{}".format, st.sampled_from("eE"), st.integers(-12, 21)),
)
QUANTITIES = st.builds("{}{}{}".format, st.sampled_from(["", "-", "+"]), NUMBERS, SUFFIXES)


@given(QUANTITIES)
@example("1024Ei")
@example("0.1n")
@example("-1.5Gi")
def test_t25_the_form_of_a_quantity_is_the_same_quantity(text: str) -> None:
    assert parse(canonical(text)) == parse(text)


@given(QUANTITIES)
def test_t25_the_canonical_form_is_idempotent(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["", "k", "Ki", "m", "M", "Gi"]))
def test_t25_equal_quantities_of_a_family_have_one_form(count: int, suffix: str) -> None:
    longer = f"{count}.000{suffix}" if count >= 0 else f"-00{-count}{suffix}"
    assert canonical(longer) == canonical(f"{count}{suffix}")


@pytest.mark.parametrize(
    ("quantity", "amount", "form"), [(quantity, *row) for quantity, row in FORMS.items()], ids=str
)
def test_t25_forms(quantity: QuantityInput, amount: Fraction, form: str) -> None:
    assert parse(quantity) == amount
    assert canonical(quantity) == form


@pytest.mark.parametrize(
    "text",
    ["", "-", ".", "1 Gi", "1gi", "1KiB", "Gi", "1e", "1e1.5", "0x10", "٣", "1e9999", "1Gi ", True],
)
def test_t25_other_text_is_not_a_quantity(text: QuantityInput) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse(text)
    with pytest.raises(ValueError, match="not a quantity"):
        canonical(text)
