"""The reconciler of restores: observe, decide, act, write, until nothing is left to do at once.

Guarantees: one status write per decision, conditional on the observed resource version; no snapshot
is ever opened or sent from here; a finished restore costs no request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from contracts.api.group import RESTORES
from contracts.api.restore import ENDED, InvalidRestoreError, OpenBaoRestore
from managers.context.context import FIELD_MANAGER
from managers.jobs.run import Acted, advance
from managers.restore.actions import RestoreActions
from managers.restore.events import RestoreReporter
from managers.restore.inputs import RestoreFacts, RestoreFailure
from managers.restore.observe import RestoreObservation, RestoreObserver
from managers.restore.state_machine import RestoreDecision, decide, refused
from managers.restore.status import STATUS_MANAGER, next_status, own_part
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.controller.finalizer import Finalizer
from runtime.errors import Conflict
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Request, key_of

FINALIZER: Final = "openbao.org/openbaorestore-finalizer"
STEPS: Final = 16
"""More than any restore takes in one pass; stops a loop in the state machine."""
SOON: Final = 1.0
UNFINISHED: Final = Wait("RestoreRunning", "there is more to do", SOON)


@dataclass(frozen=True, slots=True)
class RestoreRun:
    """The parts of a restore. `leaving`: it is being deleted."""

    observer: RestoreObserver
    actions: RestoreActions
    reporter: RestoreReporter
    statuses: StatusClient
    leaving: bool = False

    async def observe(self, live: Object) -> RestoreObservation | Outcome:
        """Read the facts about a restore with a valid spec."""
        try:
            restore = OpenBaoRestore.from_object(live)
        except InvalidRestoreError as invalid:
            # Without a valid spec its cluster is unknown: it never held a lock.
            return Done() if self.leaving else Blocked("InvalidSpec", str(invalid))
        return await self.observer.observe(live, restore)

    def decide(self, seen: RestoreObservation) -> RestoreDecision:
        """Choose the transition."""
        return decide(seen.facts, leaving=self.leaving)

    async def act(
        self, seen: RestoreObservation, decision: RestoreDecision
    ) -> Acted[RestoreObservation, RestoreFacts]:
        """Carry out the action of a transition."""
        row = decision.row
        if row.to in ("End", "Completed"):
            await self.actions.release_job(seen)
        ending = await self.actions.carry_out(row.action, seen) if row.action else None
        if isinstance(ending, RestoreFailure):
            return Acted(seen, refused(seen.facts, ending))
        return Acted(seen, decision, ending)

    async def write(
        self, seen: RestoreObservation, decision: RestoreDecision
    ) -> tuple[Object, Outcome | None]:
        """Write the next status and report the change."""
        before = seen.facts.status
        generation = int(seen.live["metadata"].get("generation") or 0)
        after = next_status(seen.facts, decision, generation)
        # If the job took its permit meanwhile, this decision is outdated.
        written = await self.statuses.apply_if_changed(
            seen.live, own_part(after.to_object()), optimistic_lock=True
        )
        if written is not seen.live:
            key = ObjectKey(key_of(seen.live).namespace, seen.facts.spec.cluster)
            self.reporter.changed(written, key, before, after)
        goes_on = decision.row.to is not None or decision.row.action
        return written, None if goes_on else _outcome(seen, decision)

    async def after_conflict(self, live: Object, conflict: Conflict) -> Outcome:
        """End the pass: perhaps the job took its permit, and the next one decides on that."""
        return Wait("RestoreRunning", "the restore changed while it was looked at", SOON)


class RestoreReconciler:
    """Advances one restore as far as possible now."""

    def __init__(
        self,
        client: Client,
        restores: Cache,
        observer: RestoreObserver,
        actions: RestoreActions,
        reporter: RestoreReporter,
    ) -> None:
        self._restores = restores
        statuses = StatusClient(client, RESTORES, STATUS_MANAGER, restores, own_part)
        self._run = RestoreRun(observer, actions, reporter, statuses)
        self._finalizer = Finalizer(client, RESTORES, FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Run one pass. Raises transient errors, which the controller retries with backoff."""
        live = self._restores.get(request)
        if live is None:
            return Done()
        return await self._finalizer.reconcile(live, apply=self._apply, cleanup=self._cleanup)

    async def _apply(self, live: Object) -> Outcome:
        return await advance(self._run, live, STEPS, UNFINISHED)

    async def _cleanup(self, live: Object) -> Outcome:
        return await advance(replace(self._run, leaving=True), live, STEPS, UNFINISHED)


def _outcome(observation: RestoreObservation, decision: RestoreDecision) -> Outcome:
    """Return when to run again, if no event comes before."""
    row = decision.row
    if row.blocked:
        return Blocked(decision.reason, decision.message, row.after)
    if row.after is not None:
        return Wait(decision.reason, decision.message, row.after)
    return Done(cleanup_due(observation))


def cleanup_due(observation: RestoreObservation) -> float | None:
    """Return the seconds until the disposable cluster of a finished restore is deleted, or None."""
    facts = observation.facts
    disposable = facts.spec.target_lifecycle == "Disposable" and facts.target is not None
    if not disposable or facts.status.phase not in ENDED or facts.status.completion_time is None:
        return None
    age = (facts.now - facts.status.completion_time).total_seconds()
    return max(SOON, facts.spec.cleanup_after_seconds - age)
