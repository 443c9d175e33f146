"""Each source is registered once; the order does not depend on the registration."""

import random
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from contracts.datacenter.workload_records import DatacenterInfo, ServiceSource
from managers.datacenter.sources.hooks import Body, FunctionHook, Hook, HookContext
from managers.datacenter.sources.registry import (
    InvalidHookError,
    RegisteredSource,
    SourceRegistry,
    source_of,
)


@dataclass(frozen=True)
class EmptyHook:
    """A hook without services; hooks with equal fields are equal."""

    name: str
    priority: int = 0

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        return []


def names(registry: SourceRegistry) -> list[str]:
    return [source.name for source, _ in registry.snapshot()]


def test_sources_are_sorted_by_rank() -> None:
    hooks = [
        EmptyHook("b"),
        EmptyHook("a"),
        EmptyHook("low", -5),
        EmptyHook("high", 5),
        EmptyHook("c"),
    ]
    rng = random.Random(3)
    for _ in range(20):
        rng.shuffle(hooks)
        registry = SourceRegistry()
        for hook in hooks:
            registry.register(hook)
        assert names(registry) == ["hook/high", "hook/a", "hook/b", "hook/c", "hook/low"]


def test_a_second_registration_replaces_the_first() -> None:
    registry = SourceRegistry()
    registry.register(EmptyHook("a", 1))
    later = EmptyHook("a", 2)
    assert registry.register(later) == ServiceSource("hook/a", 2)
    assert registry.snapshot() == (RegisteredSource(ServiceSource("hook/a", 2), later),)


def test_a_hook_and_a_set_of_the_same_name_are_two_sources() -> None:
    registry = SourceRegistry()
    registry.register(EmptyHook("a"))
    registry.register(EmptyHook("a"), "set/")
    assert names(registry) == ["hook/a", "set/a"]
    assert registry.unregister("a")
    assert names(registry) == ["set/a"]


def test_unregister_does_not_change_a_snapshot() -> None:
    registry = SourceRegistry()
    registry.register(EmptyHook("a"))
    before = registry.snapshot()
    assert not registry.unregister("b")
    assert registry.unregister("a")
    assert not registry.unregister("a")
    assert registry.snapshot() == ()
    assert [source.name for source, _ in before] == ["hook/a"]


def test_the_priority_is_read_at_registration() -> None:
    """Otherwise the order could change between two reads."""
    registry = SourceRegistry()
    hook = FunctionHook("a", lambda ctx, datacenter: [], 3)
    registry.register(hook)
    hook.priority = 9
    assert registry.snapshot()[0].source == ServiceSource("hook/a", 3)


NAME_RULE = (
    "must be 1 to 253 letters, digits, dots, dashes or underscores, with a letter or digit at both "
    "ends"
)


class Nameless:
    priority = 0


class Serviceless:
    name, priority = "a", 0


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (None, "None is not a hook: pass an object with name, priority and services"),
        (Nameless(), f"Nameless.name {NAME_RULE} (got None): give the hook a stable name"),
        *(
            (
                EmptyHook(name),
                f"EmptyHook.name {NAME_RULE} (got {name!r}): give the hook a stable name",
            )
            for name in ("", "set/a", "-a", "a\n", "x" * 254)
        ),
        *(
            (
                EmptyHook("a", priority),
                "EmptyHook.priority of hook a must be an integer from -1000000 to 1000000 "
                f"(got {priority}): set it, for example to 0",
            )
            for priority in (1_000_001, True)
        ),
        (
            Serviceless(),
            "Serviceless has no method services: wrap a plain function as "
            "FunctionHook('a', function)",
        ),
    ],
)
def test_an_invalid_hook_is_refused_with_the_next_step(hook: Any, expected: str) -> None:
    registry = SourceRegistry()
    with pytest.raises(InvalidHookError) as caught:
        registry.register(cast(Hook, hook))
    assert str(caught.value) == expected
    assert registry.snapshot() == ()


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "x" * 253])
def test_valid_names_are_accepted(name: str) -> None:
    assert source_of(EmptyHook(name, -1_000_000)) == ServiceSource(f"hook/{name}", -1_000_000)


def test_listeners_are_called_once_per_change() -> None:
    registry = SourceRegistry()
    heard: list[tuple[str, list[str]]] = []
    registry.on_change(lambda source: heard.append((source, names(registry))))
    registry.register(EmptyHook("a"))
    registry.register(EmptyHook("a"))
    registry.register(EmptyHook("a", 1))
    registry.unregister("b")
    registry.unregister("a")
    assert heard == [("hook/a", ["hook/a"]), ("hook/a", ["hook/a"]), ("hook/a", [])]


def test_a_failing_listener_does_not_stop_others() -> None:
    registry = SourceRegistry()
    heard: list[str] = []
    registry.on_change(lambda source: [][1])
    registry.on_change(heard.append)
    with capture_logs() as logs:
        registry.register(EmptyHook("a"))
    assert heard == ["hook/a"]
    assert [(line["event"], line["source"]) for line in logs] == [
        ("listener of the source registry failed", "hook/a")
    ]


def test_a_listener_may_change_the_registry() -> None:
    registry = SourceRegistry()

    def follow(source: str) -> None:
        if source == "hook/a":
            registry.register(EmptyHook("b"))

    registry.on_change(follow)
    registry.register(EmptyHook("a"))
    assert names(registry) == ["hook/a", "hook/b"]


@pytest.fixture
def frequent_thread_switches() -> Iterator[None]:
    """Let threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_thread_switches")
def test_threads_lose_no_registration() -> None:
    registry = SourceRegistry()
    together = threading.Barrier(8)

    def work(part: int) -> None:
        together.wait()
        for number in range(50):
            registry.register(EmptyHook(f"h{part}.{number}"))
            registry.register(EmptyHook(f"gone{part}.{number}"))
            assert registry.unregister(f"gone{part}.{number}")

    threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(f"hook/h{part}.{number}" for part in range(8) for number in range(50))
    assert names(registry) == expected
