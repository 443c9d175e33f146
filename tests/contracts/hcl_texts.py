"""Texts that are hard to quote in HCL."""

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])) | st.text(
    st.sampled_from('${}%"\\\n u0024x#')
)
# Python-hcl2 reads numbers of any size, the server does not; the rendered text respects that.
NUMBER = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    TEXT | NUMBER | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
