"""A finalizer as a wrapper around the apply and the cleanup of a reconciler.

Uses the outcome and the errors of the runtime and one method of a client. Called by reconcilers of
objects with state that garbage collection does not remove.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.errors import Invalid, NotFound, Transient
from runtime.limits.object_size import Bounds, bound_members
from runtime.outcome import Done, Outcome
from runtime.types import (
    Object,
    ObjectKey,
    Resource,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)

Step = Callable[[Object], Awaitable[Outcome]]


class JsonPatcher(Protocol):
    """The one call a finalizer makes."""

    async def json_patch(
        self,
        resource: Resource,
        key: ObjectKey,
        ops: Sequence[Mapping[str, Any]],
        /,
        *,
        field_manager: str | None = None,
    ) -> Object: ...


class Superseded(Transient):
    """The object changed after it was read: read it again."""


@dataclass(frozen=True, slots=True)
class Finalizer:
    """Our finalizer `name` on objects of one resource; `field_manager` is that of the patches."""

    client: JsonPatcher
    resource: Resource
    name: str
    field_manager: str
    bounds: Bounds | None = None
    """Bounds of the returned object that is passed to `apply`, as in a cache; None: unbounded."""

    async def reconcile(self, obj: Object, *, apply: Step, cleanup: Step) -> Outcome:
        """Run `apply` on a live object and `cleanup` on one that is being deleted.

        Flow
        ----
        ============  =========  =============================================================
        deletion      finalizer  action
        ============  =========  =============================================================
        no            absent     it is added; `apply` runs on the object the server returned
        no            present    `apply` runs
        yes           present    `cleanup` runs; when it is Done the finalizer is removed
        yes           absent     nothing: Done
        ============  =========  =============================================================

        The outcome is that of the step; a Wait or Blocked of `cleanup` keeps the finalizer.

        Guarantees
        ----------
        - `apply` never runs on an object without the finalizer, so nothing that needs `cleanup` can
          exist before.
        - The finalizer is removed only after `cleanup` was Done with exactly this version of the
          object: the patch tests uid and resourceVersion. If the object changes in between (what to
          delete, for example), `cleanup` runs again.
        - A patch changes only the object that was read, not a successor of the same name, and only
          our own entry: it tests the list, or the entry, that it changes.
        - At most one write per call, and none once the finalizer is present.

        Assumptions
        -----------
        - `obj` has uid and resourceVersion as the server sent them.
        - `cleanup` may run any number of times, also after it was Done once.
        - `apply` and `cleanup` of one object never run concurrently (ensured by the workqueue).

        Caveats
        -------
        - `cleanup` must end: a finalizer that is never removed also blocks the deletion of the
          namespace. It must give up if an external system is unreachable.
        - While a deletion waits, only events and the timers of the outcome trigger a reconcile.
        - A user with the right to edit the object can remove the finalizer; then cleanup is
          skipped.
        - A stale cache may show the object without the finalizer: then the test fails, and the
          retry reads the newer state.

        Errors
        ------
        - Superseded (Transient): the object has changed since it was read.
        - LeaseLost, and every other ApiError or TransportError of the patch, unchanged.
        - NotFound of the patch is not an error: the object no longer exists.
        - Any exception of `apply` and `cleanup`; the finalizer is kept.
        """
        present = self.name in _finalizers(obj)
        if is_terminating(obj):
            return await self._cleanup(obj, cleanup) if present else Done()
        if present:
            return await apply(obj)
        updated = await self._patch(obj, _addition(obj, self.name))
        if updated is None:
            return Done()
        return await apply(updated if self.bounds is None else bound_members(updated, self.bounds))

    async def _cleanup(self, obj: Object, cleanup: Step) -> Outcome:
        outcome = await cleanup(obj)
        if not isinstance(outcome, Done):
            return outcome
        await self._patch(obj, _removal(obj, self.name))
        return Done()

    async def _patch(self, obj: Object, ops: Sequence[Mapping[str, Any]]) -> Object | None:
        """Return the patched object, or None if it does not exist."""
        identity = (
            {"op": "test", "path": "/metadata/uid", "value": uid_of(obj)},
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version_of(obj)},
        )
        try:
            return await self.client.json_patch(
                self.resource, key_of(obj), (*identity, *ops), field_manager=self.field_manager
            )
        except NotFound:
            return None
        except Invalid as error:
            # The server has no separate code for a test that failed.
            raise Superseded(f"{self.resource} {key_of(obj)}: {error}") from error


def _addition(obj: Object, name: str) -> Sequence[Mapping[str, Any]]:
    path = "/metadata/finalizers"
    if present := _finalizers(obj):
        return (
            {"op": "test", "path": path, "value": present},
            {"op": "add", "path": f"{path}/-", "value": name},
        )
    # An absent list equals null in a test, and "add" creates it.
    return (
        {"op": "test", "path": path, "value": None},
        {"op": "add", "path": path, "value": [name]},
    )


def _removal(obj: Object, name: str) -> Sequence[Mapping[str, Any]]:
    path = f"/metadata/finalizers/{_finalizers(obj).index(name)}"
    return ({"op": "test", "path": path, "value": name}, {"op": "remove", "path": path})


def _finalizers(obj: Object) -> list[str]:
    finalizers: list[str] = (obj.get("metadata") or {}).get("finalizers") or []
    return finalizers
