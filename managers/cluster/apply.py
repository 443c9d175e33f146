"""The apply step: the only writer of a cluster's objects (Secrets excepted, which are drawn)."""

from __future__ import annotations

from contracts.desired import AppliedSet, Desired
from contracts.foreign import foreign
from runtime.applied import Applied, Verdict
from runtime.apply import OwnedApply
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.ownership import Owner
from runtime.resources import (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)

# What may be deleted because a complete plan does not name it. Volumes, keys and the StatefulSet
# are not here and never will be.
PRUNED = (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)
TERMINATING_RECHECK = 5.0


class Applier:
    """Applies a `Desired` in its order and removes what it no longer names."""

    def __init__(self, owned: OwnedApply) -> None:
        self._owned = owned

    async def apply(self, owner: Owner, desired: Desired) -> AppliedSet:
        """Apply the foundation, then the workload, then prune.

        The workload waits until all of the foundation is in place: a pod must not start without
        its policy, nor against a configuration that is somebody else's.
        """
        bindings = tuple(i for i in desired.foundation if i.resource == ROLE_BINDING)
        others = tuple(i for i in desired.foundation if i.resource != ROLE_BINDING)
        objects = await self._owned.ensure_all(owner, others)
        # After the roles: the API server lets nobody be bound to one that it does not find.
        objects += await self._owned.ensure_all(owner, bindings)
        if all(applied.in_place for applied in objects):
            objects += await self._owned.ensure_all(owner, desired.workload)
        done = AppliedSet(desired, objects, tuple(outcome_of(applied) for applied in objects))
        if desired.complete and done.in_place:
            # After the workload: the new pod template no longer mounts what goes away here.
            keep = {(intent.resource, intent.key) for intent in desired.intents}
            await self._owned.prune(owner, PRUNED, keep)
        return done


def outcome_of(applied: Applied) -> Outcome:
    """Say what one answer means for the pass."""
    match applied.verdict:
        case Verdict.FOREIGN:
            return foreign(applied.message)
        case Verdict.REJECTED:
            return Blocked("Rejected", f"The API server refuses what is wanted: {applied.message}")
        case Verdict.TERMINATING:
            return Wait("Reconciling", applied.message, TERMINATING_RECHECK)
        case Verdict.SKIPPED | Verdict.CREATED | Verdict.UPDATED:
            return Done()
