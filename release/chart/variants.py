"""The objects of each mode, and the differences between modes in one object. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from release.manifests import Object

Key = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One version of an object, and the modes that have it."""

    content: Object
    modes: tuple[str, ...]


def key(one: Object) -> Key:
    """Return the key that identifies an object in an overlay."""
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def variants(overlays: Mapping[str, Iterable[Object]]) -> Mapping[Key, Sequence[Variant]]:
    """Return the variants of each object of the overlays, by mode, in the order of the modes."""
    found: dict[Key, list[Variant]] = {}
    for mode, objects in overlays.items():
        for one in objects:
            known = found.setdefault(key(one), [])
            known[:] = _with_mode(known, one, mode)
    return found


def _with_mode(known: Sequence[Variant], content: Object, mode: str) -> list[Variant]:
    if all(one.content != content for one in known):
        return [*known, Variant(content, (mode,))]
    return [
        Variant(one.content, (*one.modes, mode)) if one.content == content else one for one in known
    ]
