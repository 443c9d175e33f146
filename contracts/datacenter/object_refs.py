"""Reads group, kind and name out of an object of any kind, whatever it holds. Pure."""

from collections.abc import Mapping
from typing import Any


def kind_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Group and kind; "" for what is no text."""
    return _text(body.get("apiVersion")).rpartition("/")[0], _text(body.get("kind"))


def name_of(body: Mapping[str, Any]) -> str:
    """The name; "" without one."""
    metadata = body.get("metadata")
    return _text(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
