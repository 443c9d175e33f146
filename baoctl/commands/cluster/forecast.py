"""The changes to the objects of a cluster that an edit of its spec would cause. Pure.

Called by baoctl.commands.cluster.plan. The cluster is rendered before and after the edit under the
same assumptions (baoctl.commands.assumed), so only the spec causes differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from baoctl.commands.cluster.difference import FieldChange, differences
from baoctl.commands.cluster.observed import number, part, text
from baoctl.commands.rendering import Rendering
from contracts.naming import labels
from runtime.builtin_kinds import STATEFUL_SET
from runtime.limits.object_size import LAST_APPLIED
from runtime.outcome import Blocked
from runtime.types import Object, key_of

Verb = Literal["create", "update", "delete", "none"]
ObjectName = tuple[str, str]
"""Kind and name."""
_HASHES: Final = (labels.TEMPLATE_HASH, labels.RELOAD_HASH)
_OMITTED: Final = (*_HASHES, labels.CREATION_HASH)


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that would be created, updated or deleted."""

    verb: Verb
    kind: str
    name: str
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class PodsChange:
    """The effect of the edit on the servers of one StatefulSet."""

    stateful_set: str
    effect: Literal["start", "restart", "reload", "scale", "stop"]
    text: str


@dataclass(frozen=True, slots=True)
class PlanForecast:
    """The changes of one cluster."""

    cluster: str
    """namespace/name."""
    verb: Verb
    spec: tuple[FieldChange, ...]
    objects: tuple[ObjectChange, ...]
    pods: tuple[PodsChange, ...]
    notes: tuple[str, ...]
    blocked: tuple[str, ...]
    """Why the operator would wait: reasons and messages."""


def forecast(
    live: Object | None, desired: Object, before: Rendering | None, after: Rendering
) -> PlanForecast:
    """Compare a cluster before and after an edit.

    `before` is None if there is no cluster, or if its stored spec cannot be rendered.
    """
    key, old, new = key_of(desired), _by_name(before), _by_name(after)
    fields = _spec_changes(live or {}, desired)
    return PlanForecast(
        cluster=f"{key.namespace}/{key.name}",
        verb="create" if live is None else "update" if fields else "none",
        spec=() if live is None else fields,
        objects=tuple(_objects(old, new)),
        pods=tuple(_pods(old, new, _Edit(live or {}, desired))),
        notes=() if live is None else tuple(_notes(live, desired)),
        blocked=tuple(
            f"{outcome.reason}: {outcome.message}"
            for outcome in after.outcomes
            if isinstance(outcome, Blocked)
        ),
    )


def _spec_changes(live: Object, desired: Object) -> tuple[FieldChange, ...]:
    return tuple(
        change
        for change in differences(_user_fields(live), _user_fields(desired))
        if not change.path.endswith(LAST_APPLIED)
    )


def _user_fields(cluster: Object) -> Object:
    metadata = part(cluster, "metadata")
    user_metadata = {
        name: metadata[name] for name in ("annotations", "labels") if metadata.get(name)
    }
    return {"metadata": user_metadata, "spec": part(cluster, "spec")}


def _by_name(rendered: Rendering | None) -> dict[ObjectName, Object]:
    intents = rendered.intents if rendered else ()
    return {(intent.resource.kind, intent.key.name): intent.body for intent in intents}


def _objects(
    old: Mapping[ObjectName, Object], new: Mapping[ObjectName, Object]
) -> Iterator[ObjectChange]:
    for (kind, name), body in new.items():
        if (kind, name) not in old:
            yield ObjectChange("create", kind, name)
        elif fields := tuple(_without_hashes(differences(old[kind, name], body))):
            yield ObjectChange("update", kind, name, fields)
    yield from (ObjectChange("delete", *name) for name in old if name not in new)


