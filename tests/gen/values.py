"""Narrows a value to what a test expects of it, and fails the test when it is something else."""

from typing import TypeVar

T = TypeVar("T")


def expect(kind: type[T], value: object) -> T:
    """The value, which is of that type."""
    assert isinstance(value, kind), value
    return value


def present(value: T | None) -> T:
    """The value, which is not None."""
    assert value is not None
    return value
