"""The models of a kind, and what a document of it holds."""

from collections.abc import Iterator
from typing import Any, get_args

from contracts.api.meta import ApiModel


def holds(stored: Any, expected: Any) -> bool:
    """Whether everything wanted is stored; defaults may have been added."""
    if isinstance(expected, dict):
        return all(key in stored and holds(stored[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(stored) == len(expected) and all(map(holds, stored, expected))
    return bool(stored == expected)


def models_of(kind: Any) -> Iterator[type[ApiModel]]:
    """The models in an annotation, with those inside of them."""
    if isinstance(kind, type) and issubclass(kind, ApiModel):
        yield kind
        for field in kind.model_fields.values():
            yield from models_of(field.annotation)
    for part in get_args(kind):
        yield from models_of(part)
