"""Every field of the models that names a Secret."""

from collections.abc import Iterator
from typing import Any, get_args

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.meta import ApiModel, SecretKey, SecretMark, SecretReference


def references(kind: Any, path: str = "", marks: tuple[Any, ...] = ()) -> Iterator[str]:
    """The paths below an annotation that name a Secret, found by type."""
    if any(isinstance(mark, SecretMark) for mark in marks):
        yield path
    if isinstance(kind, type) and issubclass(kind, SecretReference | SecretKey):
        yield f"{path}.name"
    elif isinstance(kind, type) and issubclass(kind, ApiModel):
        for name, field in kind.model_fields.items():
            inner = f"{path}.{field.alias or name}".lstrip(".")
            yield from references(field.annotation, inner, tuple(field.metadata))
    else:
        arguments = get_args(kind)
        many = "[]" if getattr(kind, "__origin__", None) is tuple else ""
        more = tuple(getattr(kind, "__metadata__", ()))
        for part in arguments:
            yield from references(part, path + many, more)


REFERENCES = sorted(set(references(ClusterSpec)))
