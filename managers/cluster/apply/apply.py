"""The apply step: the only writer of a cluster's objects, except Secrets, which effects create."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.owned_kinds import PRUNED
from contracts.ownership_conflict import foreign
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Desired
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import ROLE_BINDING
from runtime.errors import ApiError, Transient
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.verdict import Verdict

TERMINATING_RECHECK = 5.0
OPTIONAL_RETRY = 10.0
# Message of the API server (1.36) for a change that managers.workload.storage.recreate_statefulset
# does not handle.
IMMUTABLE = "updates to statefulset spec for fields other than"


class Applier:
    """Applies a `Desired` in order, and prunes the objects that it no longer names."""

    def __init__(self, owned: OwnedApply) -> None:
        self._owned = owned

    async def apply(self, owner: Owner, desired: Desired) -> AppliedObjects:
        """Apply the foundation, then the workload, then the optional objects, then prune.

        The workload waits for the whole foundation: a pod must not start without its network
        policy, or with a configuration of another owner.
        """
        bindings = tuple(i for i in desired.foundation if i.resource == ROLE_BINDING)
        others = tuple(i for i in desired.foundation if i.resource != ROLE_BINDING)
        objects = await self._owned.ensure_all(owner, others)
        # After the roles: the API server rejects a binding to a role that does not exist.
        objects += await self._owned.ensure_all(owner, bindings)
        if all(applied.in_place for applied in objects):
            objects += await self._owned.ensure_all(owner, desired.workload)
        optional, failures = await self._optional(owner, desired.optional)
        outcomes = tuple(outcome_of(applied) for applied in (*objects, *optional))
        result = AppliedObjects(desired, objects, outcomes + failures, optional)
        if desired.complete and result.in_place:
            # After the workload: the new pod template no longer mounts the deleted objects.
            keep = {(intent.resource, intent.key) for intent in desired.intents}
            keep |= {*desired.retained}
            # Optional kinds last: their API may be unavailable.
            await self._owned.prune(owner, (*PRUNED, *desired.optional_kinds), keep)
        return result

    async def _optional(
        self, owner: Owner, intents: Sequence[Intent]
    ) -> tuple[tuple[Applied, ...], tuple[Outcome, ...]]:
        """Apply objects whose failures do not affect each other."""
        applied: list[Applied] = []
        failures: list[Outcome] = []
        for intent in intents:
            try:
                applied.append(await self._owned.ensure(owner, intent))
            except (ApiError, Transient) as error:
                message = f"{intent} cannot be written: {error}"
                failures.append(Wait("TransientError", message, OPTIONAL_RETRY))
        return tuple(applied), tuple(failures)


def outcome_of(applied: Applied) -> Outcome:
    """Return the outcome of one applied object."""
    match applied.verdict:
        case Verdict.FOREIGN:
            return foreign(applied.message)
        case Verdict.REJECTED if IMMUTABLE in applied.message:
            return Blocked("StatefulSetImmutable", immutable(applied))
        case Verdict.REJECTED:
            return Blocked("Rejected", f"The API server rejects the object: {applied.message}")
        case Verdict.TERMINATING:
            return Wait("Reconciling", applied.message, TERMINATING_RECHECK)
        case Verdict.SKIPPED | Verdict.CREATED | Verdict.UPDATED:
            return Done()


def immutable(applied: Applied) -> str:
    """Return the message for a change that is not possible in place, with the command for it."""
    key = applied.intent.key
    return (
        f"{applied.message}. The pods keep running unchanged. To recreate the StatefulSet and keep "
        f"its pods: kubectl -n {key.namespace} delete statefulset {key.name} --cascade=orphan"
    )
