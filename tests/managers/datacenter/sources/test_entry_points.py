"""Hooks of packages: found by entry points, and reported if they are broken."""

import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from contracts.datacenter.workload_records import ServiceSource
from managers.datacenter.sources.entry_points import GROUP, BrokenHook, discover, register_hooks
from managers.datacenter.sources.hooks import call_hooks
from managers.datacenter.sources.merge import SourceResult
from managers.datacenter.sources.registry import SourceRegistry
from runtime.testing.clock import ManualClock
from tests.managers.datacenter.bodies import IMAGE, datacenter

MODULE = "network_extension"
CODE = f"""
from managers.datacenter.sources.hooks import FunctionHook

BODY = {{"name": "a", "services": [{{"name": "main", "image": "{IMAGE}"}}]}}

class Network:
    name, priority = "network", 4

    async def services(self, ctx, datacenter):
        return [BODY]

ready = Network()

def factory():
    return FunctionHook("made", lambda ctx, datacenter: [BODY], 2)

def told_something(what):
    return ready

def leaving():
    raise SystemExit("no license")

def nothing():
    pass

number = 7
nameless = FunctionHook("", lambda ctx, datacenter: [])
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with one hook in its entry points."""
    (tmp_path / f"{MODULE}.py").write_text(CODE, encoding="utf-8")
    metadata = tmp_path / f"{MODULE}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: network-extension\nVersion: 1.0\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        f"[{GROUP}]\nnetwork = {MODULE}:Network\nbad = {MODULE}:nowhere\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop(MODULE, None)


def point(name: str, what: str, module: str = MODULE) -> EntryPoint:
    return EntryPoint(name, f"{module}:{what}", GROUP)


async def answers(points: Iterable[EntryPoint] | None) -> tuple[SourceResult, ...]:
    registry = SourceRegistry()
    register_hooks(registry, points)
    sources = registry.snapshot()
    return await call_hooks(sources, datacenter(), ManualClock())


@pytest.mark.parametrize(
    ("what", "source"),
    [
        ("ready", ServiceSource("hook/network", 4)),
        ("Network", ServiceSource("hook/network", 4)),
        ("factory", ServiceSource("hook/made", 2)),
    ],
)
async def test_an_entry_point_is_a_hook_or_a_factory(what: str, source: ServiceSource) -> None:
    results = await answers([point("x", what)])
    assert [(result.source, len(result.services or ()), result.error) for result in results] == [
        (source, 1, "")
    ]


NO_HOOK = "None is not a hook: pass an object with name, priority and services"
BROKEN = {
    "told_something": (
        " could not be loaded: TypeError: told_something() missing 1 required positional argument: "
        "'what'; fix the package or uninstall it"
    ),
    "leaving": (" could not be loaded: SystemExit: no license; fix the package or uninstall it"),
    "nothing": f": {NO_HOOK}",
    "number": (
        " could not be loaded: TypeError: 'int' object is not callable; fix the package or "
        "uninstall it"
    ),
    "nameless": (
        ": FunctionHook.name must be 1 to 253 letters, digits, dots, dashes or underscores, with a "
        "letter or digit at both ends (got ''): give the hook a stable name"
    ),
}
MISSING = (
    " could not be loaded: ModuleNotFoundError: No module named 'no_such_module'; fix the package "
    "or uninstall it"
)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (point("x", "y", "no_such_module"), MISSING),
        *((point("x", what), why) for what, why in BROKEN.items()),
    ],
    ids=lambda case: getattr(case, "value", ""),
)
async def test_a_broken_entry_point_is_a_failed_source(broken: EntryPoint, why: str) -> None:
    error = f"entry point x = {broken.value}{why}"
    with capture_logs() as logs:
        results = await answers([broken, point("z", "factory")])
    found = [(result.source.name, result.error) for result in results]
    assert found == [("hook/made", ""), ("hook/x", error)]
    assert [(line["log_level"], line["error"]) for line in logs if "error" in line] == [
        ("error", error)
    ]


async def test_two_packages_with_the_same_hook_name_both_fail() -> None:
    """If one of them won, services would depend on the order of installation."""
    points = [point("b", "ready"), point("a", "Network"), point("c", "ready")]
    results = await answers(points)
    assert [result.source for result in results] == [ServiceSource("hook/network", 0)]
    assert results[0].error == (
        f"entry point a = {MODULE}:Network and entry point c = {MODULE}:ready both have the "
        "hook name network: uninstall one of the packages, or rename its hook"
    )
    assert await answers(reversed(points)) == results


@pytest.mark.parametrize(
    ("name", "expected"),
    [("net work/x", "net-work-x"), ("-net.", "net"), ("///", "unnamed"), ("n" * 300, "n" * 200)],
)
def test_the_name_of_a_broken_entry_point_is_sanitized(name: str, expected: str) -> None:
    registry = SourceRegistry()
    assert register_hooks(registry, [point(name, "nowhere")]) == (
        ServiceSource(f"hook/{expected}"),
    )


def test_hooks_of_installed_packages_are_found_and_errors_name_the_package() -> None:
    hooks = {hook.name: hook for hook in discover()}
    assert type(hooks["network"]).__name__ == "Network"
    bad = hooks["bad"]
    assert isinstance(bad, BrokenHook)
    assert bad.error.startswith(
        f"entry point bad = {MODULE}:nowhere of network-extension could not be loaded: "
    )
