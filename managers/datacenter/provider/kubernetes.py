"""Runs services as objects of the Kubernetes cluster that the operator itself runs in.

Uses runtime.apply.apply to create objects, and managers.datacenter.provider.objects to render them.
Called by managers.datacenter.provider.by_kind. It reads from caches; before it reports that all
objects are deleted, it also reads them from the API server.

An object belongs to the record whose UID is in the controller owner reference of the object. If an
object has to be deleted before it is recreated, such as a StatefulSet, the next call continues
after the watch has delivered the deletion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts.api.group import API_VERSION, CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.kinds import WORKLOAD_KIND
from contracts.datacenter.objects import KUBERNETES
from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.context.context import FIELD_MANAGER, MARKS
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider import vault
from managers.datacenter.provider.objects import (
    KINDS,
    ObjectRef,
    immutable_difference,
    object_name,
    object_refs,
    orphaning_patch,
    render,
)
from managers.datacenter.provider.readiness import applied_digest, reference, summarize
from runtime.apply.apply import OwnedApply, controller_uid
from runtime.apply.apply_cache import fingerprint
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent, contains
from runtime.apply.ownership import OWNER_INDEX, Owner, Ownership, ownership_of
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    PatchFailed,
    QuotaExceeded,
    TerminalError,
    Transient,
)
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    is_generation_observed,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)
from runtime.verdict import Verdict

RESOURCES: Final = (CLUSTERS, DEPLOYMENT, DAEMON_SET, STATEFUL_SET, SERVICE, CONFIG_MAP)
"""Every kind that a record may own, in the order of deletion."""
# An OpenBaoCluster is never pruned after a change of the body.
PRUNED: Final = RESOURCES[1:]
WORKLOADS: Final = frozenset(KINDS.values())
# The error of the API server (1.36) for a change that `immutable_difference` does not cover.
IMMUTABLE: Final = "updates to statefulset spec for fields other than"
ORPHANING: Final = "orphan"
_RETENTION: Final = "/spec/persistentVolumeClaimRetentionPolicy"

OwnedObject = tuple[Resource, Object]


class KubernetesProvider:
    """The provider of datacenters whose services run in this Kubernetes cluster.

    `caches` hold the kinds of RESOURCES, shared with `apply`; `observe` makes no request.
    """

    def __init__(self, client: Client, caches: Mapping[Resource, Cache], apply: OwnedApply) -> None:
        self._client = client
        self._caches = {resource: caches[resource] for resource in RESOURCES}
        self._apply = apply
        self._verified: dict[str, _VerifiedState] = {}
        for cache in self._caches.values():
            cache.add_index(OWNER_INDEX, controller_uid)

    @property
    def name(self) -> str:
        """The value of spec.provider of a Datacenter that selects this provider."""
        return KUBERNETES

    async def observe(self, record: ServiceRecord) -> Observation:
        """Read the state of the objects from the caches.

        Raises ProviderError Rejected for a record that cannot be rendered.
        """
        owned = {(resource, key_of(live)): live for resource, live in self._cached_objects(record)}
        digest = applied_digest(record, owned)
        if digest == record.desired.digest and not self._is_verified(record, owned):
            digest = ""
        return summarize(record, owned, digest)

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update all objects; no request if they are up to date.

        Raises ProviderError: Foreign, Rejected, Forbidden and KindImmutable are terminal;
        Terminating, NamespaceNotFound, QuotaExceeded and Unavailable are not. LeaseLost propagates.
        """
        with as_provider_error():
            self._require_same_kind(record)
            used_vaults = self._vaults_for(record, vaults)
            intents = _render(record, used_vaults)
            if await self._replace_immutable(record, intents):
                return
            applied: dict[ObjectRef, Object] = {}
            for intent in intents:
                live = await self._ensure(record, intent)
                if live is None:
                    return
                applied[(intent.resource, intent.key)] = live
            await self._prune(record, applied)
            # Use the stored objects: the API server may store a value in another form.
            self._verified[record.id] = _VerifiedState(
                record.desired.digest, used_vaults, _fingerprints(applied)
            )

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of the record, workloads first; True when none exists any more.

        Raises ProviderError: Forbidden is terminal; Unavailable is not. LeaseLost propagates.
        """
        self._verified.pop(record.id, None)
        with as_provider_error():
            owned = self._cached_objects(record) or await self._live(record)
            if not owned:
                return True
            if record.desired.service.deletion_policy == "Orphan":
                return await self._orphan(record, owned)
            # ConfigMaps and Services are deleted after the pods.
            for resource, live in [item for item in owned if item[0] in WORKLOADS] or owned:
                policy = record.desired.service.volume_policy
                if not is_terminating(live) and await self._retention_applied(
                    policy, resource, live
                ):
                    await self._delete(resource, live)
            return False

    # --- observation --------------------------------------------------------------------------

    def _cached_objects(self, record: ServiceRecord) -> list[OwnedObject]:
        """Return the objects of the record, in the order of deletion."""
        return [
            (resource, live)
            for resource, cache in self._caches.items()
            for live in cache.by_index(OWNER_INDEX, record.id)
        ]

    async def _live(self, record: ServiceRecord) -> list[OwnedObject]:
        """Read all objects that the record may have from the API server."""
        objects: list[OwnedObject] = []
        owner = owner_of(record)
        for resource, key in reversed(object_refs(record)):
            with contextlib.suppress(NotFound):
                live = await self._client.get(resource, key)
                if ownership_of(live, owner, MARKS) is Ownership.MINE:
                    objects.append((resource, live))
        return objects

    def _own(self, record: ServiceRecord, ref: ObjectRef) -> Object | None:
        live = self._caches[ref[0]].get(ref[1])
        mine = live is not None and ownership_of(live, owner_of(record), MARKS) is Ownership.MINE
        return live if mine else None

    def _vaults_for(self, record: ServiceRecord, current: tuple[Vault, ...]) -> tuple[Vault, ...]:
        """Return the vaults to pass to a service, including those passed before."""
        namespace = record.datacenter.namespace
        if names.OPENBAO_READY not in record.desired.service.depends_on:
            return ()
        key = ObjectKey(namespace, names.openbao_config_map(object_name(record)))
        before = (self._own(record, (CONFIG_MAP, key)) or {}).get("data") or {}
        services = {entry.service for entry in (*vault.parse_facts(before), *current)}
        clusters = {
            name: self._caches[CLUSTERS].get(
                ObjectKey(namespace, names.object_name(record.datacenter.name, name))
            )
            for name in services
        }
        live = {name: cluster for name, cluster in clusters.items() if cluster is not None}
        return vault.merge_vaults(before, current, live)

    def _is_verified(self, record: ServiceRecord, owned: Mapping[ObjectRef, Object]) -> bool:
        """Return whether the objects match the record; an unchanged state is not compared again."""
        vaults = self._vaults_for(record, ())
        state = _VerifiedState(record.desired.digest, vaults, _fingerprints(owned))
        if self._verified.get(record.id) == state:
            return True
        intents = _render(record, vaults)
        matches = all(
            contains(owned.get((intent.resource, intent.key)), intent.body) for intent in intents
        )
        if matches:
            self._verified[record.id] = state
        return matches

    # --- creation -----------------------------------------------------------------------------

    def _require_same_kind(self, record: ServiceRecord) -> None:
        if record.desired.service.kind == "OpenBaoCluster":
            return
        for live in self._caches[CLUSTERS].by_index(OWNER_INDEX, record.id):
            if is_terminating(live):
                continue
            message = (
                f"kind {record.desired.service.kind}: {reference(CLUSTERS, live)} has data and "
                "cannot change its kind; revert the kind to OpenBaoCluster, or remove the service "
                "and add it again after its removal"
            )
            raise ProviderError("KindImmutable", message, terminal=True)

    async def _replace_immutable(self, record: ServiceRecord, intents: tuple[Intent, ...]) -> bool:
        """Delete objects with immutable differences; return whether a deletion has to finish first.

        The pods and volumes of a StatefulSet are orphaned, and the new one adopts them.
        """
        pending = False
        for intent in intents:
            live = self._own(record, (intent.resource, intent.key))
            if live is None:
                continue
            if is_terminating(live):
                pending = pending or ORPHANING in (live["metadata"].get("finalizers") or ())
            elif immutable_difference(intent, live):
                await self._recreate(intent.resource, live)
                pending = True
        return pending

    async def _ensure(self, record: ServiceRecord, intent: Intent) -> Object | None:
        """Apply one object; None if its StatefulSet has to be recreated first."""
        applied = await self._apply.ensure(owner_of(record), intent)
        if applied.in_place and applied.live is not None:
            return applied.live
        live = self._own(record, (intent.resource, intent.key))
        if live is not None and intent.resource == STATEFUL_SET and IMMUTABLE in applied.message:
            await self._recreate(STATEFUL_SET, live)
            return None
        raise apply_error(applied)

    async def _recreate(self, resource: Resource, live: Object) -> None:
        """Delete an object to recreate it; pods and volumes of a StatefulSet are kept."""
        if await self._retention_applied("Retain", resource, live):
            await self._delete(resource, live, orphan=True)

    async def _prune(self, record: ServiceRecord, keep: Collection[ObjectRef]) -> None:
        """Delete objects of a previous body. Volumes of a previous StatefulSet are kept."""
        for live in self._caches[STATEFUL_SET].by_index(OWNER_INDEX, record.id):
            superseded = (STATEFUL_SET, key_of(live)) not in keep and not is_terminating(live)
            if superseded and not await self._retention_applied("Retain", STATEFUL_SET, live):
                return
        await self._apply.prune(owner_of(record), PRUNED, keep)

    # --- deletion -----------------------------------------------------------------------------

    async def _retention_applied(self, policy: str, resource: Resource, live: Object) -> bool:
        """Return whether the retention policy of a StatefulSet is in effect for its volumes.

        If not, it is patched first, and the StatefulSet controller updates the volumes.
        """
        spec = live.get("spec") or {}
        if resource != STATEFUL_SET or not spec.get("volumeClaimTemplates"):
            return True
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        if (retention.get("whenDeleted") or "Retain") != policy:
            content = {"whenScaled": "Retain", **retention, "whenDeleted": policy}
            await self._patch(resource, live, [{"op": "add", "path": _RETENTION, "value": content}])
            return False
        return is_generation_observed(live)

    async def _delete(self, resource: Resource, live: Object, *, orphan: bool = False) -> None:
        """Delete an object in the observed version; ignore that it changed or is gone."""
        if resource in WORKLOADS - {CLUSTERS}:
            propagation = "Orphan" if orphan else "Foreground"
        else:
            # An OpenBaoCluster deletes its objects by its own deletion policy.
            propagation = "Background"
        with contextlib.suppress(NotFound, Conflict):
            await self._client.delete(
                resource,
                key_of(live),
                uid=uid_of(live),
                # No precondition for a cluster: its status changes often.
                resource_version=None if resource == CLUSTERS else resource_version_of(live),
                propagation=propagation,
            )
        self._caches[resource].invalidate(key_of(live))

    async def _orphan(self, record: ServiceRecord, owned: Sequence[OwnedObject]) -> bool:
        """Orphan objects; return True once none has our ownership metadata."""
        for resource, live in owned:
            if not is_terminating(live):
                await self._patch(resource, live, orphaning_patch(record, MARKS, live))
        return not self._cached_objects(record) and not await self._live(record)

    async def _patch(self, resource: Resource, live: Object, ops: list[dict[str, Any]]) -> None:
        test = {"op": "test", "path": "/metadata/uid", "value": uid_of(live)}
        key = key_of(live)
        with contextlib.suppress(NotFound, Conflict, PatchFailed):
            patched = await self._client.json_patch(
                resource, key, [test, *ops], field_manager=FIELD_MANAGER
            )
            self._caches[resource].observe(patched)
        self._caches[resource].invalidate(key)


def owner_of(record: ServiceRecord) -> Owner:
    """Return the BootstrapWorkload of a record as owner of its objects."""
    return Owner(
        API_VERSION,
        WORKLOAD_KIND,
        "",
        names.workload_name(record.datacenter.name, record.name),
        record.id,
    )


@dataclass(frozen=True, slots=True)
class _VerifiedState:
    """A state of the objects of a record that matched the desired one."""

    digest: str
    vaults: tuple[Vault, ...]
    fingerprints: Mapping[ObjectRef, str]


def _fingerprints(owned: Mapping[ObjectRef, Object]) -> dict[ObjectRef, str]:
    return {ref: fingerprint(live) for ref, live in owned.items()}


def _render(record: ServiceRecord, vaults: tuple[Vault, ...]) -> tuple[Intent, ...]:
    try:
        return render(record, vaults)
    except (TypeError, ValueError) as error:
        message = f"service {record.name} cannot be rendered: {error}; change its body"
        raise ProviderError("Rejected", message, terminal=True) from error


_APPLY_ERRORS: Final = {
    Verdict.FOREIGN: ("Foreign", True),
    Verdict.REJECTED: ("Rejected", True),
    Verdict.TERMINATING: ("Terminating", False),
}

_ERRORS: Final[tuple[tuple[type[Exception], str, bool], ...]] = (
    (QuotaExceeded, "QuotaExceeded", False),
    (Forbidden, "Forbidden", True),
    (NotFound, "NamespaceNotFound", False),
    (Invalid, "Rejected", True),
    (TerminalError, "Rejected", True),
    # Any other error may be transient.
    (ApiError, "Unavailable", False),
    (Transient, "Unavailable", False),
)


def apply_error(applied: Applied) -> ProviderError:
    """Return the error for an object that was not applied."""
    reason, terminal = _APPLY_ERRORS[applied.verdict]
    return ProviderError(reason, applied.message, terminal=terminal)


@contextlib.contextmanager
def as_provider_error() -> Iterator[None]:
    """Convert errors of the API server to ProviderError; other errors propagate."""
    try:
        yield
    except (ApiError, Transient, TerminalError) as error:
        reason, terminal = next(
            (reason, terminal) for kind, reason, terminal in _ERRORS if isinstance(error, kind)
        )
        raise ProviderError(reason, str(error), terminal=terminal) from error
