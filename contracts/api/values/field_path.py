"""Values of a spec by their field path.

Uses contracts.api.meta. Called by contracts.api.rules.unsupported_fields and by rules that apply
to many fields.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from contracts.api.meta import ApiModel

PathValue = tuple[str, Any]
"""A path without wildcards, and the value there."""


def joined(path: str, field: str) -> str:
    """Return the path of a field below `path`. Either may be empty; `field` may begin with "["."""
    return f"{path}{field}" if field.startswith("[") else f"{path}.{field}".strip(".")


def nodes_at(model: ApiModel, path: str) -> Iterable[PathValue]:
    """Like values_at, but accepts the empty path, which is the model itself."""
    if "[]" in path:
        return values_at(model, path)
    return [(path, value_at(model, path) if path else model)]


def values_at(model: ApiModel, path: str) -> Iterator[PathValue]:
    """Yield the values at a path of aliases such as spec.selfInit.requests[].headers, each with its
    own path; none where a part of the path is absent. The path starts at a field of `model`."""
    yield from _at(model, "", path.split("."))


def value_at(model: ApiModel, path: str) -> Any:
    """Return the value at a path without lists; None where a part of it is absent."""
    value: Any = model
    for step in path.split("."):
        if value is None:
            return None
        value = getattr(value, names_of(value.__class__)[step])
    return value


def _at(model: ApiModel | None, prefix: str, steps: list[str]) -> Iterator[PathValue]:
    if model is None:
        return
    step, rest = steps[0], steps[1:]
    alias = step.removesuffix("[]")
    value = getattr(model, names_of(type(model))[alias])
    path = f"{prefix}.{alias}".lstrip(".")
    if step == alias:
        yield from _at(value, path, rest) if rest else [(path, value)]
        return
    for position, item in enumerate(value or ()):
        inner = f"{path}[{position}]"
        yield from _at(item, inner, rest) if rest else [(inner, item)]


@lru_cache(maxsize=512)
def names_of(model: type[ApiModel]) -> dict[str, str]:
    """Return the field names of a model by alias."""
    return {field.alias or name: name for name, field in model.model_fields.items()}
