"""The differences of two JSON values, as paths of fields. Pure.

Called by baoctl.commands.cluster.forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = None
"""Represents a missing value. It is not ambiguous, because the API server stores no null."""
_MERGE_KEYS: Final = ("name", "mountPath", "key")
"""List items are matched by the first of these keys that all of them have."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs; a value is None if the field is missing."""

    path: str
    before: Any
    after: Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Yield the leaf fields that differ, in the order of their paths."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            inner = f"{path}.{name}" if path else name
            yield from differences(before.get(name, ABSENT), after.get(name, ABSENT), inner)
    elif _is_list(before) and _is_list(after):
        yield from _of_lists(before, after, path)
    elif before != after:
        yield FieldChange(path, before, after)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _of_lists(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[FieldChange]:
    key = _merge_key((*before, *after))
    if key is not None:
        old = {str(item[key]): item for item in before}
        new = {str(item[key]): item for item in after}
        if len(old) == len(before) and len(new) == len(after):
            for name in [*old, *(new_name for new_name in new if new_name not in old)]:
                inner = f"{path}[{name}]"
                yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), inner)
            return
    if len(before) == len(after):
        for position, (old_item, new_item) in enumerate(zip(before, after, strict=True)):
            yield from differences(old_item, new_item, f"{path}[{position}]")
    else:
        yield from _of_items(before, after, path)


def _of_items(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[FieldChange]:
    """Yield added and removed items if the others keep their order, else the whole list."""
    removed = [(at, item) for at, item in enumerate(before) if item not in after]
    new = [(at, item) for at, item in enumerate(after) if item not in before]
    if [item for item in before if item in after] == [item for item in after if item in before]:
        yield from (FieldChange(f"{path}[{at}]", item, ABSENT) for at, item in removed)
        yield from (FieldChange(f"{path}[{at}]", ABSENT, item) for at, item in new)
    else:
        yield FieldChange(path, before, after)


def _merge_key(items: Sequence[Any]) -> str | None:
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    return next((key for key in _MERGE_KEYS if all(key in item for item in items)), None)
