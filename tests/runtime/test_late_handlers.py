"""runtime.cache.informer: handlers that register at any time get every event exactly once."""

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, Selection
from runtime.cache.watch import Mirror, Remove, Replace, Upsert
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.types import Object, key_of, uid_of
from tests.runtime.informing import Recorder, name_of
from tests.runtime.serving import Tokens, config_map


class Led(Informer):
    """An informer to which the test delivers effects at any time, instead of a reflector."""

    def hears(self, effect: Mirror) -> None:
        self._mirror(effect)

    def tells(self, count: int) -> None:
        self._tell_next(count)

    async def finish(self) -> None:
        await self._settle()


class Late(Recorder):
    """A handler that records the objects at its registration."""

    def __init__(self, informer: Informer) -> None:
        super().__init__()
        self.found = [f"!{name_of(obj)}" for obj in informer.list()]
        self.synced = informer.synced
        informer.add_handler(self)
        assert self.words == self.found

    def initial_adds(self) -> list[str]:
        return [word for word in self.words if word.startswith("!")]


class World:
    """The objects of the server, and their history."""

    def __init__(self) -> None:
        self.version = 100
        self.alive: dict[str, Object] = {}

    def write(self, name: str) -> Object:
        self.version += 1
        known = self.alive.get(name)
        uid = uid_of(known) if known else f"{name}-{self.version}"
        obj = self.alive[name] = config_map(name, str(self.version), uid=uid)
        return obj

    def delete(self, name: str) -> Object:
        self.version += 1
        return config_map(name, str(self.version), uid=uid_of(self.alive.pop(name)))

    def replace(self) -> Replace:
        return Replace([*self.alive.values()], str(self.version), "test")


NAMES = st.sampled_from("abcd")
STEPS = st.tuples(st.sampled_from(["event", "unseen", "own write", "list", "register"]), NAMES)


def change(world: World, name: str) -> Mirror:
    if name in world.alive and world.version % 3 == 0:
        return Remove(world.delete(name))
    return Upsert(world.write(name))


@given(before=st.lists(NAMES, max_size=4), steps=st.lists(STEPS, max_size=30))
def test_t13_a_handler_gets_one_initial_add_per_object_at_any_time(
    before: list[str], steps: list[tuple[str, str]]
) -> None:
    """Recorder fails on a second add, on an update of another object, on an unknown delete.

    The changes of a new list are delivered one by one; handlers and own writes are added in
    between.
    """
    client = Client(Tokens("http://unused"), user_agent="test/1", clock=SystemClock())
    informer = Led(
        client,
        Selection(CONFIG_MAP, "shop"),
        clock=SystemClock(),
        rng=random.Random(1),
        metrics=Metrics(),
    )
    world, handlers = World(), [Late(informer)]
    for name in before:
        world.write(name)
    for what, name in [*steps[:2], ("list", "a"), *steps[2:]]:
        match what:
            case "register":
                handlers.append(Late(informer))
            case "list":
                informer.hears(world.replace())
            case "unseen":
                change(world, name)
            case "own write":
                informer.observe(world.write(name))
            case "event" if informer.synced:
                # The reflector continues only after a list was delivered.
                asyncio.run(informer.finish())
                informer.hears(change(world, name))
        informer.tells(1)
        if what == "list" and not informer.synced:
            asyncio.run(informer.finish())
    asyncio.run(informer.finish())
    truth = {key_of(obj): obj for obj in informer.list()}
    for handler in handlers:
        assert handler.world == truth
        initial = handler.initial_adds()
        assert len(set(initial)) == len(initial)
        # A handler after the first list gets initial adds only for existing objects.
        assert initial == handler.found or not handler.synced
