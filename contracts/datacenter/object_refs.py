"""Reads group, kind and name of an object of any kind, valid or not. Pure."""

from collections.abc import Mapping
from typing import Any


def kind_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return group and kind; "" for a value that is not a string."""
    return _text(body.get("apiVersion")).rpartition("/")[0], _text(body.get("kind"))


def name_of(body: Mapping[str, Any]) -> str:
    """Return the name; "" without one."""
    metadata = body.get("metadata")
    return _text(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
