"""The unknown fields of a manifest, with the known fields that have a similar name. Pure.

Uses contracts.api.unknown_fields. Called by baoctl.commands.rendering and baoctl.commands.migrate.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel

from baoctl.options import suggestion
from contracts.api.unknown_fields import fields_of, unknown_fields

FIELDS_MAX: Final = 5
"""Maximum number of unknown fields, or kinds, in a message."""


def unknown_paths(spec: Any, model: type[BaseModel]) -> Iterator[str]:
    """Yield the first unknown fields of a spec, each with a suggestion if there is one."""
    for path in islice(unknown_fields(spec, model, "spec"), FIELDS_MAX):
        yield f"{path}{_hint(path, model)}"


def _hint(path: str, model: type[BaseModel]) -> str:
    """Suggest the sibling fields with a similar name."""
    *above, last = path.split(".")
    siblings = fields_of(model)
    for name in above[1:]:
        inner = siblings[name.partition("[")[0]]
        siblings = fields_of(inner) if inner else {}
    return suggestion(last, tuple(siblings)).replace("; did", " (did").replace("?", "?)")
