"""contracts.api.values.pattern: compiled at the first use."""

import pytest
from pydantic_core import SchemaError

from contracts.api.values.pattern import Pattern


def test_a_pattern_is_compiled_once_at_its_first_use() -> None:
    pattern = Pattern("^a+$")
    assert "compiled" not in vars(pattern)
    assert pattern.found_in("aa")
    compiled = vars(pattern)["compiled"]
    assert not pattern.found_in("b")
    assert pattern.compiled is compiled


def test_an_invalid_pattern_is_an_error_at_its_first_use() -> None:
    with pytest.raises(SchemaError):
        Pattern("(").found_in("a")
