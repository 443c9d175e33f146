"""Writes the status of a cluster, only when it differs, with a separate field manager."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from contracts.api.cluster.status import ClusterStatus
from contracts.api.group import CLUSTERS
from contracts.api.schema.served import Schema
from contracts.records.event import EventRecord
from managers.cluster.apply.status_fit import ADMINOPS_DECISIONS, DECISIONS, fit
from managers.cluster.status.events import condition_events
from managers.upgrade.events import upgrade_events
from runtime.apply.managed_fields import take_over_status
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Conflict, Invalid, MalformedApply, NotFound, PatchFailed
from runtime.events import EventRecorder
from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of

STATUS_MANAGER = "openbao-operator-status"
ADMINOPS_MANAGER = "openbao-operator-adminops"
ADMINOPS = "adminOps"
CONDITIONS = "conditions"
OTHERS = frozenset({ADMINOPS, "backup", "operationLock", "operationLockEpoch", "restore"})
"""Sub-trees with other writers: managers.cluster.adminops, managers.backup, managers.operation_lock
and managers.restore."""

FORMER_MANAGERS = frozenset(
    {
        "openbao-adminops-controller",
        "openbao-adminops-support-controller",
        "openbao-backup-controller",
        "openbao-operationlock-controller",
        "openbao-status-controller",
        "openbao-upgrade-manager",
        "openbao-workload-controller",
    }
)
"""Field managers of the public Go operator, for parts of the status."""

# Changes of details are written at most once in this many seconds, so that the start of a pod costs
# few writes. Headlines are written immediately. A new leader is a headline, and so is a change of
# the ready servers of a running cluster: users and clients rely on them.
DETAIL_INTERVAL = 2.0
HEADLINES = frozenset(
    {"Ready", "Available", "Degraded", "Stalled", "OpenBaoInitialized", "Conflict"}
)


class StatusChangeCounter(Protocol):
    """Counts the changes of a status, and drops the series of deleted clusters."""

    def changed(
        self, key: ObjectKey, before: ClusterStatus, after: ClusterStatus, now: datetime
    ) -> None:
        """Count the changes in `after`."""

    def forget(self, key: ObjectKey) -> None:
        """Drop the series of a deleted cluster."""


class Schemas(Protocol):
    """The schemas on the API server; see `managers.context.reads.served_schemas`."""

    def status_of(self, kind: str, /) -> Schema | None:
        """Return the schema of a status if it lacks fields of ours; otherwise None."""

    def invalidate(self) -> None:
        """Record that the API server rejected a status that fits its schema as last read."""


class StatusWriter:
    """Writes one part of the status for one field manager."""

    def __init__(
        self,
        client: Client,
        clusters: Cache,
        events: EventRecorder,
        clock: Clock,
        counter: StatusChangeCounter | None = None,
        schemas: Schemas | None = None,
    ) -> None:
        """`counter` is called after every successful write of the status.

        `schemas`: fields that they lack are not written; None: the API server has all our fields.
        """
        self._counter = counter
        self._schemas = schemas
        self._client = client
        self._clusters = clusters
        self._statuses = StatusClient(client, CLUSTERS, STATUS_MANAGER, clusters)
        self._adminops = StatusClient(client, CLUSTERS, ADMINOPS_MANAGER, clusters)
        self._events = events
        self._clock = clock
        self._written: dict[ObjectKey, float] = {}

    async def write(
        self, live: Object, status: ClusterStatus, events: Sequence[EventRecord] = ()
    ) -> float | None:
        """Apply everything except OTHERS, if it differs.

        `events`: events of decisions that take effect with this write. Returns the seconds until a
        deferred change of details is due, or None. Changed conditions are recorded as events after
        a successful write.
        """
        current = _ours(live.get("status") or {})
        desired = fit(whole := _ours(status.to_object()), current, self._schema(), DECISIONS)
        if desired is not whole:
            # A decision that is not stored has not taken effect.
            status, events = ClusterStatus.lenient(desired), ()
        if current == desired:
            return None
        before = ClusterStatus.lenient(current)
        key = key_of(live)
        now = self._clock.monotonic()
        remaining = self._written.get(key, now - DETAIL_INTERVAL) + DETAIL_INTERVAL - now
        if remaining > 0 and not _is_headline(before, status):
            return remaining
        if await self._apply(self._statuses, live, desired):
            self._written[key] = now
            if self._counter is not None:
                self._counter.changed(key, before, status, self._clock.now())
            transitions = condition_events(before.conditions, status.conditions)
            for event in (*transitions, *upgrade_events(before, status), *events):
                self._events.event(live, event.kind, event.reason, event.text)
        return None

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of a deleted cluster."""
        self._written.pop(key, None)
        if self._counter is not None:
            self._counter.forget(key)

    async def write_adminops(self, live: Object, adminops: dict[str, Any]) -> bool:
        """Apply `adminOps` alone, if it differs; report whether it was written."""
        current = (live.get("status") or {}).get(ADMINOPS, {})
        if (schema := self._schema()) is not None:
            room = (schema.get("properties") or {}).get(ADMINOPS, {})
            adminops = fit(adminops, current, room, ADMINOPS_DECISIONS)
        if current == adminops:
            return False
        return await self._apply(self._adminops, live, {ADMINOPS: adminops})

    def _schema(self) -> Schema | None:
        return None if self._schemas is None else self._schemas.status_of(CLUSTERS.kind)

    async def _apply(self, statuses: StatusClient, live: Object, status: dict[str, Any]) -> bool:
        try:
            return await self._apply_now(statuses, live, status)
        except (Invalid, MalformedApply):
            if self._schemas is not None:
                self._schemas.invalidate()
            raise

    async def _apply_now(
        self, statuses: StatusClient, live: Object, status: dict[str, Any]
    ) -> bool:
        key, uid = key_of(live), uid_of(live)
        try:
            try:
                stored = await statuses.apply(key, uid, status)
            except Invalid:
                # An empty member that another operator applied becomes null when we omit it.
                if not await self._take_over(await self._client.get(CLUSTERS, key)):
                    raise
                stored = await statuses.apply(key, uid, status)
            if await self._take_over(stored):
                stored = await statuses.apply(key, uid, status)
        except NotFound:
            return False
        await self._clear(stored, status)
        return True

    async def _take_over(self, stored: Object) -> bool:
        """Take ownership of the status fields that another operator applied, if there are any.

        Only responses of the API server have managedFields. A second apply then removes the fields
        that are not desired, such as conditions of another operator.
        """
        ops = take_over_status(stored, FORMER_MANAGERS, STATUS_MANAGER, OTHERS)
        if ops is None:
            return False
        with contextlib.suppress(Conflict):
            await self._client.json_patch(CLUSTERS, key_of(stored), ops)
        return True

    async def _clear(self, live: Object, desired: dict[str, Any]) -> None:
        """Remove leftovers in our parts that another field manager owns, too.

        An apply keeps a field that another manager owns: in a status that was edited or restored,
        a finished upgrade would stay forever.
        """
        ops = leftovers(live.get("status") or {}, desired)
        if not ops:
            return
        preconditions: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": resource_version_of(live),
            },
        ]
        # A concurrent write triggers the next reconcile, which checks again.
        with contextlib.suppress(NotFound, Conflict, PatchFailed):
            written = await self._client.json_patch(
                CLUSTERS,
                key_of(live),
                [*preconditions, *ops],
                field_manager=STATUS_MANAGER,
                subresource="status",
            )
            self._clusters.observe(written)


