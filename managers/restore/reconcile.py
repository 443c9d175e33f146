"""The reconciler of restores: observe, decide, act and write, until the restore has to wait.

Guarantees: one status write per decision, conditional on the observed resource version; the
operator never opens or sends a snapshot; a finished restore causes no requests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from contracts.api.group import RESTORES
from contracts.api.restore import ENDED, InvalidRestoreError, OpenBaoRestore
from managers.context.context import FIELD_MANAGER
from managers.jobs.run import ActionOutcome, advance
from managers.restore.actions import RestoreActions
from managers.restore.events import RestoreReporter
from managers.restore.inputs import RestoreFacts, RestoreFailure
from managers.restore.observe import RestoreObservation, RestoreObserver
from managers.restore.state_machine import RestoreDecision, decide, refused
from managers.restore.status import STATUS_MANAGER, next_status, without_foreign_fields
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.controller.finalizer import Finalizer
from runtime.errors import Conflict
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Request, key_of

FINALIZER: Final = "openbao.org/openbaorestore-finalizer"
STEPS: Final = 16
"""More than any restore needs in one reconcile; stops a loop in the state machine."""
SOON: Final = 1.0
UNFINISHED: Final = Wait("RestoreRunning", "there is more to do", SOON)


@dataclass(frozen=True, slots=True)
class RestoreRun:
    """The dependencies of one reconcile. `deleting`: the restore is being deleted."""

    observer: RestoreObserver
    actions: RestoreActions
    reporter: RestoreReporter
    statuses: StatusClient
    deleting: bool = False

    async def observe(self, live: Object) -> RestoreObservation | Outcome:
        """Read the facts about a restore with a valid spec."""
        try:
            restore = OpenBaoRestore.from_object(live)
        except InvalidRestoreError as invalid:
            # A restore with an invalid spec never held a lock.
            return Done() if self.deleting else Blocked("InvalidSpec", str(invalid))
        return await self.observer.observe(live, restore)

    def decide(self, observation: RestoreObservation) -> RestoreDecision:
        """Choose the transition."""
        return decide(observation.facts, deleting=self.deleting)

    async def act(
        self, observation: RestoreObservation, decision: RestoreDecision
    ) -> ActionOutcome[RestoreObservation, RestoreFacts]:
        """Carry out the action of a transition."""
        transition = decision.transition
        if transition.to in ("End", "Completed"):
            await self.actions.release_job(observation)
        action = transition.action
        ending = await self.actions.carry_out(action, observation) if action else None
        if isinstance(ending, RestoreFailure):
            return ActionOutcome(observation, refused(observation.facts, ending))
        return ActionOutcome(observation, decision, ending)

    async def write(
        self, observation: RestoreObservation, decision: RestoreDecision
    ) -> tuple[Object, Outcome | None]:
        """Write the next status and report the change."""
        before = observation.facts.status
        generation = int(observation.live["metadata"].get("generation") or 0)
        after = next_status(observation.facts, decision, generation)
        # The optimistic lock fails if the job took its permit meanwhile.
        written = await self.statuses.apply_if_changed(
            observation.live, without_foreign_fields(after.to_object()), optimistic_lock=True
        )
        if written is not observation.live:
            key = ObjectKey(key_of(observation.live).namespace, observation.facts.spec.cluster)
            self.reporter.changed(written, key, before, after)
        continues = decision.transition.to is not None or decision.transition.action
        return written, None if continues else _outcome(observation, decision)

    async def after_conflict(self, live: Object, conflict: Conflict) -> Outcome:
        """End the reconcile: the job may have taken its permit, so the next one decides again."""
        return Wait("RestoreRunning", "the restore changed during the reconcile", SOON)


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
        statuses = StatusClient(client, RESTORES, STATUS_MANAGER, restores, without_foreign_fields)
        self._run = RestoreRun(observer, actions, reporter, statuses)
        self._finalizer = Finalizer(client, RESTORES, FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile once. Raises transient errors, which the controller retries with backoff."""
        live = self._restores.get(request)
        if live is None:
            return Done()
        return await self._finalizer.reconcile(live, apply=self._apply, cleanup=self._cleanup)

    async def _apply(self, live: Object) -> Outcome:
        return await advance(self._run, live, STEPS, UNFINISHED)

    async def _cleanup(self, live: Object) -> Outcome:
        return await advance(replace(self._run, deleting=True), live, STEPS, UNFINISHED)


def _outcome(observation: RestoreObservation, decision: RestoreDecision) -> Outcome:
    """Return when to reconcile again if no event triggers it earlier."""
    transition = decision.transition
    if transition.blocked:
        return Blocked(decision.reason, decision.message, transition.after)
    if transition.after is not None:
        return Wait(decision.reason, decision.message, transition.after)
    return Done(cleanup_due(observation))


def cleanup_due(observation: RestoreObservation) -> float | None:
    """Return the seconds until the disposable cluster of a finished restore is deleted, or None."""
    facts = observation.facts
    disposable = facts.spec.target_lifecycle == "Disposable" and facts.target is not None
    if not disposable or facts.status.phase not in ENDED or facts.status.completion_time is None:
        return None
    age = (facts.now - facts.status.completion_time).total_seconds()
    return max(SOON, facts.spec.cleanup_after_seconds - age)
