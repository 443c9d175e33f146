"""The jinja2 environment of the HCL templates: no value gets into a document unquoted.

Uses jinja2 and contracts.hcl_quote. Called by contracts.hcl.render. What jinja2 calls autoescape
knows HTML only, so quoting is done by `finalize`, which jinja2 applies to every expression of a
template; a template cannot forget it. The template files are part of the package and are read once.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined
from jinja2.exceptions import UndefinedError

from contracts.hcl_quote import literal


class Literal(str):
    """Text that is HCL already; made by `at` alone."""

    __slots__ = ()


def _finalize(value: Any) -> str:
    if isinstance(value, Undefined):
        raise UndefinedError(str(value))
    return value if isinstance(value, Literal) else literal(value)


_KEY = re.compile(r"[a-z][a-z0-9_]*")


def _attributes(values: Mapping[str, Any], indent: int = 0) -> Literal:
    """Template filter: `key = value` lines in the order given, aligned, nulls left out.

    The last line has no newline. Keys are the server's own words and written as they are; raises
    ValueError for one that is not, because it would be text of a user in the place of a key.
    """
    present = {key: value for key, value in values.items() if value is not None}
    strange = [key for key in present if not _KEY.fullmatch(key)]
    if strange:
        raise ValueError(f"not a key of the configuration: {strange[0]!r}")
    width = max(map(len, present), default=0)
    return Literal(
        "\n".join(
            f"{' ' * indent}{key:<{width}} = {literal(value, indent)}"
            for key, value in present.items()
        )
    )


def _at(value: Any, indent: int) -> Literal:
    """Template filter: a nested value on a line with that many spaces in front."""
    return Literal(literal(value, indent))


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The environment; made once."""
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