def leftovers(current: dict[str, Any], desired: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the JSON patch that makes our parts of a status equal to the applied status.

    Conditions of other writers are kept: the list allows several writers.
    """
    ours = {ADMINOPS: current.get(ADMINOPS)} if desired.keys() == {ADMINOPS} else _ours(current)
    return [
        {"op": "replace", "path": f"/status/{part}", "value": desired[part]}
        if part in desired
        else {"op": "remove", "path": f"/status/{part}"}
        for part, value in ours.items()
        if part != CONDITIONS and value is not None and desired.get(part) != value
    ]


def _ours(status: dict[str, Any]) -> dict[str, Any]:
    return {part: value for part, value in status.items() if part not in OTHERS}


def _is_headline(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Report whether a change must not be deferred."""
    if after.active_leader and after.active_leader != before.active_leader:
        return True
    if before.phase == "Running" and after.ready_replicas != before.ready_replicas:
        return True
    return _headline(before) != _headline(after)


def _headline(status: ClusterStatus) -> tuple[object, ...]:
    """Return the parts of a status that must not be deferred."""
    # The next reconcile continues from the decision of an upgrade.
    upgrades = (
        status.release,
        status.upgrade,
        status.upgrade_requests,
        status.blue_green,
        status.break_glass,
    )
    headlines = sorted((c.type, c.status) for c in status.conditions if c.type in HEADLINES)
    return (*headlines, *upgrades, status.phase, status.observed_generation, status.initialized)
