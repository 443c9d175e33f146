"""Narrows the type of a value, and fails the test if the value has another type."""

from typing import TypeVar

T = TypeVar("T")


def expect(kind: type[T], value: object) -> T:
    """The value, which must be of that type."""
    assert isinstance(value, kind), value
    return value


def present(value: T | None) -> T:
    """The value, which must not be None."""
    assert value is not None
    return value
