"""Writes the objects in the namespaces of tenants, as the delegate, and caches their state.

The provisioner may not list or watch Roles, so it reads each by name: before a write, and again
after a period, because no event reports a change. Between two reads it sends no request.

Writes are rate-limited, because RBAC changes seldom. Reads are not: each object is read
periodically anyway, and rate-limited reads of many tenants after a start would delay new clusters.

Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from contracts import tenancy
from managers.context.context import MARKS
from managers.tenancy.plan import QUOTA, quota_obstacle
from runtime.apply.apply import CREATE_ONLY
from runtime.apply.apply_result import Refusal, refusal_of
from runtime.apply.intent import Intent, contains
from runtime.apply.ownership import Owner, Ownership, describe_owner, ownership_of
from runtime.builtin_kinds import ROLE_BINDING
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.ratelimit import RateLimiter
from runtime.errors import ApiError, Forbidden, NotFound, PatchFailed, QuotaExceeded, Transient
from runtime.outcome import Blocked, Outcome, Wait
from runtime.types import Object, ObjectKey, Resource, annotations_of, is_terminating, uid_of

FIELD_MANAGER = "openbao-provisioner"
JITTER = 0.2
REFUSED_RECHECK = 60.0
"""Seconds to the next attempt after a refusal that only a user can resolve."""
TERMINATING_RECHECK = 5.0
"""Seconds to the next attempt in a terminating namespace."""
PROVISIONING_RECHECK = 1.0
"""Seconds to the next attempt while the API server has to finish a change."""

Slot = tuple[Resource, ObjectKey]


@dataclass(frozen=True, slots=True)
class NamespaceOwnership:
    """The owner of written objects, and the owner UIDs whose objects count as the tenant's own.

    `terminating`: the namespace is being deleted. `provisioning`: the tenant is not provisioned
    yet, so the reconciler waits until clusters can be created. `replaceable` contains the UIDs of
    objects that were deleted without their namespace, so the operator may replace them.
    """

    owner: Owner
    accepted: frozenset[str]
    terminating: bool
    provisioning: bool
    replaceable: frozenset[str]

    def owns(self, live: Object) -> bool:
        """Return whether an object belongs to the tenant or to a predecessor."""
        if ownership_of(live, self.owner, MARKS) is not Ownership.FOREIGN:
            return True
        return annotations_of(live).get(MARKS.owner_uid, "") in self.accepted


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    digest: str
    """UID of the owner and digest of the intent; "" if the object is absent."""
    until: float


class Grants:
    """The objects in the namespaces of all tenants.

    Guarantees: it never changes or removes an object of another owner; writes and deletions apply
    only to the object that was read, by UID; a verified object costs no request for `period`
    seconds, plus or minus a fifth. `pace` is the rate limiter of writes.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: random.Random,
        period: float,
        pace: RateLimiter,
    ) -> None:
        self._client = client
        self._clock = clock
        self._pace = pace
        self._rng = rng
        self._period = period
        self._cache: dict[Slot, _CacheEntry] = {}
        # UIDs of our terminating objects that have our finalizer, by namespace.
        self._terminating_objects: dict[str, set[str]] = {}

    def terminating_objects(self, namespace: str) -> frozenset[str]:
        """Return the UIDs of terminating objects that have our finalizer."""
        return frozenset(self._terminating_objects.get(namespace, ()))

    def recheck_after(self, namespace: str) -> float | None:
        """Return the seconds until an object of a namespace is read again."""
        expiries = [
            entry.until for (_, key), entry in self._cache.items() if key.namespace == namespace
        ]
        return max(0.0, min(expiries) - self._clock.monotonic()) if expiries else None

    def forget(self, namespace: str) -> None:
        """Drop a namespace from the cache: all its objects are read again."""
        for slot in [slot for slot in self._cache if slot[1].namespace == namespace]:
            del self._cache[slot]
        self._terminating_objects.pop(namespace, None)

    async def get(self, resource: Resource, key: ObjectKey) -> Object | None:
        """Read one object from the API server; None if it does not exist."""
        try:
            return await self._client.get(resource, key)
        except NotFound:
            return None

    async def ensure(self, ownership: NamespaceOwnership, intent: Intent) -> Outcome | None:
        """Create or update one object; None if it matches the intent, else the reason why not.

        Raises Transient, and transient errors of the API server.
        """
        slot = (intent.resource, intent.key)
        digest = f"{ownership.owner.uid} {intent.digest}"
        entry = self._valid_entry(slot)
        if entry is not None and entry.digest == digest:
            return None
        live = None if entry is not None and not entry.digest else await self.get(*slot)
        self._cache.pop(slot, None)
        if live is not None and not ownership.owns(live):
            return foreign(intent.resource, live)
        if live is not None and is_terminating(live):
            outcome = await self._handle_terminating(ownership, intent, live)
            if outcome is not None:
                return outcome
            live = None if uid_of(live) in ownership.replaceable else live
        if live is not None and _has_immutable_difference(intent, live):
            await self._release(intent.resource, intent.key, live)
            await self._delete(intent.resource, intent.key, live)
            live = None
        if live is None or not contains(live, _with_ownership(ownership.owner, intent, live)):
            written = await self._write(ownership.owner, intent, live)
            if isinstance(written, Wait | Blocked):
                return written
            live = written
        if (
            ownership.provisioning
            and intent.resource is QUOTA
            and (obstacle := quota_obstacle(live))
        ):
            return Wait("Provisioning", obstacle, PROVISIONING_RECHECK)
        self._set_entry(slot, digest)
        return None

    async def _handle_terminating(
        self, ownership: NamespaceOwnership, intent: Intent, live: Object
    ) -> Outcome | None:
        """Handle an object of ours that is terminating; None if it stays in use or was released.

        In a terminating namespace the object is deleted last, after the clusters. Otherwise it is
        recreated, but only after a later read shows that the namespace is not terminating.
        """
        needs_finalizer = tenancy.GRANT_FINALIZER in (
            intent.body["metadata"].get("finalizers") or ()
        )
        has_finalizer = tenancy.GRANT_FINALIZER in (live["metadata"].get("finalizers") or ())
        if needs_finalizer and has_finalizer and ownership.terminating:
            return None
        terminating = self._terminating_objects.setdefault(intent.key.namespace, set())
        if uid_of(live) in ownership.replaceable:
            await self._release(intent.resource, intent.key, live)
            terminating.discard(uid_of(live))
            return None
        if not needs_finalizer:
            await self._release(intent.resource, intent.key, live)
        else:
            terminating.add(uid_of(live))
        return Wait(
            "Provisioning", f"{intent} was deleted and is being recreated", PROVISIONING_RECHECK
        )

    async def remove(self, resource: Resource, key: ObjectKey, accepted: frozenset[str]) -> bool:
        """Remove an object of a tenant; return True if the object belongs to another owner."""
        slot = (resource, key)
        entry = self._valid_entry(slot)
        if entry is not None and not entry.digest:
            return False
        live = await self.get(resource, key)
        self._cache.pop(slot, None)
        if live is not None:
            if annotations_of(live).get(MARKS.owner_uid, "") not in accepted:
                return True
            await self._release(resource, key, live)
            if not is_terminating(live):
                await self._delete(resource, key, live)
        self._set_entry(slot, "")
        return False

    async def _write(
        self, owner: Owner, intent: Intent, live: Object | None
    ) -> Object | Wait | Blocked:
        body = _with_ownership(owner, intent, live)
        await self._throttle()
        try:
            result = await self._client.apply(
                intent.resource, body, field_manager=FIELD_MANAGER, force=live is not None
            )
        except ApiError as error:
            return _refusal_outcome(intent, error)
        return result.object

    async def _delete(self, resource: Resource, key: ObjectKey, live: Object) -> None:
        await self._throttle()
        try:
            await self._client.delete(resource, key, uid=uid_of(live))
        except NotFound:
            return

    async def _release(self, resource: Resource, key: ObjectKey, live: Object) -> None:
        """Remove our finalizer from this object, by UID."""
        finalizers = live["metadata"].get("finalizers") or []
        if tenancy.GRANT_FINALIZER not in finalizers:
            return
        at = finalizers.index(tenancy.GRANT_FINALIZER)
        path = f"/metadata/finalizers/{at}"
        await self._throttle()
        try:
            await self._client.json_patch(
                resource,
                key,
                [
                    {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
                    {"op": "test", "path": path, "value": tenancy.GRANT_FINALIZER},
                    {"op": "remove", "path": path},
                ],
                field_manager=FIELD_MANAGER,
            )
        except NotFound:
            return
        except PatchFailed as error:
            message = f"{resource.kind} {key} changed while its finalizer was removed"
            raise Transient(message) from error

    async def _throttle(self) -> None:
        """Wait until the rate limiter allows one more write. The object may change in the meantime:
        each write has a precondition on its UID, or only creates."""
        delay = self._pace.when(None)
        if delay > 0:
            await self._clock.sleep(delay)

    def _valid_entry(self, slot: Slot) -> _CacheEntry | None:
        entry = self._cache.get(slot)
        return entry if entry is not None and self._clock.monotonic() < entry.until else None

    def _set_entry(self, slot: Slot, digest: str) -> None:
        jitter = 1 + JITTER * (2 * self._rng.random() - 1)
        self._cache[slot] = _CacheEntry(digest, self._clock.monotonic() + self._period * jitter)


def foreign(resource: Resource, live: Object) -> Blocked:
    """Return the outcome for an object of another owner."""
    name = live["metadata"]["name"]
    message = f"{resource.kind} {name} exists and belongs to {describe_owner(live, MARKS)}"
    return Blocked("ForeignObject", message, REFUSED_RECHECK)


def _has_immutable_difference(intent: Intent, live: Object) -> bool:
    """Return whether an immutable field differs: the Role of a binding or the scopes of a quota."""
    if intent.resource is ROLE_BINDING:
        return bool(live.get("roleRef") != intent.body["roleRef"])
    return intent.resource is QUOTA and _scopes(live) != _scopes(intent.body)


def _scopes(quota: Object) -> set[str]:
    return set((quota.get("spec") or {}).get("scopes") or ())


def _with_ownership(owner: Owner, intent: Intent, live: Object | None) -> Object:
    metadata = dict(intent.body["metadata"])
    metadata["annotations"] = {MARKS.owner_uid: owner.uid, MARKS.intent_hash: intent.digest}
    if live is None:
        metadata["resourceVersion"] = CREATE_ONLY
    else:
        metadata["uid"] = uid_of(live)
    return {**intent.body, "metadata": metadata}


def _refusal_outcome(intent: Intent, error: ApiError) -> Wait | Blocked:
    match refusal_of(error):
        case Refusal.TERMINATING:
            return Wait("NamespaceTerminating", f"{intent}: {error.message}", TERMINATING_RECHECK)
        case Refusal.READ_AGAIN:
            raise Transient(f"{intent} changed while it was written: {error.message}") from error
        case Refusal.REJECTED:
            return Blocked("RejectedByServer", f"{intent}: {error.message}", REFUSED_RECHECK)
        case _:
            if isinstance(error, Forbidden) and not isinstance(error, QuotaExceeded):
                return Blocked("RejectedByServer", f"{intent}: {error.message}", REFUSED_RECHECK)
            raise error
