"""Owned apply: the only writer of child objects.

One call per intent. It verifies ownership before it writes, sends nothing if nothing changed, and
returns a verdict for each object. Called by the apply step of a reconciler.

Semantics: Kubernetes API reference "Server-Side Apply"; the two-level change detection is
described in docs/adr/20261121-owned-apply.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from runtime.apply.apply_cache import ApplyCache, EntryRemover
from runtime.apply.apply_result import Applied, Refusal, refusal_of
from runtime.apply.intent import Intent, contains
from runtime.apply.managed_fields import upgrade
from runtime.apply.ownership import (
    OWNER_INDEX,
    Owner,
    Ownership,
    OwnershipKeys,
    describe_owner,
    ownership_of,
)
from runtime.cache.cache import Cache
from runtime.cache.store import same_state
from runtime.client.client import ApplyResult, Client
from runtime.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    Conflict,
    Forbidden,
    NotFound,
    TerminalError,
    Transient,
)
from runtime.metrics.metrics import Metrics
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    controller_of,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)
from runtime.verdict import Verdict

CREATE_ONLY = "1"
"""The resourceVersion of an apply that may create an object and never merge into one.

The server compares it only with an existing object, and no object has it: etcd starts at revision
1, and the first write is revision 2.
"""

TAKEOVER_TRIES = 3

UNSELECTED = 1024
"""Maximum number of stored names of objects that no cache selects; `ensure` reads these first."""


def controller_uid(obj: Object) -> Iterable[str]:
    """Index function: the UID of the controlling owner."""
    controller = controller_of(obj)
    return () if controller is None else (controller.uid,)


class OwnedApply:
    """Applies intents for owners and caches the result of each write.

    Flow: find the live object in the cache, check its owner, compare, send one server-side apply if
    anything differs, put the response into the cache. An object that is not in the cache is created
    by an apply that cannot change an existing object; only if the server refuses it, one metadata
    read shows whether an object without our labels exists, and its owner.

    Guarantees: an object of another owner is never changed, not even if it is created between our
    read and our write; an unchanged intent costs no request; an edit of one of our fields by
    another client costs exactly one. The results are bounded by the content of the informers.

    Assumptions: the informers select all objects with our labels; cached objects are never mutated.
    """

    def __init__(
        self,
        client: Client,
        informers: Mapping[Resource, Cache],
        *,
        field_manager: str,
        marks: OwnershipKeys,
        metrics: Metrics,
        apply_cache: ApplyCache,
    ) -> None:
        self._client = client
        self._informers = informers
        self._manager = field_manager
        self._marks = marks
        # The server may store a value in another form than we sent, so with the comparison in
        # `runtime.apply.intent.contains` alone the same apply could be sent forever.
        self._apply_cache = apply_cache
        # A missing name costs one refused write; the result is still correct.
        self._unselected: dict[tuple[Resource, ObjectKey], None] = {}
        self._outcomes = {kind.plural: metrics.register_apply(kind.plural) for kind in informers}
        for resource, informer in informers.items():
            informer.add_index(OWNER_INDEX, controller_uid)
            informer.add_handler(EntryRemover(apply_cache, resource))

    async def ensure_all(self, owner: Owner, intents: Sequence[Intent]) -> tuple[Applied, ...]:
        """Ensure independent intents in parallel; the results are in the order of `intents`.

        Raises the first transient error after every intent was tried, so that one failing object
        does not block the others.
        """
        # An unchanged intent needs no task; in a quiet cluster all are unchanged.
        unchanged = [self._result_if_unchanged(owner, intent) for intent in intents]
        results = await asyncio.gather(
            *(
                self.ensure(owner, intent)
                for intent, skipped in zip(intents, unchanged, strict=True)
                if skipped is None
            ),
            return_exceptions=True,
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
        answers = iter([result for result in results if isinstance(result, Applied)])
        return tuple(next(answers) if applied is None else applied for applied in unchanged)

    async def ensure(self, owner: Owner, intent: Intent) -> Applied:
        """Create or update one object so that it matches its intent.

        Raises Transient (and its API subclasses) if the server cannot respond, and LeaseLost if
        this process may no longer write.
        """
        skipped = self._result_if_unchanged(owner, intent)
        if skipped is not None:
            return skipped
        return self._count(await self._ensure(owner, intent))

    async def prune(
        self,
        owner: Owner,
        resources: Iterable[Resource],
        keep: Collection[tuple[Resource, ObjectKey]],
    ) -> tuple[ObjectKey, ...]:
        """Delete the owner's objects of these kinds that are not in `keep`.

        Call this only with a complete plan, and only for kinds without data.
        """
        gone: list[ObjectKey] = []
        for resource in resources:
            for live in self._informers[resource].by_index(OWNER_INDEX, owner.uid):
                key = key_of(live)
                if (resource, key) in keep or is_terminating(live):
                    continue
                try:
                    await self._client.delete(
                        resource, key, uid=uid_of(live), resource_version=resource_version_of(live)
                    )
                except (NotFound, Conflict):
                    # Another client changed or deleted it first. The next read shows the current
                    # state.
                    self._informers[resource].invalidate(key)
                    continue
                self._informers[resource].invalidate(key)
                self._apply_cache.drop((resource, key))
                gone.append(key)
        return tuple(gone)

    def _result_if_unchanged(self, owner: Owner, intent: Intent) -> Applied | None:
        """Return SKIPPED without a request if the cached object is ours and known to match."""
        live = self._informers[intent.resource].get(intent.key)
        if live is None or is_terminating(live):
            return None
        slot = (intent.resource, intent.key)
        if not self._apply_cache.holds(slot, live, intent.digest):
            return None
        if ownership_of(live, owner, self._marks) is not Ownership.MINE:
            return None
        return self._count(Applied(intent, Verdict.SKIPPED, live))

    def _count(self, applied: Applied) -> Applied:
        self._outcomes[applied.intent.resource.plural][applied.verdict.value].inc()
        return applied

    async def _ensure(self, owner: Owner, intent: Intent) -> Applied:
        cached = self._informers[intent.resource].get(intent.key)
        if cached is None:
            return await self._ensure_uncached(owner, intent)
        refusal = self._not_ours(owner, intent, cached)
        if refusal is not None:
            return refusal
        slot = (intent.resource, intent.key)
        rejected = self._apply_cache.refusal(slot, cached, intent.digest)
        if rejected is not None:
            return Applied(intent, Verdict.REJECTED, cached, rejected)
        # The hash in our annotations detects fields that were removed from the intent.
        if contains(cached, self._with_ownership(owner, intent, cached)):
            self._apply_cache.note(slot, cached, intent.digest)
            return Applied(intent, Verdict.SKIPPED, cached)
        applied = await self._send(owner, intent, cached)
        if applied.verdict is Verdict.REJECTED:
            self._apply_cache.note(slot, cached, intent.digest, refusal=applied.message)
        return applied

    async def _ensure_uncached(self, owner: Owner, intent: Intent) -> Applied:
        """Create an object that is not in the cache; read first only if one may exist."""
        slot = (intent.resource, intent.key)
        if not self._informers[intent.resource].may_hide(intent.key):
            return await self._send(owner, intent, None)
        refused = None if slot in self._unselected else await self._try_to_create(owner, intent)
        if isinstance(refused, Applied) and refused.verdict is not Verdict.REJECTED:
            return refused
        live = await self._look_up(intent)
        if live is None:
            self._unselected.pop(slot, None)
            if isinstance(refused, Forbidden):
                raise refused
            return refused or await self._send(owner, intent, None)
        answer = self._not_ours(owner, intent, live)
        if answer is None:
            self._unselected.pop(slot, None)
            return await self._send(owner, intent, live)
        self._unselected[slot] = None
        if len(self._unselected) > UNSELECTED:
            del self._unselected[next(iter(self._unselected))]
        return answer

    async def _try_to_create(self, owner: Owner, intent: Intent) -> Applied | Forbidden | None:
        """Return the result, or the refusal if it does not show whether an object exists."""
        try:
            return await self._send(owner, intent, None)
        except Forbidden as error:
            # A webhook may refuse before the server compares versions.
            return error
        except Transient as error:
            if not isinstance(error.__cause__, _EXISTING):
                raise
            return None

    def _not_ours(self, owner: Owner, intent: Intent, live: Object) -> Applied | None:
        """Return why the existing object must not be changed; None if it may be."""
        if is_terminating(live):
            return Applied(intent, Verdict.TERMINATING, live, f"{intent} is being deleted")
        if ownership_of(live, owner, self._marks) is Ownership.FOREIGN:
            return Applied(intent, Verdict.FOREIGN, live, self._foreign(intent, live))
        return None

    async def _look_up(self, intent: Intent) -> Object | None:
        try:
            return await self._client.get(intent.resource, intent.key, metadata_only=True)
        except NotFound:
            return None

    async def _send(self, owner: Owner, intent: Intent, live: Object | None) -> Applied:
        """Apply to the live object, or create it if there is none."""
        body = self._with_ownership(owner, intent, live)
        try:
            result = await self._apply(intent, body, force=live is not None)
            result = await self._take_over(intent, body, result)
        except ApiError as error:
            # The cached state may be outdated.
            self._informers[intent.resource].invalidate(intent.key)
            return _result_of_error(intent, error)
        if live is None and not result.created:
            raise TerminalError(f"{intent}: the server merged an apply that may only create")
        informer = self._informers[intent.resource]
        informer.observe(result.object)
        cached = informer.get(intent.key)
        if cached is not None:
            # The reduced object, not the response: its managedFields take several times as much.
            live = cached if same_state(cached, result.object) else result.object
            self._apply_cache.note((intent.resource, intent.key), live, intent.digest)
        verdict = Verdict.CREATED if result.created else Verdict.UPDATED
        return Applied(intent, verdict, result.object)

    async def _apply(self, intent: Intent, body: Object, *, force: bool) -> ApplyResult:
        # Force only on an object whose ownership was verified.
        return await self._client.apply(
            intent.resource, body, field_manager=self._manager, force=force
        )

    async def _take_over(self, intent: Intent, body: Object, result: ApplyResult) -> ApplyResult:
        """Take over the fields of former managers, if there are any.

        Only the response to an apply contains managedFields. A second apply then removes the fields
        that are ours now and not in the intent.
        """
        live = result.object
        for _ in range(TAKEOVER_TRIES):
            ops = upgrade(live, self._marks.legacy_managers, self._manager)
            if ops is None:
                return result
            try:
                await self._client.json_patch(intent.resource, intent.key, ops)
            except Conflict:
                live = await self._client.get(intent.resource, intent.key)
                continue
            metadata = {**body["metadata"], "uid": uid_of(live)}
            metadata.pop("resourceVersion", None)
            again = await self._apply(intent, {**body, "metadata": metadata}, force=True)
            return ApplyResult(again.object, created=result.created)
        raise Transient(f"{intent} changed repeatedly while its fields were taken over")

    def _with_ownership(self, owner: Owner, intent: Intent, live: Object | None) -> Object:
        metadata = dict(intent.body["metadata"])
        if not intent.outlives_owner:
            metadata["ownerReferences"] = [owner.reference()]
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            self._marks.owner_uid: owner.uid,
            self._marks.intent_hash: intent.digest,
        }
        if live is None:
            metadata["resourceVersion"] = CREATE_ONLY
        else:
            metadata["uid"] = uid_of(live)
        return {**intent.body, "metadata": metadata}

    def _foreign(self, intent: Intent, live: Object) -> str:
        return f"{intent} exists and belongs to {describe_owner(live, self._marks)}"


_EXISTING = (AlreadyExists, ApplyConflict, Conflict)


def _result_of_error(intent: Intent, error: ApiError) -> Applied:
    """Convert an error to a result, or raise it, as REFUSALS in apply_result defines."""
    match refusal_of(error):
        case Refusal.REJECTED:
            return Applied(intent, Verdict.REJECTED, None, f"{intent}: {error.message}")
        case Refusal.TERMINATING:
            return Applied(intent, Verdict.TERMINATING, None, f"{intent}: {error.message}")
        case Refusal.READ_AGAIN:
            message = f"{intent} changed while it was written: {error.message}"
            raise Transient(message) from error
        case Refusal.TERMINAL:
            raise TerminalError(f"{intent}: {error}") from error
        case Refusal.RAISED:
            raise error
