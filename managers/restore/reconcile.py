"""The reconciler of restores: observe, decide, act, write, until nothing is left to do at once.

Guarantees: one status write per decision, conditional on the observed resource version; no snapshot
is ever opened or sent from here; a finished restore costs no request.
"""

from __future__ import annotations

from typing import Final

from contracts.api.group import RESTORES
from contracts.api.restore import ENDED, InvalidRestoreError, OpenBaoRestore
from managers.context.context import FIELD_MANAGER
from managers.restore.actions import Ending, RestoreActions
from managers.restore.events import RestoreReporter
from managers.restore.inputs import RestoreFailure
from managers.restore.observe import RestoreObservation, RestoreObserver
from managers.restore.state_machine import RestoreDecision, decide, refused
from managers.restore.status import RestoreStatusWriter, next_status
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
        self._observer = observer
        self._actions = actions
        self._reporter = reporter
        self._statuses = RestoreStatusWriter(client, restores)
        self._finalizer = Finalizer(client, RESTORES, FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Run one pass. Raises transient errors, which the controller retries with backoff."""
        live = self._restores.get(request)
        if live is None:
            return Done()
        return await self._finalizer.reconcile(live, apply=self._apply, cleanup=self._cleanup)

    async def _apply(self, live: Object) -> Outcome:
        return await self._advance(live, leaving=False)

    async def _cleanup(self, live: Object) -> Outcome:
        return await self._advance(live, leaving=True)

    async def _advance(self, live: Object, *, leaving: bool) -> Outcome:
        for _ in range(STEPS):
            try:
                restore = OpenBaoRestore.from_object(live)
            except InvalidRestoreError as invalid:
                # Without a valid spec its cluster is unknown: it never held a lock.
                return Done() if leaving else Blocked("InvalidSpec", str(invalid))
            observation = await self._observer.observe(live, restore)
            decision = decide(observation.facts, leaving=leaving)
            try:
                ending, live = await self._step(observation, decision)
            except Conflict:
                # The object changed, perhaps by the permit of the job: decide on its present state.
                return Wait("RestoreRunning", "the restore changed while it was looked at", SOON)
            if isinstance(ending, Wait):
                return ending
            if ending is None and decision.row.to is None and not decision.row.act:
                return _outcome(observation, decision)
        return Wait("RestoreRunning", "there is more to do", SOON)

    async def _step(
        self, observation: RestoreObservation, decision: RestoreDecision
    ) -> tuple[Ending, Object]:
        """Carry out one decision; return the result of the action and the present object."""
        row, live = decision.row, observation.live
        if row.status_first:
            live = await self._write(observation, decision)
        if row.to in ("End", "Completed"):
            await self._actions.release_job(observation)
        ending = await self._actions.carry_out(row.act, observation) if row.act else None
        if isinstance(ending, RestoreFailure):
            return ending, await self._write(observation, refused(observation.facts, ending))
        if not row.status_first:
            live = await self._write(observation, decision)
        return ending, live

    async def _write(self, observation: RestoreObservation, decision: RestoreDecision) -> Object:
        before = observation.facts.status
        generation = int(observation.live["metadata"].get("generation") or 0)
        after = next_status(observation.facts, decision, generation)
        written = await self._statuses.write(observation.live, after)
        if written is not observation.live:
            key = ObjectKey(key_of(observation.live).namespace, observation.facts.spec.cluster)
            self._reporter.changed(written, key, before, after)
        return written


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
