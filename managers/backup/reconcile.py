"""The backup reconciler: drives one OpenBaoBackup through its state machine.

Composed by `baoctl.controllers.backup`; called by `runtime.controller.controller` with one key at a
time. It reads no Secret and connects to no address from a user's spec; the Job does both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import structlog

from contracts.api.backup import TERMINAL, BackupObjectStatus, OpenBaoBackup
from contracts.api.group import BACKUPS
from contracts.api.violation import InvalidClusterError
from contracts.jobs.template import JobTemplateSource
from contracts.records.upgrade import upgrade_under_way
from managers.backup.actions import ActionResult, BackupActions
from managers.backup.caches import BackupCaches, read_backup
from managers.backup.dependencies import BackupDependencies
from managers.backup.inputs import BackupFacts
from managers.backup.state_machine import BackupDecision, decide, state_of
from managers.backup.status import STATUS_MANAGER, next_status, own_fields, without_foreign_fields
from managers.jobs.run import ActionOutcome, advance
from runtime.apply.status_client import StatusClient
from runtime.errors import Conflict, NotFound
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Request, is_terminating, key_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

STEPS: Final = 8
"""Maximum number of transitions in one reconcile; the longest path has four."""


@dataclass(frozen=True, slots=True)
class BackupObservation:
    """The stored backup and the facts about it; after an action also its result."""

    live: Object
    facts: BackupFacts
    result: ActionResult | None = None


BackupActionOutcome = ActionOutcome[BackupObservation, BackupFacts]


class BackupReconciler:
    """Takes one snapshot, exactly once."""

    def __init__(
        self,
        caches: BackupCaches,
        dependencies: BackupDependencies,
        template_source: JobTemplateSource,
    ) -> None:
        self._caches = caches
        self._actions = BackupActions(caches, dependencies, template_source)
        self._client = dependencies.client
        self._events = dependencies.events
        self._clock = dependencies.clock
        self._statuses = StatusClient(
            dependencies.client, BACKUPS, STATUS_MANAGER, caches.backups, without_foreign_fields
        )

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile once. Raises transient errors, which the controller retries with backoff."""
        try:
            return await advance(self, self._caches.backups.get(request), STEPS, Done(0.0))
        except InvalidClusterError as invalid:
            return Blocked("InvalidSpec", str(invalid))
        except NotFound:
            return Done()

    async def observe(self, live: Object | None) -> BackupObservation | Outcome:
        """Read the facts about a backup that has not ended."""
        if live is None or is_terminating(live):
            # The Job is garbage-collected; managers.backup.schedule releases the lock.
            return Done()
        backup = read_backup(live)
        if backup.status.phase in TERMINAL:
            return Done()
        return BackupObservation(live, await self._facts(backup))

    def decide(self, observation: BackupObservation) -> BackupDecision:
        """Choose the transition."""
        return decide(observation.facts)

    async def act(
        self, observation: BackupObservation, decision: BackupDecision
    ) -> BackupActionOutcome:
        """Carry out the action of a transition."""
        facts = observation.facts
        result = await self._actions.perform(decision, facts)
        waits = state_of(facts.status) == "Waiting" and result.reservation is None
        if waits and facts.probably_holds_lock and not facts.paused:
            # Left by an interrupted reconcile: operations with precedence must not wait for it.
            await self._actions.release_lock(facts)
        return ActionOutcome(
            BackupObservation(observation.live, result.facts, result), result.decision
        )

    async def write(
        self, observation: BackupObservation, decision: BackupDecision
    ) -> tuple[Object, Outcome | None]:
        """Write the next status and report the change."""
        before, result = observation.facts.status, observation.result
        after = next_status(observation.facts, decision, result.reservation if result else None)
        # The optimistic lock fails if the Job reported meanwhile.
        written = await self._statuses.apply_if_changed(
            observation.live, own_fields(after), optimistic_lock=True
        )
        self._report(observation.live, before, after)
        if result and result.warning:
            self._events.event(
                observation.live, "Warning", "RetentionProtectionCut", result.warning
            )
        return written, _outcome(decision, after)

    async def after_conflict(
        self, live: Object | None, conflict: Conflict
    ) -> Object | Outcome | None:
        """Read the backup again; None if it does not exist any more.

        A new backup of the same name has its own reconcile: it may be for another cluster.
        """
        if live is None:
            raise conflict
        try:
            fresh = await self._client.get(BACKUPS, key_of(live))
        except NotFound:
            return None
        self._caches.backups.observe(fresh)
        return fresh if uid_of(fresh) == uid_of(live) else Done(0.0)

    async def _facts(self, backup: OpenBaoBackup) -> BackupFacts:
        meta, now = backup.metadata, self._clock.now()
        cluster_key = ObjectKey(meta.namespace, backup.spec.cluster)
        cluster = self._caches.cluster(cluster_key)
        upgrading = cluster is not None and upgrade_under_way(cluster.status)
        facts = BackupFacts(
            backup, now, cluster, self._caches.waiting(cluster_key, upgrades=upgrading)
        )
        state = state_of(backup.status)
        if state == "Waiting" or facts.report is not None or facts.paused:
            return facts
        facts = replace(facts, job=await self._actions.observe_job(facts), job_queried=True)
        if state == "Prepared":
            return facts
        if facts.job is None or facts.job.state != "Active":
            # The watch may not have delivered the final report yet.
            fresh = await self._client.get(BACKUPS, ObjectKey(meta.namespace, meta.name))
            report = BackupObjectStatus.lenient(fresh.get("status")).report
            status = backup.status.model_copy(update={"report": report})
            return replace(facts, backup=backup.model_copy(update={"status": status}))
        await self._actions.renew_lock(facts)
        return facts

    def _report(self, live: Object, before: BackupObjectStatus, after: BackupObjectStatus) -> None:
        """Send an event and log a change of the phase, after the status is written."""
        if before.phase == after.phase or after.phase not in ("Running", *TERMINAL):
            return
        if after.phase == "Running":
            self._events.event(live, "Normal", "BackupStarted", after.message)
            return
        completed = after.phase == "Completed"
        message = after.message if completed else f"{after.reason}: {after.message}"
        if completed:
            self._events.event(live, "Normal", "BackupCompleted", message)
        else:
            self._events.event(live, "Warning", "BackupFailed", message)
        log.info(
            "backup ended",
            audit=True,
            event_type="backup_job_succeeded" if completed else "backup_job_failed",
            cluster=str(ObjectKey(key_of(live).namespace, live["spec"]["cluster"])),
            phase=after.phase,
            reason=after.reason,
            job=after.job_name,
        )


def _outcome(decision: BackupDecision, after: BackupObjectStatus) -> Outcome | None:
    """Return the outcome for the controller; None if another transition follows."""
    if after.phase in TERMINAL:
        return Done()
    transition = decision.transition
    if transition.to in ("Prepared", "Running"):
        return None
    if transition.blocked:
        return Blocked(after.reason, after.message, transition.after)
    return Wait(after.reason, after.message, transition.after)
