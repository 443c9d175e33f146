"""Renders docs/fields-*.md, the fields of each kind, from its CRD.

Uses the standard library. Called by baoctl.generate.main. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

_HEADER = "<!-- Written by `python -m baoctl.generate pages`. Do not edit. -->\n"
_COLUMNS = "| field | type | description |\n|---|---|---|\n"


def field_page_path(crd: Schema) -> Path:
    """Return the path of the page of a kind."""
    return Path("docs") / f"fields-{crd['spec']['names']['singular']}.md"


def field_page(crd: Schema) -> str:
    """Return Markdown with all fields of a kind: one section for each field that is an object."""
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    parts = version["schema"]["openAPIV3Schema"]["properties"]
    group = f"{crd['spec']['group']}/{version['name']}"
    page = (
        f"{_HEADER}\n# {names['kind']}\n\n"
        f"Fields of kind {names['kind']} of `{group}`, from the CRD. An asterisk marks a field\n"
        "that is required if its object is set. `[]` stands for the items of a list, `{}` for "
        "the values of a map.\n"
    )
    return page + "".join(
        _chapters(name, parts[name]) for name in ("spec", "status") if name in parts
    )


def _chapters(name: str, part: Schema) -> str:
    fields: Mapping[str, Schema] = part.get("properties", {})
    objects = {key: rows for key in fields if (rows := [*_rows(fields[key], f"{name}.{key}")])}
    required = part.get("required", ())
    text = f"\n## {name}\n\n{_COLUMNS}" + "".join(
        _row(f"{name}.{key}", field, key in required) for key, field in fields.items()
    )
    return text + "".join(
        f"\n### {name}.{key}\n\n{_COLUMNS}{''.join(rows)}" for key, rows in objects.items()
    )


def _rows(schema: Schema, path: str) -> Iterator[str]:
    """Yield the rows of all fields below a path."""
    inner, suffix = _items_or_self(schema)
    for key, field in inner.get("properties", {}).items():
        field_path = f"{path}{suffix}.{key}"
        yield _row(field_path, field, key in inner.get("required", ()))
        yield from _rows(field, field_path)


def _items_or_self(schema: Schema) -> tuple[Schema, str]:
    """Return the schema of the items or values of a field, or the field, and its path suffix."""
    if "items" in schema:
        return schema["items"], "[]"
    values = schema.get("additionalProperties")
    return (values, "{}") if isinstance(values, Mapping) else (schema, "")


def _row(path: str, schema: Schema, required: bool) -> str:
    name = f"`{path}`{' *' if required else ''}"
    return f"| {name} | {_type(schema)} | {_text(schema.get('description', ''))} |\n"


def _type(schema: Schema) -> str:
    inner, suffix = _items_or_self(schema)
    if suffix:
        return f"{'list' if suffix == '[]' else 'map'} of {_type(inner)}"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(schema.get("type", "any"))


def _text(description: str) -> str:
    """Return the first paragraph as the text of a table cell."""
    line = " ".join(description.partition("\n\n")[0].split())
    for char, escaped in (("|", "\\|"), ("<", "&lt;"), ("*", "\\*")):
        line = line.replace(char, escaped)
    return line
