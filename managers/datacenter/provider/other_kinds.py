"""Provider of services of kind Objects: applies objects of the kinds that a datacenter allows.

Uses runtime.apply.apply to write them and managers.datacenter.provider.kind_discovery to find their
resources. Called by managers.datacenter.provider.by_kind. No informer watches these kinds:
each observation lists the objects of a record by label. An object that is retained after its
service (a CustomResourceDefinition) has no owner reference: its garbage collection would delete all
objects of its kind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from contracts.api.meta import thaw
from contracts.datacenter import names
from contracts.datacenter.grants import ObjectKind
from contracts.datacenter.object_refs import kind_of, name_of
from contracts.datacenter.service_spec import OBJECTS_KIND
from contracts.datacenter.workload_records import Observation, ServiceRecord
from contracts.naming import labels
from managers.context.context import FIELD_MANAGER, MARKS
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.kind_discovery import KIND_NOT_SERVED, KindDiscovery
from managers.datacenter.provider.kubernetes import apply_error, as_provider_error, owner_of
from managers.datacenter.provider.listed_objects import ListedObjects
from managers.datacenter.provider.objects import orphaning_patch
from runtime.apply.apply import OwnedApply
from runtime.apply.intent import Intent, contains
from runtime.apply.ownership import Ownership, ownership_of
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.errors import Conflict, Forbidden, NotFound, PatchFailed
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    annotations_of,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)

MakeApply = Callable[[Mapping[Resource, Cache]], OwnedApply]
ObjectRef = tuple[Resource, ObjectKey]
_DEFINITION: Final = "CustomResourceDefinition"
NAMES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class _State:
    """The live and the desired objects of a record."""

    desired: tuple[Intent, ...]
    live: Mapping[ObjectRef, Object]

    @property
    def obsolete(self) -> list[ObjectRef]:
        """Return the live objects of a previous body."""
        keep = {(intent.resource, intent.key) for intent in self.desired}
        return [ref for ref in self.live if ref not in keep]


class ObjectsProvider:
    """Applies and deletes the objects of services of kind Objects."""

    def __init__(self, client: Client, apply: MakeApply) -> None:
        self._client = client
        self._apply = apply
        self._discovery = KindDiscovery(client)
        self._verified: dict[str, tuple[str, Mapping[ObjectRef, str]]] = {}

    async def observe(self, record: ServiceRecord) -> Observation:
        """List the objects of a record by label, and compare them with its body.

        A kind that is not served is not an error here: a dependency may install its definition.
        """
        with as_provider_error():
            if record.retiring:
                return _observation(record, _State((), await self._present(record)), complete=False)
            try:
                state = await self._find(record)
            except ProviderError as error:
                if error.reason != KIND_NOT_SERVED:
                    raise
                state = _State((), await self._present(record))
                observation = _observation(record, state, complete=False)
                return replace(observation, healthy=False, message=error.message)
        return _observation(record, state, complete=self._is_complete(record, state))

    async def provision(self, record: ServiceRecord) -> None:
        """Apply all objects, in their order, and delete those of a previous body.

        Raises ProviderError: KindNotServed is not terminal; for the others see KubernetesProvider.
        """
        with as_provider_error():
            state = await self._find(record)
            applied = dict(state.live)
            for intent in state.desired:
                ref = (intent.resource, intent.key)
                live = state.live.get(ref)
                cache = ListedObjects([live] if live is not None else ())
                result = await self._apply({intent.resource: cache}).ensure(
                    owner_of(record), intent
                )
                if not result.in_place or result.live is None:
                    raise apply_error(result)
                applied[ref] = result.live
            for ref in state.obsolete:
                await self._delete_or_orphan(record, ref[0], state.live[ref])
                applied.pop(ref)
            # Use the stored objects: the API server may store a value in another form.
            self._verified[record.id] = (record.desired.digest, _versions(applied))

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of a record, in reverse order of its body; True once none is left."""
        self._verified.pop(record.id, None)
        with as_provider_error():
            live = await self._present(record)
            bodies = record.desired.service.objects or ()
            order = [(kind_of(body), name_of(body)) for body in bodies]
            for resource, key in sorted(
                live, key=lambda ref: _creation_index(order, ref), reverse=True
            ):
                await self._delete_or_orphan(record, resource, live[resource, key])
            return not live

    # --- reading ------------------------------------------------------------------------------

    async def _find(self, record: ServiceRecord) -> _State:
        intents = []
        for body in map(thaw, record.desired.service.objects or ()):
            resource = await self._discovery.resource(body["apiVersion"], body["kind"])
            intents.append(_intent(record, resource, body))
        kinds = dict.fromkeys(intent.resource for intent in intents)
        return _State(tuple(intents), await self._list(record, kinds))

    async def _present(self, record: ServiceRecord) -> Mapping[ObjectRef, Object]:
        """Return the live objects of a record, of all kinds that are still served."""
        kinds: dict[Resource, None] = {}
        for body in record.desired.service.objects or ():
            group, kind = kind_of(body)
            resource = await self._discovery.preferred(group, kind)
            # A kind that is no longer served has no objects.
            kinds |= {} if resource is None else {resource: None}
        return await self._list(record, kinds)

    async def _list(
        self, record: ServiceRecord, kinds: Mapping[Resource, None]
    ) -> dict[ObjectRef, Object]:
        """List the objects of a record: of the kinds of its body, and of all allowed kinds, which a
        previous body may have used."""
        live: dict[ObjectRef, Object] = {}
        for resource in kinds:
            live |= await self._of_kind(record, resource)
        kinds_of_body = {(kind.group, kind.kind) for kind in kinds}
        for allowed in record.datacenter.object_kinds:
            if (allowed.group, allowed.kind) in kinds_of_body:
                continue
            former = await self._discovery.preferred(allowed.group, allowed.kind)
            if former is not None:
                # Without the permission to list this kind, the operator created none of it.
                with contextlib.suppress(Forbidden):
                    live |= await self._of_kind(record, former)
        return live

    async def _of_kind(self, record: ServiceRecord, resource: Resource) -> dict[ObjectRef, Object]:
        match_labels = names.selector_labels(record.datacenter.name, record.name)
        selector = ",".join(f"{key}={value}" for key, value in sorted(match_labels.items()))
        namespace = record.datacenter.namespace if resource.namespaced else None
        options = ListOptions(label_selector=selector)
        try:
            response = await self._client.list(resource, namespace, options=options)
        except NotFound:
            # The kind is not served any more: in a missing namespace the list is empty.
            self._discovery.forget(resource)
            return {}
        owner = owner_of(record)
        return {
            (resource, key_of(item)): item
            for item in response.items
            if ownership_of(item, owner, MARKS) is Ownership.MINE
        }

    def _is_complete(self, record: ServiceRecord, state: _State) -> bool:
        """Return whether the objects match the body; an unchanged state is not compared again."""
        if state.obsolete or any(is_terminating(live) for live in state.live.values()):
            return False
        verified = record.desired.digest, _versions(state.live)
        if self._verified.get(record.id) == verified:
            return True
        matches = all(
            (live := state.live.get((intent.resource, intent.key))) is not None
            and annotations_of(live).get(MARKS.intent_hash) == intent.digest
            and contains(live, intent.body)
            for intent in state.desired
        )
        if matches:
            self._verified[record.id] = verified
        return matches

    # --- deletion -----------------------------------------------------------------------------

    async def _delete_or_orphan(
        self, record: ServiceRecord, resource: Resource, live: Object
    ) -> None:
        """Delete the observed version of an object, or orphan it, as its policy requires."""
        if is_terminating(live):
            return
        service = record.desired.service
        if service.deletion_policy == "Orphan" or _retains(record, resource):
            await self._orphan(record, resource, live)
            return
        with contextlib.suppress(NotFound, Conflict):
            await self._client.delete(
                resource, key_of(live), uid=uid_of(live), resource_version=resource_version_of(live)
            )

    async def _orphan(self, record: ServiceRecord, resource: Resource, live: Object) -> None:
        """Remove our ownership metadata; a later BootstrapWorkload of this name may adopt it."""
        name = names.workload_name(record.datacenter.name, record.name)
        path = f"/metadata/annotations/{labels.ADOPT.replace('/', '~1')}"
        ops = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
            *orphaning_patch(record, MARKS, live),
            {"op": "add", "path": path, "value": name},
        ]
        with contextlib.suppress(NotFound, Conflict, PatchFailed):
            await self._client.json_patch(resource, key_of(live), ops, field_manager=FIELD_MANAGER)


