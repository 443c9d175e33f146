"""Finds the fields of a manifest that the API server would reject or silently drop.

Uses the models alone: the schema of OpenBaoCluster has the same fields, and takes longer to build
than all models. Called by baoctl.commands.rendering.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel


def unknown_fields(value: Any, model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield the paths of unknown fields in a value, in the format of strict field validation."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from unknown_fields(item, model, f"{path}[{position}]")
    elif isinstance(value, Mapping):
        known = fields_of(model)
        for name, item in value.items():
            inner = f"{path}.{name}".lstrip(".")
            if name not in known:
                yield inner
            elif (part := known[name]) is not None:
                yield from unknown_fields(item, part, inner)


def fields_of(model: type[BaseModel]) -> Mapping[str, type[BaseModel] | None]:
    """Return the model of the value or items of each field, by its name in JSON."""
    return {
        field.alias or name: _model_in(field.annotation)
        for name, field in model.model_fields.items()
    }


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model in an annotation such as `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
