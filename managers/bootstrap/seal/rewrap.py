"""Rewraps the root key with the newest key of the static seal, so that the old one can be removed.

Called by managers.cluster.adminops.reconcile, which has a session with the servers. OpenBao 2.4.0
rewraps the root key when a server with another key becomes the leader. It silently skips this
without a recovery key (openbao issue 3996), which is the case after every self-init. But a rotation
of the root key always wraps it with the current key of the leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import labels
from contracts.records.observed import EffectAttempt, PodFacts
from contracts.unseal_keys import KeyRing
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import TokenSource, request_with_token
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_events import record_normal
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD
from runtime.errors import NotFound, PatchFailed
from runtime.types import ObjectKey

REWRAP = "rewrap-root-key"
RECHECK = 2.0
MANUAL = "done"
"""Suffix of the key id in the annotation of a user who has rewrapped the root key manually."""
# Delay of a retry after a rejected request, unless another server becomes the leader.
REFUSAL_DELAY = timedelta(minutes=5)
_PATH = f"/metadata/annotations/{labels.UNSEAL_REWRAPPED.replace('/', '~1')}"


@dataclass(frozen=True, slots=True)
class SealSession:
    """A session with the servers of a cluster, and the login for it."""

    bao: Bao
    pods: Sequence[PodFacts]
    login: TokenSource | None


def due(cluster: OpenBaoCluster, pods: Sequence[PodFacts]) -> PodFacts | None:
    """Return the leader that has to rewrap the root key; None if this is not due.

    Every server must have both keys and encrypt with the new key: then each of them can read after
    a restart what the leader writes.
    """
    if cluster.spec.unseal.type != "static" or len(pods) != cluster.spec.servers:
        return None
    rings = {pod.unseal for pod in pods}
    ring = KeyRing.parse(rings.pop()) if len(rings) == 1 else None
    if ring is None or ring.other is None or not all(pod.ready and pod.ip for pod in pods):
        return None
    if ring.other.id == cluster.spec.unseal.static_key().current_key_id:
        # The old key is still the current one; the next rollout swaps the keys.
        return None
    if any(pod.rewrap_key == ring.current.id for pod in pods):
        return None
    leaders = [pod for pod in pods if pod.registration.active]
    return leaders[0] if len(leaders) == 1 else None


async def rewrap(
    context: Context, cluster: OpenBaoCluster, owner: Owner, servers: SealSession
) -> bool:
    """Execute the next step if it is due; return whether another step is due soon.

    The operator annotates the pod of the leader twice. The first annotation records that the root
    key was wrapped, and the index of the raft log. The second one follows when every server has
    applied that index, and records that the old key can be removed: a server that restarts earlier
    with only the new key could not catch up, because a sealed server does not receive the log. The
    annotations are deleted with the pod, so they never apply to another step of a rotation. Safe to
    repeat: after a crash before the first annotation, the root key is rotated again.
    """
    leader = due(cluster, servers.pods)
    ring = KeyRing.parse(leader.unseal) if leader is not None else None
    if leader is None or ring is None or _is_refused(context, leader):
        return False
    key, _, index = leader.rewrap_key.partition("@")
    try:
        if key == ring.current.id and index.isdigit():
            if not await _all_applied(servers, int(index)):
                return True
            annotation = key
        elif key == ring.current.id and index == MANUAL:
            annotation = f"{key}@{await servers.bao.applied_index(leader.ip)}"
        elif servers.login is None:
            return False
        else:
            await request_with_token(
                servers.bao, leader.ip, servers.login, servers.bao.rotate_root_key
            )
            annotation = f"{ring.current.id}@{await servers.bao.applied_index(leader.ip)}"
    except Denied as denied:
        context.attempts.note(EffectAttempt(REWRAP, leader.uid, context.clock.now(), str(denied)))
        return False
    except BaoError:
        # The next reconcile retries.
        return True
    await _annotate(context, owner, leader, annotation)
    return True


async def _all_applied(servers: SealSession, index: int) -> bool:
    """Return whether every server has applied an index of the log. Raises Denied, BaoError."""
    applied = [await servers.bao.applied_index(pod.ip) for pod in servers.pods]
    return all(applied_index >= index for applied_index in applied)


async def _annotate(context: Context, owner: Owner, leader: PodFacts, annotation: str) -> None:
    ops = [
        {"op": "test", "path": "/metadata/uid", "value": leader.uid},
        {"op": "add", "path": _PATH, "value": annotation},
    ]
    try:
        key = ObjectKey(owner.namespace, leader.name)
        await context.client.json_patch(POD, key, ops, field_manager=FIELD_MANAGER)
    except (NotFound, PatchFailed):
        # The pod was replaced: the new pod must not get the annotation.
        return
    if "@" not in annotation:
        record_normal(
            context,
            owner,
            "RootKeyRewrapped",
            f"The root key is wrapped with the unseal key {annotation} on every server",
        )


def _is_refused(context: Context, leader: PodFacts) -> bool:
    attempt = context.attempts.last(REWRAP, leader.uid)
    if attempt is None or not attempt.refusal:
        return False
    return context.clock.now() - attempt.at < REFUSAL_DELAY