def _intent(record: ServiceRecord, resource: Resource, body: dict[str, Any]) -> Intent:
    """Build the intent of an object: its body with namespace and our labels."""
    metadata = body["metadata"]
    namespace: Object = {"namespace": record.datacenter.namespace} if resource.namespaced else {}
    user_labels = metadata.get("labels") or {}
    manifest = {
        **body,
        "metadata": {
            "name": metadata["name"],
            **namespace,
            "labels": names.object_labels(record.datacenter.name, record.name, user_labels),
            "annotations": labels.users_own(metadata.get("annotations") or {}),
        },
    }
    # An empty value may be significant in an unknown kind.
    return Intent(
        resource, manifest, frozenset(_names_in(body)), outlives_owner=_retains(record, resource)
    )


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names_in(inner)


def _retains(record: ServiceRecord, resource: Resource) -> bool:
    """Return whether objects of a kind are retained; a kind that is no longer allowed has its
    default policy."""
    kind = resource.group, resource.kind
    matches = (
        object_kind
        for object_kind in record.datacenter.object_kinds
        if (object_kind.group, object_kind.kind) == kind
    )
    return next(matches, ObjectKind(group=kind[0], kind=kind[1])).retains


def _creation_index(order: list[tuple[tuple[str, str], str]], ref: ObjectRef) -> int:
    resource, key = ref
    entry = (resource.group, resource.kind), key.name
    return order.index(entry) if entry in order else len(order)


