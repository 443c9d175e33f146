"""The jinja2 environment of the HCL templates, which quotes every value.

Uses jinja2 and contracts.hcl_quote. Called by contracts.hcl.render. The autoescape of jinja2
supports only HTML, so `finalize` quotes: jinja2 applies it to every expression, so that no template
can omit it. The template files are part of the package and are read once.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined
from jinja2.exceptions import UndefinedError

from contracts.hcl_quote import literal


class Literal(str):
    """Text that is already HCL; only the template filters create it."""

    __slots__ = ()


def _finalize(value: Any) -> str:
    if isinstance(value, Undefined):
        raise UndefinedError(str(value))
    return value if isinstance(value, Literal) else literal(value)


_KEY = re.compile(r"[a-z][a-z0-9_]*")


def _attributes(values: Mapping[str, Any], indent: int = 0) -> Literal:
    """Template filter: aligned `key = value` lines in the given order, without nulls.

    The last line has no newline. Keys are attribute names of the server and are not quoted. Raises
    ValueError for an invalid key, which would be text of a user.
    """
    present = {key: value for key, value in values.items() if value is not None}
    invalid = [key for key in present if not _KEY.fullmatch(key)]
    if invalid:
        raise ValueError(f"not a key of the configuration: {invalid[0]!r}")
    width = max(map(len, present), default=0)
    return Literal(
        "\n".join(
            f"{' ' * indent}{key:<{width}} = {literal(value, indent)}"
            for key, value in present.items()
        )
    )


def _at(value: Any, indent: int) -> Literal:
    """Template filter: a nested value on a line that starts with `indent` spaces."""
    return Literal(literal(value, indent))


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the cached environment."""
    result = Environment(
        loader=PackageLoader("contracts", "hcl"),
        autoescape=False,  # noqa: S701 - HCL and not HTML; finalize quotes every value
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    result.filters["at"] = _at
    result.filters["attributes"] = _attributes
    return result
