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


def key(body: Object) -> Key:
    """Return the key that identifies an object in an overlay."""
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def variants(overlays: Mapping[str, Iterable[Object]]) -> Mapping[Key, Sequence[Variant]]:
    """Return the variants of each object of the overlays, by mode, in the order of the modes."""
    by_key: dict[Key, list[Variant]] = {}
    for mode, objects in overlays.items():
        for body in objects:
            group = by_key.setdefault(key(body), [])
            group[:] = _with_mode(group, body, mode)
    return by_key


def _with_mode(group: Sequence[Variant], content: Object, mode: str) -> list[Variant]:
    if all(variant.content != content for variant in group):
        return [*group, Variant(content, (mode,))]
    return [
        Variant(content, (*variant.modes, mode)) if variant.content == content else variant
        for variant in group
    ]
