"""The finalizer wrapper: which step runs, and the exact patches."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.controller.finalizer import Finalizer, Superseded
from runtime.errors import Invalid, NotFound, ServerError, StatusInfo
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Resource

OURS = "shop.example/finalizer"
GUARD = [
    {"op": "test", "path": "/metadata/uid", "value": "u1"},
    {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
]


def thing(*finalizers: str, deleting: bool = False) -> Object:
    metadata: dict[str, Any] = {
        "namespace": "ns",
        "name": "web",
        "uid": "u1",
        "resourceVersion": "7",
    }
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    if deleting:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    return {"metadata": metadata}


@dataclass
class World:
    """Records the patches and the steps; the server returns its state after the patch."""

    trace: list[str] = field(default_factory=list)
    patches: list[list[Mapping[str, Any]]] = field(default_factory=list)
    error: Exception | None = None
    cleanup_ends: Outcome = field(default_factory=Done)
    after_patch: Object = field(default_factory=lambda: thing(OURS))

    async def json_patch(
        self,
        resource: Resource,
        key: ObjectKey,
        ops: Sequence[Mapping[str, Any]],
        /,
        *,
        field_manager: str | None = None,
    ) -> Object:
        assert (resource, key, field_manager) == (CONFIG_MAP, ObjectKey("ns", "web"), "shop")
        self.trace.append("patch")
        self.patches.append(list(ops))
        if self.error is not None:
            raise self.error
        return self.after_patch

    async def apply(self, obj: Object) -> Outcome:
        assert OURS in obj["metadata"]["finalizers"], "an applied object needs the finalizer"
        self.trace.append("apply")
        return Wait("Starting", "not yet", 5.0)

    async def cleanup(self, obj: Object) -> Outcome:
        self.trace.append("cleanup")
        return self.cleanup_ends

    async def reconcile(self, obj: Object) -> Outcome:
        finalizer = Finalizer(self, CONFIG_MAP, OURS, "shop")
        return await finalizer.reconcile(obj, apply=self.apply, cleanup=self.cleanup)


@dataclass(frozen=True)
class Case:
    obj: Object
    trace: list[str]
    outcome: Outcome
    ops: list[Mapping[str, Any]] = field(default_factory=list)


APPLIED = Wait("Starting", "not yet", 5.0)

CASES: dict[str, Case] = {
    "a new object gets the finalizer before it is applied": Case(
        thing(),
        ["patch", "apply"],
        APPLIED,
        [
            {"op": "test", "path": "/metadata/finalizers", "value": None},
            {"op": "add", "path": "/metadata/finalizers", "value": [OURS]},
        ],
    ),
    "finalizers of others are tested and kept": Case(
        thing("a/b"),
        ["patch", "apply"],
        APPLIED,
        [
            {"op": "test", "path": "/metadata/finalizers", "value": ["a/b"]},
            {"op": "add", "path": "/metadata/finalizers/-", "value": OURS},
        ],
    ),
    "an object with the finalizer costs no write": Case(thing("a/b", OURS), ["apply"], APPLIED),
    "a deleted object is cleaned up and then released": Case(
        thing("a/b", OURS, "c/d", deleting=True),
        ["cleanup", "patch"],
        Done(),
        [
            {"op": "test", "path": "/metadata/finalizers/1", "value": OURS},
            {"op": "remove", "path": "/metadata/finalizers/1"},
        ],
    ),
    "a deleted object without our finalizer is ignored": Case(
        thing("a/b", deleting=True), [], Done()
    ),
    "a deleted object without any finalizer is ignored": Case(thing(deleting=True), [], Done()),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_flow(case: Case) -> None:
    world = World()
    assert await world.reconcile(case.obj) == case.outcome
    assert world.trace == case.trace
    assert world.patches == ([[*GUARD, *case.ops]] if case.ops else [])


@pytest.mark.parametrize(
    "outcome", [Wait("Draining", "m", 3.0), Blocked("Locked", "m")], ids=["wait", "blocked"]
)
async def test_an_incomplete_cleanup_keeps_the_object(outcome: Outcome) -> None:
    world = World(cleanup_ends=outcome)
    assert await world.reconcile(thing(OURS, deleting=True)) == outcome
    assert world.trace == ["cleanup"]


async def test_a_recheck_is_dropped_after_the_finalizer_is_removed() -> None:
    world = World(cleanup_ends=Done(recheck_after=60.0))
    assert await world.reconcile(thing(OURS, deleting=True)) == Done()


@pytest.mark.parametrize("obj", [thing(), thing(OURS, deleting=True)], ids=["add", "remove"])
async def test_a_deleted_object_needs_nothing(obj: Object) -> None:
    world = World(error=NotFound(StatusInfo(404)))
    assert await world.reconcile(obj) == Done()
    assert "apply" not in world.trace


@pytest.mark.parametrize("obj", [thing(), thing(OURS, deleting=True)], ids=["add", "remove"])
async def test_a_failed_test_is_superseded(obj: Object) -> None:
    world = World(error=Invalid(StatusInfo(422, message="testing path failed")))
    with pytest.raises(Superseded, match=r"configmaps ns/web.*testing path failed"):
        await world.reconcile(obj)
    assert "apply" not in world.trace


async def test_other_errors_are_raised_unchanged() -> None:
    with pytest.raises(ServerError):
        await World(error=ServerError(StatusInfo(500))).reconcile(thing())


def test_the_contract_is_written_down() -> None:
    headings = re.findall(r"^ +(\w+)\n +-{4,}$", Finalizer.reconcile.__doc__ or "", re.MULTILINE)
    assert headings == ["Flow", "Guarantees", "Assumptions", "Caveats", "Errors"]
