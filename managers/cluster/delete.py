"""Deletion under the finalizer: what is deleted with a cluster, and in which order.

| policy | volumes, audit files | unseal key, root token, recovery shares |
|---|---|---|
| Retain (default) | kept | kept, without owner reference |
| DeletePVCs, DeleteAll | deleted after the pods | deleted with the cluster |

Everything else is garbage-collected through owner references. Backups are always kept: their
objects and their snapshots. No request is sent to a server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import labels, names
from contracts.naming.revision_patterns import pod_of_claim, stateful_set_of
from contracts.pools.owned_names import COMMON_CLAIMS
from contracts.pools.voter_pool import ServerPool, voter_pools
from contracts.tenancy import kept_secrets
from contracts.unseal_keys import KeyRing
from managers.cluster.observe.from_objects import own_stateful_set_facts
from managers.cluster.observe.observer import CLUSTER_INDEX
from managers.context.context import MARKS, Context
from managers.context.effect_events import record_warning
from runtime.apply.ownership import Owner, Ownership, ownership_of
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.errors import Conflict, NotFound
from runtime.limits.object_size import oversize_of
from runtime.outcome import Done, Outcome, Wait
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

PODS_RECHECK = 5.0
# How long the deletion of volumes waits for the pods. A lost node or a hanging server must not
# block the deletion of the cluster or of its namespace. After that, the API server keeps each
# volume until its pod has terminated (PROTECTED).
PODS_GRACE_PERIOD = timedelta(seconds=30)
PROTECTED = "kubernetes.io/pvc-protection"


@dataclass(frozen=True, slots=True)
class DeletionTarget:
    """A cluster under deletion, the time of the request, and the Secrets that may be kept.

    `voters`: StatefulSets of voters that the status names; the serving pool comes first.
    """

    owner: Owner
    requested_at: datetime
    voters: tuple[str, ...]
    retained_secrets: tuple[str, ...] = ()


class Deletion:
    """Runs a deletion, one reconcile at a time; every step may be repeated.

    Guarantees: the owner references of keys that can open retained volumes are removed before the
    finalizer. A volume is deleted only with its UID as precondition, only if it carries our UID,
    and never while a pod could write to it. The deletion completes within PODS_GRACE_PERIOD and one
    reconcile, whatever the servers do.
    """

    def __init__(self, context: Context, informers: Mapping[Resource, Cache]) -> None:
        self._context = context
        self._informers = informers

    async def run(
        self, cluster: OpenBaoCluster | None, owner: Owner, requested_at: datetime
    ) -> Outcome:
        """Apply the policy; `Wait` while pods still run, `Done` when the finalizer may be removed.

        A cluster with an unreadable spec (None) has the policy Retain. `requested_at`:
        metadata.deletionTimestamp.
        """
        policy = "Retain" if cluster is None else cluster.spec.deletion_policy
        pools = voter_pools(cluster) if cluster is not None else (ServerPool(owner.name),)
        voters = tuple(pool.stateful_set for pool in pools)
        target = DeletionTarget(owner, requested_at, voters, kept_secrets(cluster, owner.name))
        for step in POLICIES[policy]:
            outcome = await step(self, target)
            if not isinstance(outcome, Done):
                return outcome
        return Done()

    async def _retain_keys(self, target: DeletionTarget) -> Outcome:
        owner = target.owner
        secrets = dict.fromkeys(target.retained_secrets)
        if names.unseal_key_secret(owner.name) in secrets:
            # Older keys open older snapshots, and a newer key may just have been generated.
            newest = self._newest_key(target) + 1
            secrets |= dict.fromkeys(names.unseal_key_secrets(owner.name, newest))
        for name in secrets:
            await self._orphan(ObjectKey(owner.namespace, name), owner)
        return Done()

    def _newest_key(self, target: DeletionTarget) -> int:
        key = ObjectKey(target.owner.namespace, target.voters[0])
        stateful_set = self._informers[STATEFUL_SET].get(key)
        if stateful_set is not None and oversize_of(stateful_set) is not None:
            # Its content is unknown, and the deletion must complete: assume the usual number.
            return 0
        live = own_stateful_set_facts(target.owner, stateful_set)
        ring = KeyRing.parse(live.unseal) if live is not None else None
        return max(key.generation for key in ring.keys) if ring is not None else 0

    async def _orphan(self, key: ObjectKey, owner: Owner) -> None:
        """Remove our owner reference from a Secret; its annotation still names the owner."""
        try:
            secret = await self._context.client.get(SECRET, key, metadata_only=True)
            controller = controller_of(secret)
            if controller is None or controller.uid != owner.uid:
                return
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
            return

    async def _stop_servers(self, target: DeletionTarget) -> Outcome:
        owner = target.owner
        stopping = [await self._stop(owner, name) for name in self._stateful_sets(target)]
        pods = self._pods(owner)
        if not (any(stopping) or pods) or self._is_late(target):
            return Done()
        message = "the servers stop before their volumes are deleted"
        if pods:
            message += f": {_names(pods)} still running (timeout {PODS_GRACE_PERIOD.seconds} s)"
        retained = self._retained_claims(owner)
        if retained:
            message += (
                "; kept, because they belong to an earlier cluster of this name: "
                f"{_names(retained)}"
            )
        return Wait("Deleting", message, PODS_RECHECK)

    async def _delete_volumes(self, target: DeletionTarget) -> Outcome:
        owner = target.owner
        unprotected, pods = [], self._pods(owner)
        for pvc in self._claims(owner):
            if is_terminating(pvc) or not _is_ours(pvc, owner):
                continue
            if pods and PROTECTED not in (pvc["metadata"].get("finalizers") or ()):
                # Nothing would protect it while a pod still writes.
                unprotected.append(pvc)
                continue
            with contextlib.suppress(NotFound, Conflict):
                await self._context.client.delete(PVC, key_of(pvc), uid=uid_of(pvc))
        self._record_events(target, pods, unprotected)
        return Done()

    def _record_events(
        self, target: DeletionTarget, pods: Sequence[Object], unprotected: Sequence[Object]
    ) -> None:
        retained = self._retained_claims(target.owner)
        if retained:
            record_warning(
                self._context,
                target.owner,
                "VolumesKept",
                f"Kept {_names(retained)}: an earlier cluster of this name or another owner "
                "created them",
            )
        if pods:
            record_warning(
                self._context,
                target.owner,
                "ServersStillRun",
                f"{_names(pods)} did not terminate within {PODS_GRACE_PERIOD.seconds} s. "
                "Kubernetes deletes each volume after its pod has terminated. Force-delete a pod "
                "only if its node is powered off",
            )
        if unprotected:
            record_warning(
                self._context,
                target.owner,
                "VolumesKept",
                f"Kept {_names(unprotected)}: a pod is still running, and these PVCs do not have "
                f"the finalizer {PROTECTED}. Delete them after the pod has terminated",
            )

    def _is_late(self, target: DeletionTarget) -> bool:
        return self._context.clock.now() - target.requested_at >= PODS_GRACE_PERIOD

    def _pods(self, owner: Owner) -> list[Object]:
        pods = self._informers[POD].by_index(CLUSTER_INDEX, str(owner.key))
        return sorted(
            (pod for pod in pods if _stateful_set_of(owner, key_of(pod).name)), key=key_of
        )

    def _stateful_sets(self, target: DeletionTarget) -> list[str]:
        """Name the StatefulSets in the status, and those of which a pod or a volume is left."""
        owner = target.owner
        claims = self._informers[PVC].by_index(CLUSTER_INDEX, str(owner.key))
        leftovers = {_stateful_set_of(owner, key_of(pod).name) for pod in self._pods(owner)}
        leftovers |= {_stateful_set_of_pvc(owner, pvc) for pvc in claims}
        named = (*target.voters, names.read_stateful_set(owner.name))
        return list(dict.fromkeys((*named, *sorted(leftovers - {""}))))

    def _claims(self, owner: Owner) -> list[Object]:
        """Return every volume that servers of this name use, whatever its owner."""
        claims = self._informers[PVC].by_index(CLUSTER_INDEX, str(owner.key))
        keys = (ObjectKey(owner.namespace, name(owner.name)) for name in COMMON_CLAIMS)
        common_pvcs = (self._informers[PVC].get(key) for key in keys)
        data = sorted((pvc for pvc in claims if _stateful_set_of_pvc(owner, pvc)), key=key_of)
        return data + [pvc for pvc in common_pvcs if pvc is not None]

    def _retained_claims(self, owner: Owner) -> list[Object]:
        return [pvc for pvc in self._claims(owner) if not _is_ours(pvc, owner)]

    async def _stop(self, owner: Owner, name: str) -> bool:
        """Delete our StatefulSet if it exists; report whether it still exists."""
        key = ObjectKey(owner.namespace, name)
        live = self._informers[STATEFUL_SET].get(key)
        if live is None or ownership_of(live, owner, MARKS) is Ownership.FOREIGN:
            return False
        if not is_terminating(live):
            with contextlib.suppress(NotFound, Conflict):
                await self._context.client.delete(
                    STATEFUL_SET, key, uid=uid_of(live), propagation="Foreground"
                )
        return True


Step = Callable[[Deletion, DeletionTarget], Awaitable[Outcome]]
_VOLUMES: tuple[Step, ...] = (Deletion._stop_servers, Deletion._delete_volumes)
POLICIES: Mapping[str, tuple[Step, ...]] = {
    "Retain": (Deletion._retain_keys,),
    "DeletePVCs": _VOLUMES,
    "DeleteAll": _VOLUMES,
}


def _stateful_set_of(owner: Owner, pod: str) -> str:
    """Return the StatefulSet of a server pod by the name of the pod; "" for any other pod."""
    if names.read_ordinal_of(owner.name, pod) is not None:
        return names.read_stateful_set(owner.name)
    return stateful_set_of(owner.name, pod) or ""


def _stateful_set_of_pvc(owner: Owner, pvc: Object) -> str:
    """Return the StatefulSet whose pod uses a data volume; "" for any other volume."""
    return _stateful_set_of(owner, pod_of_claim(key_of(pvc).name))


def _is_ours(pvc: Object, owner: Owner) -> bool:
    return annotations_of(pvc).get(labels.OWNER_UID) == owner.uid


def _names(objects: Sequence[Object]) -> str:
    return ", ".join(key_of(obj).name for obj in objects)
