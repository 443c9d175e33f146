"""BootstrapServiceSets as sources in the registry."""

from typing import Any

import pytest

from contracts.datacenter.kinds import SERVICE_SET_KIND
from contracts.datacenter.objects import DatacenterSelector
from contracts.datacenter.workload_records import DatacenterInfo, ServiceSource
from managers.datacenter.sources.hooks import FunctionHook, call_hook, call_hooks
from managers.datacenter.sources.merge import SourceResult, merge
from managers.datacenter.sources.registry import SourceRegistry
from managers.datacenter.sources.service_sets import SetHandler, SetHook, read_set, selects
from runtime.cache.stored import EventHandler
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, key_of
from tests.managers.datacenter.bodies import datacenter, desired_service, record, service

FRA1 = datacenter()


def a_set(name: str = "edge", **spec: Any) -> Object:
    body = {"services": [service("a").to_object()], **spec}
    return {"kind": SERVICE_SET_KIND, "metadata": {"name": name}, "spec": body}


class Mirror:
    """The cache of an informer of sets, which calls a handler for every change."""

    def __init__(self) -> None:
        self.objects: dict[ObjectKey, Object] = {}
        self.registry = SourceRegistry()
        self.handler = SetHandler(self.registry, self.objects.get)
        self.changes: list[str] = []
        self.registry.on_change(self.changes.append)

    def put(self, obj: Object) -> None:
        old = self.objects.get(key_of(obj))
        self.objects[key_of(obj)] = obj
        if old is None:
            self.handler.on_add(obj, initial=False)
        else:
            self.handler.on_update(old, obj)

    def drop(self, name: str) -> None:
        self.handler.on_delete(self.objects.pop(ObjectKey("", name)))

    async def answers(self, place: DatacenterInfo = FRA1) -> tuple[SourceResult, ...]:
        return await call_hooks(self.registry.snapshot(), place, ManualClock())


# --- selectors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        ({"providers": ["kubernetes"]}, True),
        ({"providers": ["nomad"]}, False),
        ({"regions": ["us-east", "eu-central"]}, True),
        ({"regions": ["us-east"]}, False),
        ({"zones": ["eu-central-1a"]}, True),
        ({"zones": ["eu-central-1b"]}, False),
        ({"labels": {"tier": "edge"}}, True),
        ({"labels": {"tier": "core"}}, False),
        ({"labels": {"tier": "edge", "team": "x"}}, False),
        ({"regions": ["eu-central"], "labels": {"tier": "core"}}, False),
        ({"regions": ["us-east"], "labels": {"tier": "edge"}}, False),
        ({"providers": ["kubernetes"], "zones": ["eu-central-1a"], "labels": {}}, True),
    ],
)
async def test_all_of_a_selector_must_match(selector: dict[str, Any], expected: bool) -> None:
    assert selects(DatacenterSelector.model_validate(selector), FRA1) is expected
    hook = read_set(a_set(selector=selector))
    source_result = await call_hook(ServiceSource("set/edge"), hook, FRA1, ManualClock())
    assert source_result == SourceResult(
        ServiceSource("set/edge"), (service("a"),) if expected else ()
    )


def test_a_region_selector_does_not_match_an_empty_region() -> None:
    place = datacenter(region="")
    assert not selects(DatacenterSelector(regions=("eu-central",)), place)
    assert selects(DatacenterSelector(), place)


# --- reading ------------------------------------------------------------------------------------


def test_a_set_is_read() -> None:
    assert read_set(a_set(priority=7, selector={"zones": ["z"]})) == SetHook(
        "edge", 7, DatacenterSelector(zones=("z",)), (service("a"),)
    )


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"services": "a"}, "spec.services: ", id="no list"),
        pytest.param({"priority": 2_000_000}, "spec.priority: ", id="a priority too high"),
        pytest.param(
            {"services": [service("a", services=()).to_object()]},
            "spec.services[0]",
            id="no Main container",
        ),
        pytest.param(
            {"services": [service("a").to_object()] * 2}, "spec.services[1].name: ", id="twice"
        ),
    ],
)
async def test_an_invalid_set_is_a_failed_source(spec: dict[str, Any], field: str) -> None:
    mirror = Mirror()
    mirror.put({"metadata": {"name": "edge"}})
    (without_spec,) = await mirror.answers()
    assert without_spec.error == "BootstrapServiceSet edge: spec: is required: set it"
    mirror.put(a_set(**spec))
    results = await mirror.answers()
    assert [(result.source.name, result.services) for result in results] == [("set/edge", None)]
    assert results[0].error.startswith(f"BootstrapServiceSet edge: {field}")

    records = [record(desired_service(service("a"), "set/edge"))]
    kept = merge(results, records, {}, frozenset())
    assert [entry.name for entry in kept.services] == ["a"]
    assert [report.error for report in kept.sources] == [results[0].error]


# --- the registry follows -----------------------------------------------------------------------


async def test_the_registry_follows_the_informer() -> None:
    mirror = Mirror()
    handler: EventHandler = mirror.handler
    mirror.put(a_set("low", priority=-1))
    mirror.put(a_set("high", priority=1))
    mirror.registry.register(FunctionHook("low", lambda ctx, info: []))
    assert [result.source for result in await mirror.answers()] == [
        ServiceSource("set/high", 1),
        ServiceSource("hook/low"),
        ServiceSource("set/low", -1),
    ]
    mirror.put(a_set("low", priority=2))
    mirror.drop("high")
    handler.on_resync(a_set("low", priority=2))
    assert [result.source for result in await mirror.answers()] == [
        ServiceSource("set/low", 2),
        ServiceSource("hook/low"),
    ]


def test_an_update_without_a_spec_change_calls_no_listener() -> None:
    mirror = Mirror()
    mirror.put(a_set())
    mirror.put({**a_set(), "metadata": {"name": "edge", "annotations": {"a": "b"}}})
    mirror.handler.on_resync(a_set())
    assert mirror.changes == ["set/edge"]
    mirror.put(a_set(services=[service("a", replicas=2).to_object()]))
    mirror.drop("edge")
    assert mirror.changes == ["set/edge"] * 3


async def test_a_recreated_set_is_not_removed_by_a_late_delete_event() -> None:
    """If the set was missing between the two events, its services would retire."""
    mirror = Mirror()
    mirror.put(a_set())
    renewed = a_set(services=[service("b").to_object()])
    mirror.objects[key_of(renewed)] = renewed
    mirror.handler.on_delete(a_set())
    assert await mirror.answers() == (SourceResult(ServiceSource("set/edge"), (service("b"),)),)
