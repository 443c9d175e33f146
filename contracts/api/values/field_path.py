"""Values of a spec by their path, as users write it.

Uses contracts.api.meta. Called by contracts.api.rules.unsupported_fields and by rules that apply
to many fields.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from contracts.api.meta import ApiModel

Found = tuple[str, Any]
"""A path without wildcards, and the value there."""


def values_at(model: ApiModel, path: str) -> Iterator[Found]:
    """The values at a path of aliases such as spec.selfInit.requests[].headers, each with its own
    path; nothing where a part of the path is absent. `model` is what the first name belongs to."""
    yield from _at(model, "", path.split("."))


def value_at(model: ApiModel, path: str) -> Any:
    """The one value at a path without lists; None where a part of it is absent."""
    return next((value for _, value in values_at(model, path)), None)


def _at(model: ApiModel | None, prefix: str, steps: list[str]) -> Iterator[Found]:
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
    """The field of a model by its alias."""
    return {field.alias or name: name for name, field in model.model_fields.items()}