def _versions(live: Mapping[ObjectRef, Object]) -> dict[ObjectRef, str]:
    return {ref: f"{uid_of(obj)}/{_generation(obj)}" for ref, obj in live.items()}


def _generation(live: Object) -> str:
    # Some kinds have no generation; use their resourceVersion.
    generation = live["metadata"].get("generation")
    return f"g{generation}" if generation else resource_version_of(live)


def _observation(record: ServiceRecord, state: _State, *, complete: bool) -> Observation:
    not_ready = [
        f"{resource.kind} {key}"
        for (resource, key) in ((intent.resource, intent.key) for intent in state.desired)
        if not _is_ready(resource, state.live.get((resource, key)))
    ]
    refs = {f"{ref[0].kind}/{ref[1].name}": f"{ref[0].kind} {ref[1]}" for ref in state.live}
    return Observation(
        present=bool(state.live),
        digest=record.desired.digest if complete else "",
        healthy=not not_ready,
        ready=len(state.desired) - len(not_ready),
        desired=len(state.desired),
        message=f"waiting for {', '.join(not_ready[:NAMES_MAX])}" if not_ready else "",
        provider_ref=f"{OBJECTS_KIND} {record.name}" if state.live else "",
        service_refs=tuple(sorted(refs.items())),
    )


def _is_ready(resource: Resource, live: Object | None) -> bool:
    """Return whether an object exists and, for a CustomResourceDefinition, is established."""
    if live is None or is_terminating(live):
        return False
    if resource.kind != _DEFINITION:
        return True
    conditions = (live.get("status") or {}).get("conditions") or ()
    return any(
        condition.get("type") == "Established" and condition["status"] == "True"
        for condition in conditions
    )
