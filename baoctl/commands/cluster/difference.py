"""The differences of two JSON values, as paths of fields. Pure.

Called by baoctl.commands.cluster.forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = None
"""In the place of a value that is not there: the API server stores no null."""
_MERGE_KEYS: Final = ("name", "mountPath", "key")
"""Items of a list are compared by the first of these keys that each of them has."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs; None stands for a field that is not there."""

    path: str
    before: Any
    after: Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Yield what differs, the deepest fields, in the order of the paths."""
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
        old = {str(one[key]): one for one in before}
        new = {str(one[key]): one for one in after}
        if len(old) == len(before) and len(new) == len(after):
            for name in [*old, *(one for one in new if one not in old)]:
                inner = f"{path}[{name}]"
                yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), inner)
            return
    if len(before) == len(after):
        for position, (old_item, new_item) in enumerate(zip(before, after, strict=True)):
            yield from differences(old_item, new_item, f"{path}[{position}]")
    else:
        yield from _of_items(before, after, path)


def _of_items(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[FieldChange]:
    """Name the items that only one side has, where the others keep their order."""
    gone = [(at, one) for at, one in enumerate(before) if one not in after]
    new = [(at, one) for at, one in enumerate(after) if one not in before]
    if [one for one in before if one in after] == [one for one in after if one in before]:
        yield from (FieldChange(f"{path}[{at}]", one, ABSENT) for at, one in gone)
        yield from (FieldChange(f"{path}[{at}]", ABSENT, one) for at, one in new)
    else:
        yield FieldChange(path, before, after)


def _merge_key(items: Sequence[Any]) -> str | None:
    if not items or not all(isinstance(one, Mapping) for one in items):
        return None
    return next((key for key in _MERGE_KEYS if all(key in one for one in items)), None)
