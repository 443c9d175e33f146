"""The finalizer wrapper and the patch semantics of a real API server."""

from collections.abc import Awaitable, Callable

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.controller.finalizer import Finalizer, Superseded
from runtime.errors import NotFound
from runtime.outcome import Blocked, Done, Outcome
from runtime.types import Object, ObjectKey, is_terminating, resource_version_of, uid_of

OURS = "shop.example/finalizer"
THEIRS = "other.example/finalizer"

Reconcile = Callable[[Object], Awaitable[Outcome]]


class World:
    """One ConfigMap with a finalizer wrapper."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.key = ObjectKey(namespace, "web")
        self.applied: list[Object] = []
        self.cleaned: list[Object] = []
        self.cleanup_ends: Outcome = Done()
        self.finalizer = Finalizer(client, CONFIG_MAP, OURS, "itest")

    async def create(self, *finalizers: str) -> Object:
        metadata = {"namespace": self.key.namespace, "name": self.key.name}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "finalizers": list(finalizers)} if finalizers else metadata,
        }
        return await self.client.create(CONFIG_MAP, body, field_manager="itest")

    async def read(self) -> Object:
        return await self.client.get(CONFIG_MAP, self.key)

    async def touch(self) -> None:
        obj = await self.read()
        await self.client.update(CONFIG_MAP, {**obj, "data": {"touched": "yes"}})

    async def delete(self) -> None:
        await self.client.delete(CONFIG_MAP, self.key, uid=uid_of(await self.read()))

    async def is_deleted(self) -> bool:
        try:
            await self.read()
        except NotFound:
            return True
        return False

    async def reconcile(self, obj: Object | None = None) -> Outcome:
        async def apply(obj: Object) -> Outcome:
            self.applied.append(obj)
            return Done()

        async def cleanup(obj: Object) -> Outcome:
            self.cleaned.append(obj)
            return self.cleanup_ends

        return await self.finalizer.reconcile(
            obj or await self.read(), apply=apply, cleanup=cleanup
        )


@pytest.fixture
def world(client: Client, namespace: str) -> World:
    return World(client, namespace)


def finalizers_of(obj: Object) -> list[str]:
    finalizers: list[str] = obj["metadata"].get("finalizers", [])
    return finalizers


@pytest.mark.parametrize("others", [[], [THEIRS]], ids=["the first one", "beside another one"])
async def test_it_is_added_before_anything_is_applied(others: list[str], world: World) -> None:
    await world.create(*others)
    await world.reconcile()
    (applied,) = world.applied
    assert finalizers_of(applied) == [*others, OURS]
    assert applied == await world.read(), "the step sees the object as it is now"
    version = resource_version_of(applied)
    await world.reconcile()
    assert resource_version_of(await world.read()) == version, "held once, written once"


async def test_deletion_waits_for_cleanup_and_then_ends(world: World) -> None:
    await world.create()
    await world.reconcile()
    await world.delete()
    world.cleanup_ends = Blocked("Locked", "m")
    assert await world.reconcile() == world.cleanup_ends
    assert is_terminating(await world.read())
    world.cleanup_ends = Done()
    assert await world.reconcile() == Done()
    assert await world.is_deleted()
    assert len(world.cleaned) == 2


async def test_the_finalizer_of_another_controller_is_kept(world: World) -> None:
    await world.create(THEIRS)
    await world.reconcile()
    await world.delete()
    await world.reconcile()
    left = await world.read()
    assert finalizers_of(left) == [THEIRS]
    assert await world.reconcile() == Done()
    await world.client.json_patch(
        CONFIG_MAP, world.key, [{"op": "remove", "path": "/metadata/finalizers"}]
    )
    assert await world.is_deleted()


async def test_a_stale_read_is_superseded_when_it_would_add(world: World) -> None:
    stale = await world.create()
    await world.touch()
    with pytest.raises(Superseded):
        await world.reconcile(stale)
    assert world.applied == []
    assert finalizers_of(await world.read()) == []


async def test_a_change_during_cleanup_repeats_the_cleanup(world: World) -> None:
    await world.create(OURS)
    await world.delete()
    stale = await world.read()
    await world.touch()
    with pytest.raises(Superseded):
        await world.reconcile(stale)
    assert not await world.is_deleted()
    await world.reconcile()
    assert await world.is_deleted()