def _without_hashes(fields: Iterator[FieldChange]) -> Iterator[FieldChange]:
    """Omit hashes, which repeat other changes, and volumeClaimTemplates, which are immutable."""
    return (
        field
        for field in fields
        if not field.path.endswith(_OMITTED)
        and not field.path.startswith("spec.volumeClaimTemplates")
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """A cluster before the edit, which is {} for a new one, and after the edit."""

    live: Object
    desired: Object

    @property
    def servers(self) -> int:
        return number(part(self.desired, "spec").get("replicas")) or 0

    def start(self, stateful_set: str, size: int) -> str:
        """Describe the start of new servers."""
        others = self.servers - size
        if stateful_set == key_of(self.desired).name and others > 0:
            return f"{size} starts and initializes the cluster; then {others} more join it"
        return f"{size} start"

    @property
    def restart(self) -> str:
        """Describe how the servers receive a new pod template."""
        old, new = part(self.live, "spec"), part(self.desired, "spec")
        upgraded = any(old.get(field) != new.get(field) for field in ("version", "image"))
        if upgraded and text(self.desired, "spec", "upgrade", "strategy") == "BlueGreen":
            return "new servers (green) replace them"
        if self.servers == 1:
            return "the only server restarts; the cluster is not available during the restart"
        return "all servers restart, one at a time, the leader last"


def _pods(
    old: Mapping[ObjectName, Object], new: Mapping[ObjectName, Object], edit: _Edit
) -> Iterator[PodsChange]:
    for kind, name in sorted({*old, *new}):
        if kind == STATEFUL_SET.kind:
            change = _servers(name, old.get((kind, name)), new.get((kind, name)), edit)
            if change is not None:
                yield change


def _servers(name: str, old: Object | None, new: Object | None, edit: _Edit) -> PodsChange | None:
    if new is None:
        return PodsChange(name, "stop", "the servers are removed one at a time")
    size = number(part(new, "spec").get("replicas")) or 0
    if old is None:
        return PodsChange(name, "start", edit.start(name, size))
    before = number(part(old, "spec").get("replicas")) or 0
    changed = {hash_: _annotation(old, hash_) != _annotation(new, hash_) for hash_ in _HASHES}
    scaled = f"scales from {before} to {size}" if before != size else ""
    if changed[labels.TEMPLATE_HASH]:
        return PodsChange(name, "restart", "; ".join(filter(None, (scaled, edit.restart))))
    if changed[labels.RELOAD_HASH]:
        reload = "no server restarts; they reload the changed files"
        return PodsChange(name, "reload", "; ".join(filter(None, (scaled, reload))))
    return PodsChange(name, "scale", scaled) if scaled else None


def _annotation(stateful_set: Object, name: str) -> Any:
    return part(stateful_set, "spec", "template", "metadata", "annotations").get(name)


@dataclass(frozen=True, slots=True)
class _Note:
    """A consequence of a changed field that the objects do not show."""

    field: str
    text: str
    becomes: Any = ...
    """The note applies only if the field gets this value; `...` matches any value."""


_NOTES: Final = (
    _Note(
        "version",
        "The servers are upgraded. Preview the upgrade with: "
        "kubectl bao upgrade plan --cluster {cluster} --to {version}",
    ),
    _Note(
        "storage.size", "The volumes grow in place. A pod restarts only if its driver requires it."
    ),
    _Note("paused", "The operator makes no changes until the cluster is resumed.", True),
    _Note("hibernate", "All servers stop; volumes and keys stay.", True),
    _Note("deletionPolicy", "deletionPolicy takes effect when the cluster is deleted."),
)


def _notes(live: Object, desired: Object) -> Iterator[str]:
    key = key_of(desired)
    for note in _NOTES:
        *above, last = note.field.split(".")
        before, after = (part(cluster, "spec", *above).get(last) for cluster in (live, desired))
        if before != after and note.becomes in (..., after):
            yield note.text.format(
                cluster=f"{key.namespace}/{key.name}", version=text(desired, "spec", "version")
            )
