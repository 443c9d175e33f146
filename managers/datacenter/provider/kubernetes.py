"""Runs services as objects of the Kubernetes cluster that the operator itself runs in.

Uses runtime.apply.apply to create objects, and managers.datacenter.provider.objects to render them.
Called by managers.datacenter.lifecycle.driver. It observes caches only; before deleted objects
count as gone, it reads them from the API server once more.

An object belongs to a record by the UID of its controlling owner. A call does what is possible now:
if an object has to be gone first (a StatefulSet that is recreated), the next call continues, after
the watch has delivered the deletion.
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
from contracts.datacenter.service_spec import OPENBAO_READY
from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.context.context import FIELD_MANAGER, MARKS
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider import vault
from managers.datacenter.provider.objects import (
    KINDS,
    Slot,
    child,
    fixed_difference,
    render,
    slots,
    unmarking,
)
from managers.datacenter.provider.readiness import applied_digest, observed, reference
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
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)
from runtime.verdict import Verdict

RESOURCES: Final = (CLUSTERS, DEPLOYMENT, DAEMON_SET, STATEFUL_SET, SERVICE, CONFIG_MAP)
"""Every kind that a record may own, in the order of deletion."""
# An OpenBaoCluster is never pruned because the body changed.
PRUNED: Final = RESOURCES[1:]
WORKLOADS: Final = frozenset(KINDS.values())
# The refusal by the API server (1.36) of a change that `fixed_difference` does not cover.
IMMUTABLE: Final = "updates to statefulset spec for fields other than"
ORPHANING: Final = "orphan"
_RETENTION: Final = "/spec/persistentVolumeClaimRetentionPolicy"

Held = tuple[Resource, Object]


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
        """What spec.provider of a datacenter calls it."""
        return KUBERNETES

    async def observe(self, record: ServiceRecord) -> Observation:
        """Read the caches; ProviderError Rejected for a record that cannot be rendered."""
        owned = {(resource, key_of(live)): live for resource, live in self._cached(record)}
        digest = applied_digest(record, owned)
        if digest == record.desired.digest and not self._is_verified(record, owned):
            digest = ""
        return observed(record, owned, digest)

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update all objects in place; no request if they are up to date.

        ProviderErrors: Foreign, Rejected, Forbidden and KindFixed are terminal; Terminating,
        NamespaceNotFound, QuotaExceeded and Unavailable are not. LeaseLost passes through.
        """
        with as_provider_error():
            self._require_same_kind(record)
            used_vaults = self._vaults_for(record, vaults)
            intents = _rendered(record, used_vaults)
            if await self._replace_immutable(record, intents):
                return
            applied: dict[Slot, Object] = {}
            for intent in intents:
                live = await self._ensure(record, intent)
                if live is None:
                    return
                applied[(intent.resource, intent.key)] = live
            await self._prune(record, applied)
            # The API server may store a value in another form than it was sent.
            self._verified[record.id] = _VerifiedState(
                record.desired.digest, used_vaults, _prints(applied)
            )

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of the record, workloads first; True once all are confirmed gone.

        ProviderErrors: Forbidden is terminal; Unavailable is not. LeaseLost passes through.
        """
        self._verified.pop(record.id, None)
        with as_provider_error():
            held = self._cached(record) or await self._live(record)
            if not held:
                return True
            if record.desired.service.deletion_policy == "Orphan":
                return await self._orphan(record, held)
            # ConfigMaps and Services stay as long as the pods.
            for resource, live in [one for one in held if one[0] in WORKLOADS] or held:
                policy = record.desired.service.volume_policy
                if not is_terminating(live) and await self._retention_applied(
                    policy, resource, live
                ):
                    await self._delete(resource, live)
            return False

    # --- observation --------------------------------------------------------------------------

    def _cached(self, record: ServiceRecord) -> list[Held]:
        """Return the objects of the record, in the order of deletion."""
        return [
            (resource, live)
            for resource, cache in self._caches.items()
            for live in cache.by_index(OWNER_INDEX, record.id)
        ]

    async def _live(self, record: ServiceRecord) -> list[Held]:
        """Return the same from the API server, for all names that a record can have used."""
        objects: list[Held] = []
        owner = owner_of(record)
        for resource, key in reversed(slots(record)):
            with contextlib.suppress(NotFound):
                live = await self._client.get(resource, key)
                if ownership_of(live, owner, MARKS) is Ownership.MINE:
                    objects.append((resource, live))
        return objects

    def _own(self, record: ServiceRecord, slot: Slot) -> Object | None:
        live = self._caches[slot[0]].get(slot[1])
        mine = live is not None and ownership_of(live, owner_of(record), MARKS) is Ownership.MINE
        return live if mine else None

    def _vaults_for(self, record: ServiceRecord, current: tuple[Vault, ...]) -> tuple[Vault, ...]:
        """Return the vaults to pass to a record, including those passed before."""
        namespace = record.datacenter.namespace
        if OPENBAO_READY not in record.desired.service.depends_on:
            return ()
        key = ObjectKey(namespace, names.openbao_config_map(child(record)))
        before = (self._own(record, (CONFIG_MAP, key)) or {}).get("data") or {}
        services = {one.service for one in (*vault.remembered(before), *current)}
        clusters = {
            name: self._caches[CLUSTERS].get(
                ObjectKey(namespace, names.child(record.datacenter.name, name))
            )
            for name in services
        }
        live = {name: one for name, one in clusters.items() if one is not None}
        return vault.lasting(before, current, live)

    def _is_verified(self, record: ServiceRecord, owned: Mapping[Slot, Object]) -> bool:
        """Return whether the objects match the record; a verified state is not compared again."""
        vaults = self._vaults_for(record, ())
        state = _VerifiedState(record.desired.digest, vaults, _prints(owned))
        if self._verified.get(record.id) == state:
            return True
        intents = _rendered(record, vaults)
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
                f"kind {record.desired.service.kind}: {reference(CLUSTERS, live)} holds data and "
                "never becomes another kind; set it back to OpenBaoCluster, or remove the service "
                "and add it anew once it is gone"
            )
            raise ProviderError("KindFixed", message, terminal=True)

    async def _replace_immutable(self, record: ServiceRecord, intents: tuple[Intent, ...]) -> bool:
        """Delete objects with immutable differences; return whether one has to be gone first.

        The pods and volumes of a StatefulSet are orphaned, and the new one adopts them.
        """
        waits = False
        for intent in intents:
            live = self._own(record, (intent.resource, intent.key))
            if live is None:
                continue
            if is_terminating(live):
                waits = waits or ORPHANING in (live["metadata"].get("finalizers") or ())
            elif fixed_difference(intent, live):
                await self._recreate(intent.resource, live)
                waits = True
        return waits

    async def _ensure(self, record: ServiceRecord, intent: Intent) -> Object | None:
        """Apply one object; None if its StatefulSet has to be recreated first."""
        applied = await self._apply.ensure(owner_of(record), intent)
        if applied.in_place and applied.live is not None:
            return applied.live
        live = self._own(record, (intent.resource, intent.key))
        if live is not None and intent.resource == STATEFUL_SET and IMMUTABLE in applied.message:
            await self._recreate(STATEFUL_SET, live)
            return None
        raise refusal(applied)

    async def _recreate(self, resource: Resource, live: Object) -> None:
        """Delete an object to recreate it; pods and volumes of a StatefulSet stay."""
        if await self._retention_applied("Retain", resource, live):
            await self._delete(resource, live, orphan=True)

    async def _prune(self, record: ServiceRecord, keep: Collection[Slot]) -> None:
        """Delete objects of a former body. Volumes of a former StatefulSet stay."""
        for live in self._caches[STATEFUL_SET].by_index(OWNER_INDEX, record.id):
            former = (STATEFUL_SET, key_of(live)) not in keep and not is_terminating(live)
            if former and not await self._retention_applied("Retain", STATEFUL_SET, live):
                return
        await self._apply.prune(owner_of(record), PRUNED, keep)

    # --- deletion -----------------------------------------------------------------------------

    async def _retention_applied(self, policy: str, resource: Resource, live: Object) -> bool:
        """Return whether deleting a StatefulSet now treats its volumes by the policy.

        If not, its policy is patched first, and its controller updates the volumes.
        """
        spec, metadata = live.get("spec") or {}, live["metadata"]
        if resource != STATEFUL_SET or not spec.get("volumeClaimTemplates"):
            return True
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        if (retention.get("whenDeleted") or "Retain") != policy:
            content = {"whenScaled": "Retain", **retention, "whenDeleted": policy}
            await self._patch(resource, live, [{"op": "add", "path": _RETENTION, "value": content}])
            return False
        observed_generation = (live.get("status") or {}).get("observedGeneration") or 0
        return bool(observed_generation >= (metadata.get("generation") or 0))

    async def _delete(self, resource: Resource, live: Object, *, orphan: bool = False) -> None:
        """Delete an object in the observed version; ignore that it changed or is gone."""
        if resource in WORKLOADS - {CLUSTERS}:
            propagation = "Orphan" if orphan else "Foreground"
        else:
            # An OpenBaoCluster deletes its own objects, by its own policy.
            propagation = "Background"
        with contextlib.suppress(NotFound, Conflict):
            await self._client.delete(
                resource,
                key_of(live),
                uid=uid_of(live),
                # The status of a cluster changes all the time, which does not matter here.
                resource_version=None if resource == CLUSTERS else resource_version_of(live),
                propagation=propagation,
            )
        self._caches[resource].doubt(key_of(live))

    async def _orphan(self, record: ServiceRecord, held: Sequence[Held]) -> bool:
        """Orphan objects; return whether none has our ownership metadata any more."""
        for resource, live in held:
            if not is_terminating(live):
                await self._patch(resource, live, unmarking(record, MARKS, live))
        return not self._cached(record) and not await self._live(record)

    async def _patch(self, resource: Resource, live: Object, ops: list[dict[str, Any]]) -> None:
        same = {"op": "test", "path": "/metadata/uid", "value": uid_of(live)}
        key = key_of(live)
        with contextlib.suppress(NotFound, Conflict, PatchFailed):
            done = await self._client.json_patch(
                resource, key, [same, *ops], field_manager=FIELD_MANAGER
            )
            self._caches[resource].observe(done)
        self._caches[resource].doubt(key)


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
    """A state of the objects of a record that was verified as desired."""

    digest: str
    vaults: tuple[Vault, ...]
    prints: Mapping[Slot, str]


def _prints(owned: Mapping[Slot, Object]) -> dict[Slot, str]:
    return {slot: fingerprint(live) for slot, live in owned.items()}


def _rendered(record: ServiceRecord, vaults: tuple[Vault, ...]) -> tuple[Intent, ...]:
    try:
        return render(record, vaults)
    except (TypeError, ValueError) as error:
        message = f"service {record.name} cannot be made: {error}; change its body"
        raise ProviderError("Rejected", message, terminal=True) from error


_REFUSALS: Final = {
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


def refusal(applied: Applied) -> ProviderError:
    """Return the error for an object that was not applied."""
    reason, terminal = _REFUSALS[applied.verdict]
    return ProviderError(reason, applied.message, terminal=terminal)


@contextlib.contextmanager
def as_provider_error() -> Iterator[None]:
    """Convert errors of the API server to ProviderError; others pass through."""
    try:
        yield
    except (ApiError, Transient, TerminalError) as error:
        reason, terminal = next(
            (reason, terminal) for kind, reason, terminal in _ERRORS if isinstance(error, kind)
        )
        raise ProviderError(reason, str(error), terminal=terminal) from error
