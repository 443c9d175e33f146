"""Observes a cluster by reading its objects by name: for modes that may neither list nor watch.

| when | servers (no request to the API) | pods and StatefulSets | the rest |
|---|---|---|---|
| something changes | | each second or sooner; later less often | as needed |
| healthy | every 5 seconds | minutes, or when the health of a server changes | 15 minutes |
| paused, or hibernated | | never: a change of the spec triggers | never |

The names are in the table contracts.pools.owned_names. The observer reads Secrets, with the maximum
age that is returned here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.owned_names import (
    BEYOND,
    COMMON_CLAIMS,
    OPTIONAL_NAMES,
    ORDINALS_MAX,
    owned_names,
)
from contracts.pools.voter_pool import ServerPool, voter_pools
from contracts.records.observed import PodFacts, ServerClientConfig
from managers.cluster.observe.cache_refresh import is_ready
from managers.cluster.observe.health_poller import HealthPoller
from managers.cluster.observe.polled_objects import PolledKind, replicas_of
from managers.cluster.status.cluster_status import ReconcileResult
from managers.identity.account import account_name
from managers.upgrade.bluegreen.facts import pools_to_observe
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.cache.optional_kind import KindAvailability
from runtime.cache.polling import PolledMirror
from runtime.clock import Clock
from runtime.outcome import Done, Outcome
from runtime.types import Object, ObjectKey, Resource, is_generation_observed, is_terminating

PACE = 1.0
"""Seconds between two reads of a changing cluster."""
SWIFT = 0.6
"""Seconds between two reads while a server runs and is not ready yet."""
BACKOFF_AFTER = 30.0
"""Seconds without a change after which the interval grows."""
SLOWEST = 15.0
"""The maximum interval."""
IDLE_AFTER = 5.0
"""Seconds without a change before a healthy cluster counts as idle: by then the labels of its
servers name the leader."""
HEALTH_INTERVAL = 5.0
JITTER = 0.2
PVC_RECHECK = 3.0
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Ages:
    """Maximum ages of cached objects, in seconds."""

    sets: float
    pods: float
    claims: float
    children: float
    optional: float
    secrets: float


ACTIVE = Ages(sets=5.0, pods=4.0, claims=10.0, children=120.0, optional=15.0, secrets=15.0)
IDLE = Ages(sets=120.0, pods=300.0, claims=900.0, children=900.0, optional=300.0, secrets=60.0)
"""In total less than six requests a minute for three servers with operator-managed TLS."""


@dataclass(slots=True)
class _ClusterState:
    """State of one cluster between two reconciles."""

    owner: Owner
    changed: float
    is_new: bool = False
    filled: bool = False
    idle: bool = False
    spec_key: object = None
    facts: object = None
    servers: tuple[PodFacts, ...] = ()
    client_config: ServerClientConfig | None = None
    requested: set[tuple[Resource, ObjectKey]] = field(default_factory=set)


class PollingCacheRefresher:
    """The CacheRefresher of a process that polls.

    managers.cluster.observe.cache_refresh documents the methods.
    """

    def __init__(
        self,
        mirrors: Mapping[Resource, PolledMirror],
        offers: Callable[[], Mapping[str, KindAvailability]],
        health: HealthPoller,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._mirrors = mirrors
        self._offers = offers
        self._health = health
        self._clock = clock
        self._rng = rng
        self._states: dict[ObjectKey, _ClusterState] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def mark_new(self, owner: Owner) -> None:
        """Record that no object of this cluster can exist yet.

        Its children are not read then: their creation fails if another owner has the name.
        """
        self._of(owner).is_new = True

    async def refresh(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Read outdated objects, in few rounds: each result shows which others may exist."""
        state = self._of(owner)
        spec_key = (cluster.metadata.generation, cluster.metadata.annotations)
        if state.idle and (state.spec_key != spec_key or await self._has_changed(state)):
            state.idle = False
            state.changed = self._clock.monotonic()
        state.spec_key = spec_key
        ages = IDLE if state.idle else ACTIVE
        await asyncio.gather(
            self._refresh_servers(state, pools_to_observe(cluster), cluster.spec.replicas, ages),
            self._refresh_children(state, cluster, ages),
            self._refresh_optional(state, ages),
        )
        state.filled = True

    async def ensure_filled(self, cluster: OpenBaoCluster, owner: Owner) -> None:
        """Read once per process, unless a reconcile did."""
        if not self._of(owner).filled:
            await self.refresh(cluster, owner)

    async def refresh_for_deletion(self, owner: Owner, cluster: OpenBaoCluster | None) -> None:
        """Read all objects that a deletion needs."""
        state = self._of(owner)
        state.changed = self._clock.monotonic()
        state.idle = False
        eager = Ages(PACE, PACE, PACE, NEVER, NEVER, 0.0)
        pools = voter_pools(cluster) if cluster is not None else (ServerPool(owner.name),)
        common = [ObjectKey(owner.namespace, name(owner.name)) for name in COMMON_CLAIMS]
        await asyncio.gather(
            self._refresh_servers(state, pools, 0, eager), self._refresh(state, PVC, common, PACE)
        )

    def secret_age(self, owner: Owner) -> float:
        """Return a longer age for the Secrets of an idle cluster."""
        state = self._states.get(owner.key)
        return (IDLE if state is not None and state.idle else ACTIVE).secrets

    def next_refresh(self, result: ReconcileResult) -> float | None:
        """Return the time to the next refresh, by the result of the reconcile."""
        cluster, observed = result.cluster, result.observed
        state = self._states.get(ObjectKey(cluster.metadata.namespace, cluster.metadata.name))
        if state is None or cluster.spec.paused or _is_hibernated(result):
            return None
        now = self._clock.monotonic()
        facts = _facts(result)
        if state.facts != facts:
            state.facts, state.changed = facts, now
        state.servers, state.client_config = observed.servers, observed.client_config
        idle = now - state.changed
        state.idle = idle >= IDLE_AFTER and is_ready(result)
        if state.idle:
            return HEALTH_INTERVAL * self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
        return self._pace(state)

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of a deleted cluster."""
        state = self._states.pop(key, None)
        if state is None:
            return
        for resource, object_key in state.requested:
            self._mirrors[resource].forget((object_key,))
        self._disconnect(state)

    async def close(self) -> None:
        """Close all connections."""
        await self._health.close()

    # ------------------------------------------------------------------------------------------

    def _of(self, owner: Owner) -> _ClusterState:
        state = self._states.get(owner.key)
        if state is None or state.owner != owner:
            if state is not None:
                self._disconnect(state)
            state = self._states[owner.key] = _ClusterState(owner, self._clock.monotonic())
        return state

    def _disconnect(self, state: _ClusterState) -> None:
        closing = self._health.forget(state.owner.uid)
        if closing is not None:
            task = asyncio.ensure_future(closing)
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _has_changed(self, state: _ClusterState) -> bool:
        if state.client_config is None:
            return False
        return await self._health.changed(state.owner.uid, state.client_config, state.servers)

    def _pace(self, state: _ClusterState) -> float:
        """Return the polling interval: the longer nothing changes, the longer it is."""
        idle = self._clock.monotonic() - state.changed
        pace = SWIFT if any(map(_starts, state.servers)) else PACE
        return min(SLOWEST, pace + max(0.0, idle - BACKOFF_AFTER) / 10.0)

    async def _refresh_servers(
        self, state: _ClusterState, voters: Iterable[ServerPool], replicas: int, ages: Ages
    ) -> None:
        """Read StatefulSets, pods and data volumes of all pools; `replicas` of the first one."""
        owner = state.owner
        pools = (*voters, ServerPool(owner.name, reads=True))
        keys = [ObjectKey(owner.namespace, pool.stateful_set) for pool in pools]
        due = self._by_age(STATEFUL_SET, keys, ages.sets, state, is_generation_observed)
        await self._refresh_each(state, STATEFUL_SET, due)
        least = (replicas, *(0 for _ in pools[1:]))
        await asyncio.gather(
            *(
                self._ordinals(state, PolledKind(resource, name, key, count, pool.size_max, age))
                for key, pool, count in zip(keys, pools, least, strict=True)
                for resource, name, age in (
                    (POD, pool.pod, ages.pods),
                    (PVC, pool.data_claim, ages.claims),
                )
            )
        )

    async def _ordinals(self, state: _ClusterState, polled: PolledKind) -> None:
        """Read one kind of object for each ordinal, until BEYOND further ones do not exist."""
        mirror, owner = self._mirrors[polled.resource], state.owner
        replicas = replicas_of(self._mirrors[STATEFUL_SET].get(polled.pool), owner, polled.most)
        # Only our StatefulSet creates pods of a new cluster; volumes may exist before.
        margin = 0 if state.is_new and polled.resource == POD else BEYOND
        checked = 0
        while True:
            present = self._present_ordinals(state, polled, checked)
            limit = max((replicas, polled.least, *(ordinal + 1 for ordinal in present))) + margin
            limit = min(limit, ORDINALS_MAX)
            if limit <= checked:
                return
            keys = [ObjectKey(owner.namespace, polled.name(n)) for n in range(checked, limit)]
            due = self._by_age(polled.resource, keys, polled.age, state, polled.steady)
            soon = self._soon(state) if polled.resource == POD else PVC_RECHECK
            for number, key in enumerate(keys, checked):
                if number < replicas and mirror.get(key) is None:
                    # Kubernetes creates it. In an idle cluster it existed, and nothing has changed.
                    due[key] = polled.age if state.idle else soon
            await self._refresh_each(state, polled.resource, due)
            checked = limit

    def _present_ordinals(
        self, state: _ClusterState, polled: PolledKind, checked: int
    ) -> list[int]:
        """Return the ordinals in the cache: each is read until it no longer exists.

        No event reports the deletion of an object that a smaller or deleted StatefulSet left.
        """
        present: list[int] = []
        ordinal = 0
        while True:
            key = ObjectKey(state.owner.namespace, polled.name(ordinal))
            if ordinal >= checked and (polled.resource, key) not in state.requested:
                return present
            if self._mirrors[polled.resource].get(key) is not None:
                present.append(ordinal)
            ordinal += 1

    async def _refresh_children(
        self, state: _ClusterState, cluster: OpenBaoCluster, ages: Ages
    ) -> None:
        owner = state.owner
        accounts = [account_name(cluster) or "", *(pod.service_account for pod in state.servers)]
        for resource, names in owned_names(owner.name, voter_pools(cluster), accounts).items():
            mirror = self._mirrors[resource]
            keys = [ObjectKey(owner.namespace, name) for name in names]
            if state.is_new:
                keys = [key for key in keys if mirror.is_known(key)]
            due = self._by_age(resource, keys, ages.children, state, _always)
            await self._refresh_each(state, resource, due)
            state.requested |= {(resource, ObjectKey(owner.namespace, name)) for name in names}

    async def _refresh_optional(self, state: _ClusterState, ages: Ages) -> None:
        optional_kinds, owner = self._offers(), state.owner
        for kind, name in OPTIONAL_NAMES.items():
            optional_kind = optional_kinds.get(kind.definition)
            if optional_kind is None or optional_kind.resource is None:
                continue
            key = ObjectKey(owner.namespace, name(owner.name))
            due = self._by_age(optional_kind.resource, [key], ages.optional, state, _always)
            await self._refresh_each(state, optional_kind.resource, due)

    def _soon(self, state: _ClusterState) -> float:
        return self._pace(state) * 0.9

    def _by_age(
        self,
        resource: Resource,
        keys: Iterable[ObjectKey],
        age: float,
        state: _ClusterState,
        steady: Callable[[Object], bool],
    ) -> dict[ObjectKey, float]:
        """Return the maximum age of each object: a changing one is read soon.

        An absent object stays absent until the operator creates it, or Kubernetes on its behalf.
        """
        soon = self._soon(state)
        ages = {}
        for key in keys:
            live = self._mirrors[resource].get(key)
            if live is None:
                ages[key] = NEVER
            else:
                ages[key] = age if steady(live) and not is_terminating(live) else min(soon, age)
        return ages

    async def _refresh_each(
        self, state: _ClusterState, resource: Resource, due: Mapping[ObjectKey, float]
    ) -> None:
        by_age: dict[float, list[ObjectKey]] = {}
        for key, age in due.items():
            by_age.setdefault(age, []).append(key)
        await asyncio.gather(
            *(self._refresh(state, resource, keys, age) for age, keys in by_age.items())
        )

    async def _refresh(
        self, state: _ClusterState, resource: Resource, keys: Iterable[ObjectKey], age: float
    ) -> None:
        pending = tuple(keys)
        state.requested |= {(resource, key) for key in pending}
        await self._mirrors[resource].refresh(pending, age)


def _facts(result: ReconcileResult) -> object:
    observed = result.observed
    outcome: Outcome = result.outcome
    return (
        observed.stateful_set,
        observed.pods,
        observed.claims,
        observed.green,
        observed.read,
        type(outcome),
    )


def _starts(pod: PodFacts) -> bool:
    return bool(pod.ip) and not (pod.ready or pod.waiting or pod.terminating)


def _is_hibernated(result: ReconcileResult) -> bool:
    """Report whether the hibernation of the servers is complete."""
    observed = result.observed
    sets = (observed.stateful_set, observed.read.stateful_set)
    return (
        result.cluster.spec.hibernate
        and isinstance(result.outcome, Done)
        and result.applied is not None
        and not observed.servers
        and all(live is None or live.replicas == 0 for live in sets)
    )


def _always(_: Object) -> bool:
    return True
