"""Owned apply: the only writer of child objects.

One call per intent. It proves ownership before it writes, sends nothing when nothing changed,
and says in a value what became of each object. Callers: the apply step of a reconciler.

Semantics: Kubernetes API reference "Server-Side Apply"; the two-level change detection is
described in docs/adr/20261121-owned-apply.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from runtime.applied import Applied, Verdict
from runtime.client import Client
from runtime.errors import AlreadyExists, ApplyConflict, Conflict, Invalid, NotFound, Transient
from runtime.informer import Informer
from runtime.intent import Intent, contains, digest
from runtime.metrics import Metrics
from runtime.ownership import Claim, Marks, Owner, claim_of, describe_owner
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    annotations_of,
    controller_of,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)

OWNER_INDEX = "owner-uid"


def controller_uid(obj: Object) -> Iterable[str]:
    """Index function: the UID of the controlling owner."""
    controller = controller_of(obj)
    return () if controller is None else (controller.uid,)


class OwnedApply:
    """Writes intents for owners and remembers what each write left behind.

    Flow: find the live object (informer, else one metadata read), judge its owner, compare,
    send one server-side apply if anything differs, put the answer into the informer's store.

    Guarantees: an object of somebody else is never changed, not even when it appears between
    our read and our write; an unchanged intent costs no request; a foreign edit of a field we
    own costs exactly one.

    Assumptions: the informers select all objects that carry our labels; cached objects are
    never mutated.
    """

    def __init__(
        self,
        client: Client,
        informers: Mapping[Resource, Informer],
        *,
        field_manager: str,
        marks: Marks,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._informers = informers
        self._manager = field_manager
        self._marks = marks
        self._metrics = metrics
        # What our last write of an object left behind: live fingerprint and intent hash. The
        # server may store a value in another form than we sent, so the comparison in
        # `runtime.intent.contains` alone could send the same apply for ever.
        self._settled: dict[tuple[Resource, ObjectKey], tuple[str, str]] = {}
        # What the server refused, and of which state: asking again would give the same answer.
        self._refused: dict[tuple[Resource, ObjectKey], tuple[str, str, str]] = {}
        for resource, informer in informers.items():
            informer.add_index(OWNER_INDEX, controller_uid)
            metrics.register_apply(resource.plural)

    async def ensure_all(self, owner: Owner, intents: Sequence[Intent]) -> tuple[Applied, ...]:
        """Ensure independent intents at the same time; answers come in the order of `intents`.

        Raises the first transient error after every intent was tried, so that one failing
        object does not hold back the others.
        """
        results = await asyncio.gather(
            *(self.ensure(owner, intent) for intent in intents), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return tuple(result for result in results if isinstance(result, Applied))

    async def ensure(self, owner: Owner, intent: Intent) -> Applied:
        """Make one object be as intended.

        Raises Transient (and its API subclasses) when the server could not answer, and
        LeaseLost when this process may no longer write.
        """
        applied = await self._ensure(owner, intent)
        self._metrics.apply_total.labels(
            resource=intent.resource.plural, outcome=applied.verdict.value
        ).inc()
        return applied

    async def prune(
        self,
        owner: Owner,
        resources: Iterable[Resource],
        keep: Collection[tuple[Resource, ObjectKey]],
    ) -> tuple[ObjectKey, ...]:
        """Delete the owner's objects of the given kinds that a complete plan does not name.

        Only call this with a plan that did not stop early, and only for kinds that hold no data.
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
                    # Somebody was faster. The watch tells what is true now.
                    continue
                self._settled.pop((resource, key), None)
                gone.append(key)
        return tuple(gone)

    async def _ensure(self, owner: Owner, intent: Intent) -> Applied:
        wanted_hash = digest(intent.body)
        cached = self._informers[intent.resource].get(intent.key)
        live = cached if cached is not None else await self._look_up(intent)
        if live is None:
            return await self._create(owner, intent, wanted_hash)
        if is_terminating(live):
            return Applied(intent, Verdict.TERMINATING, live, f"{intent} is being deleted")
        if claim_of(live, owner, self._marks) is Claim.FOREIGN:
            return Applied(intent, Verdict.FOREIGN, live, self._foreign(intent, live))
        if cached is not None and self._is_settled(owner, intent, live, wanted_hash):
            return Applied(intent, Verdict.SKIPPED, live)
        refused = self._refused.get((intent.resource, intent.key))
        if refused is not None and refused[:2] == (fingerprint(live), wanted_hash):
            return Applied(intent, Verdict.REJECTED, live, refused[2])
        applied = await self._send(owner, intent, wanted_hash, uid=uid_of(live))
        if applied.verdict is Verdict.REJECTED:
            refusal = (fingerprint(live), wanted_hash, applied.message)
            self._refused[(intent.resource, intent.key)] = refusal
        return applied

    async def _look_up(self, intent: Intent) -> Object | None:
        # Not in the informer means "not selected by our labels", not "absent".
        try:
            return await self._client.get(intent.resource, intent.key, metadata_only=True)
        except NotFound:
            return None

    async def _create(self, owner: Owner, intent: Intent, wanted_hash: str) -> Applied:
        """Apply an object that was absent a moment ago.

        An apply creates or merges, whichever fits. When the answer says that it merged,
        somebody else's object came between our read and our write: our fields are taken back
        with an empty apply, which leaves that object as its owner made it.
        """
        applied = await self._send(owner, intent, wanted_hash, uid=None)
        if applied.verdict is not Verdict.UPDATED or applied.live is None:
            return applied
        self._settled.pop((intent.resource, intent.key), None)
        identity = {k: intent.body[k] for k in ("apiVersion", "kind")}
        identity["metadata"] = {"name": intent.key.name, "uid": uid_of(applied.live)}
        if intent.resource.namespaced:
            identity["metadata"]["namespace"] = intent.key.namespace
        restored = await self._client.apply(
            intent.resource, identity, field_manager=self._manager, force=False
        )
        return Applied(
            intent, Verdict.FOREIGN, restored.object, self._foreign(intent, restored.object)
        )

    async def _send(
        self, owner: Owner, intent: Intent, wanted_hash: str, *, uid: str | None
    ) -> Applied:
        body = self._marked(owner, intent, wanted_hash, uid)
        try:
            # Forced only on an object that was proven ours.
            result = await self._client.apply(
                intent.resource, body, field_manager=self._manager, force=uid is not None
            )
        except Invalid as error:
            return Applied(intent, Verdict.REJECTED, None, f"{intent}: {error.message}")
        except (ApplyConflict, AlreadyExists) as error:
            return Applied(intent, Verdict.FOREIGN, None, f"{intent} exists: {error.message}")
        except Conflict as error:
            # The UID no longer fits: deleted, or deleted and made anew, since we looked.
            raise Transient(f"{intent} changed while it was written: {error.message}") from error
        self._informers[intent.resource].observe(result.object)
        self._settled[(intent.resource, intent.key)] = (fingerprint(result.object), wanted_hash)
        verdict = Verdict.CREATED if result.created else Verdict.UPDATED
        return Applied(intent, verdict, result.object)

    def _is_settled(self, owner: Owner, intent: Intent, live: Object, wanted_hash: str) -> bool:
        print_now = fingerprint(live)
        slot = (intent.resource, intent.key)
        if self._settled.get(slot) == (print_now, wanted_hash):
            return True
        if annotations_of(live).get(self._marks.intent_hash) != wanted_hash:
            return False
        if not contains(live, self._marked(owner, intent, wanted_hash, uid_of(live))):
            return False
        self._settled[slot] = (print_now, wanted_hash)
        return True

    def _marked(self, owner: Owner, intent: Intent, wanted_hash: str, uid: str | None) -> Object:
        metadata = dict(intent.body["metadata"])
        metadata["ownerReferences"] = [owner.reference()]
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            self._marks.owner_uid: owner.uid,
            self._marks.intent_hash: wanted_hash,
        }
        if uid is not None:
            metadata["uid"] = uid
        return {**intent.body, "metadata": metadata}

    def _foreign(self, intent: Intent, live: Object) -> str:
        return f"{intent} exists and belongs to {describe_owner(live, self._marks)}"


def fingerprint(live: Object) -> str:
    """Name the state of an object as far as an owner of its spec is concerned.

    Kinds that count generations are named by generation and metadata, so that status updates
    do not matter; the others by their resourceVersion.
    """
    metadata = live["metadata"]
    generation = metadata.get("generation")
    if generation is None:
        return f"{metadata.get('uid')}/{resource_version_of(live)}"
    marks = [
        metadata.get(field)
        for field in ("labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp")
    ]
    return f"{metadata.get('uid')}/{generation}/{digest(marks)}"
