"""Deletion under the finalizer: what goes with a cluster, and in which order.

| policy | volumes, audit files | unseal key, root token, recovery shares |
|---|---|---|
| Retain (default) | stay | stay, without owner |
| DeletePVCs, DeleteAll | go, after the pods | go with the cluster |

Everything else goes by garbage collection through owner references.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from contracts import labels, names
from contracts.api.cluster import OpenBaoCluster
from contracts.observed import Observed
from contracts.unseal_keys import KeyRing
from managers.access.context import MARKS, Context
from managers.cluster.facts import stateful_set_facts
from managers.cluster.observe import Observer
from runtime.errors import Conflict, NotFound
from runtime.informer import Informer
from runtime.outcome import Done, Outcome, Wait
from runtime.ownership import Claim, Owner, claim_of
from runtime.resources import PVC, SECRET, STATEFUL_SET
from runtime.types import (
    ObjectKey,
    Resource,
    annotations_of,
    controller_of,
    resource_version_of,
    uid_of,
)

PODS_RECHECK = 5.0


class Deletion:
    """Carries a deletion out, one look at a time; every step may be repeated.

    Guarantees: keys that can open retained volumes are let go of before the finalizer is; a
    volume is deleted only with its UID, only when it carries our UID, and only after the last
    pod that could write to it is gone.
    """

    def __init__(
        self, context: Context, observer: Observer, informers: Mapping[Resource, Informer]
    ) -> None:
        self._context = context
        self._observer = observer
        self._informers = informers

    async def run(self, cluster: OpenBaoCluster | None, owner: Owner) -> Outcome:
        """Do what the policy asks; `Wait` while pods still run, `Done` when the cluster may go.

        A cluster whose spec cannot be read any more (None) loses nothing: it is retained.
        """
        if cluster is None or cluster.spec.deletion_policy == "Retain":
            await self._retain_keys(owner)
            return Done()
        return await self._delete_volumes(cluster, owner)

    async def _retain_keys(self, owner: Owner) -> None:
        generation, newest = 1, self._newest_key(owner)
        # Older keys open older snapshots, and a newer one may have been drawn a moment ago.
        while await self._orphan(_key(owner, generation), owner) or generation <= newest:
            generation += 1
        for name in (
            names.root_token_secret(owner.name),
            names.recovery_shares_secret(owner.name),
        ):
            await self._orphan(ObjectKey(owner.namespace, name), owner)

    def _newest_key(self, owner: Owner) -> int:
        live = stateful_set_facts(self._informers[STATEFUL_SET].get(owner.key))
        ring = KeyRing.parse(live.unseal) if live is not None else None
        return max(key.generation for key in ring.keys) if ring is not None else 0

    async def _orphan(self, key: ObjectKey, owner: Owner) -> bool:
        """Take our owner reference off a Secret; its annotation still says whose it was.

        Tells whether there is a Secret of that name.
        """
        try:
            secret = await self._context.client.get(SECRET, key, metadata_only=True)
            controller = controller_of(secret)
            if controller is None or controller.uid != owner.uid:
                return True
            await self._context.client.json_patch(
                SECRET,
                key,
                [
                    {"op": "test", "path": "/metadata/uid", "value": uid_of(secret)},
                    {
                        "op": "replace",
                        "path": "/metadata/resourceVersion",
                        "value": resource_version_of(secret),
                    },
                    {"op": "remove", "path": "/metadata/ownerReferences"},
                ],
            )
        except NotFound:
            return False
        return True

    async def _delete_volumes(self, cluster: OpenBaoCluster, owner: Owner) -> Outcome:
        observed = await self._observer.observe(cluster, owner)
        if await self._stop_pods(owner, observed):
            return Wait("Deleting", "the servers stop before their volumes go", PODS_RECHECK)
        for claim in observed.claims:
            if claim.owner_uid != owner.uid or claim.terminating:
                # Somebody else's, or one of an earlier cluster of this name: not ours to judge.
                continue
            try:
                await self._context.client.delete(
                    PVC, ObjectKey(owner.namespace, claim.name), uid=claim.uid
                )
            except (NotFound, Conflict):
                continue
        for shared in (names.audit_claim(owner.name), names.acme_cache_claim(owner.name)):
            await self._delete_shared_volume(owner, shared)
        return Done()

    async def _delete_shared_volume(self, owner: Owner, name: str) -> None:
        """Delete a claim that several servers mount, if its annotation says that it is ours."""
        key = ObjectKey(owner.namespace, name)
        live = self._informers[PVC].get(key)
        if live is None or annotations_of(live).get(labels.OWNER_UID) != owner.uid:
            return
        with contextlib.suppress(NotFound, Conflict):
            await self._context.client.delete(PVC, key, uid=uid_of(live))

    async def _stop_pods(self, owner: Owner, observed: Observed) -> bool:
        """Delete the StatefulSet if it is there; tell whether it or a pod of it still is."""
        live = self._informers[STATEFUL_SET].get(owner.key)
        if live is None or claim_of(live, owner, MARKS) is Claim.FOREIGN:
            return bool(observed.pods)
        if not live["metadata"].get("deletionTimestamp"):
            try:
                await self._context.client.delete(
                    STATEFUL_SET, owner.key, uid=uid_of(live), propagation="Foreground"
                )
            except (NotFound, Conflict):
                return True
        return True


def _key(owner: Owner, generation: int) -> ObjectKey:
    return ObjectKey(owner.namespace, names.unseal_key_secret(owner.name, generation))
