"""A finalizer as a wrapper around the apply and the cleanup of a reconciler.

Uses the outcome and the errors of this package and one method of a client. Called by reconcilers
of objects that leave state behind which garbage collection does not remove.
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
    """The object changed after it was read: read again."""


@dataclass(frozen=True, slots=True)
class Finalizer:
    """Our finalizer `name` on objects of one resource; `field_manager` signs the patches."""

    client: JsonPatcher
    resource: Resource
    name: str
    field_manager: str
    bounds: Bounds | None = None
    """What `apply` sees of the object that the server returned, as of one of a cache; None: all."""

    async def reconcile(self, obj: Object, *, apply: Step, cleanup: Step) -> Outcome:
        """Run `apply` on a live object and `cleanup` on one that is being deleted.

        Flow
        ----
        ============  =========  =============================================================
        deletion      finalizer  what happens
        ============  =========  =============================================================
        not asked     absent     it is added; `apply` runs on the object the server returned
        not asked     present    `apply` runs
        asked         present    `cleanup` runs; when it is Done the finalizer is removed
        asked         absent     nothing: Done
        ============  =========  =============================================================

        The outcome is that of the step; a Wait or Blocked of `cleanup` keeps the finalizer.

        Guarantees
        ----------
        - `apply` never runs on an object that lacks the finalizer, so nothing that needs
          `cleanup` can exist before the object is held.
        - The finalizer goes only after `cleanup` was Done with exactly the version of the object
          that is removed: the patch tests uid and resourceVersion. A change of the object in
          between (of what to delete, for example) causes another `cleanup`.
        - A patch hits the object that was read and not a successor of the same name, and only
          ever touches our own entry: it tests the list, or the entry, that it changes.
        - At most one write per call, and none once the finalizer is there.

        Assumptions
        -----------
        - `obj` carries uid and resourceVersion as the server sent them.
        - `cleanup` may run any number of times, also after it was Done once.
        - `apply` and `cleanup` of one object never run side by side (the workqueue sees to that).

        Caveats
        -------
        - `cleanup` must end: a finalizer that is never removed also wedges the namespace. It is
          its duty to give up on what cannot be reached.
        - While deletion waits, only events and the timers of the outcome wake the reconciler.
        - A user with the right to edit the object can remove the finalizer manually; cleanup
          is skipped then.
        - A stale cache can show an object without the finalizer that has it: the test fails and
          the retry sees the newer state.

        Errors
        ------
        - Superseded (Transient): the object is not in the state that was read any more.
        - LeaseLost, and every other ApiError or TransportError of the patch, as they are.
        - NotFound of the patch is no error: the object is gone, and so is the reason to act.
        - Whatever `apply` and `cleanup` raise; the finalizer stays.
        """
        present = self.name in _finalizers(obj)
        if is_terminating(obj):
            return await self._cleanup(obj, cleanup) if present else Done()
        if present:
            return await apply(obj)
        held = await self._patch(obj, _addition(obj, self.name))
        if held is None:
            return Done()
        return await apply(held if self.bounds is None else bound_members(held, self.bounds))

    async def _cleanup(self, obj: Object, cleanup: Step) -> Outcome:
        outcome = await cleanup(obj)
        if not isinstance(outcome, Done):
            return outcome
        await self._patch(obj, _removal(obj, self.name))
        return Done()

    async def _patch(self, obj: Object, ops: Sequence[Mapping[str, Any]]) -> Object | None:
        """The patched object, or None when it is gone."""
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
            # The server has no code of its own for a test that failed.
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
