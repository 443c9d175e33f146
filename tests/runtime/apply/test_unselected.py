"""runtime.apply.apply: objects that exist but that no cache selects."""

from typing import Any

import pytest

from runtime.apply.apply import UNSELECTED
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import ApplyResult
from runtime.errors import Forbidden, Transient
from runtime.types import Object, Resource
from runtime.verdict import Verdict
from tests.gen.api import FakeApi, api_error
from tests.runtime.apply_bench import KEY, OTHER, Bench, intent, owned_object


async def test_a_known_unselected_object_is_read_first() -> None:
    bench = Bench(FakeApi().with_objects((CONFIG_MAP, owned_object(OTHER))))
    bench.caches[CONFIG_MAP].says()
    await bench.ensure()
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.FOREIGN
    assert bench.api.take_requests() == ["peek ConfigMap c"]
    del bench.api.objects[(CONFIG_MAP, KEY)]
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.CREATED
    assert bench.api.take_requests() == ["peek ConfigMap c", "apply ConfigMap c"]


async def test_the_names_of_unselected_objects_are_bounded() -> None:
    names = [f"c{number}" for number in range(UNSELECTED + 1)]
    bench = Bench(
        FakeApi().with_objects(*((CONFIG_MAP, owned_object(OTHER, name=name)) for name in names))
    )
    bench.caches[CONFIG_MAP].says()
    for name in names:
        await bench.ensure(intent(name))
    bench.api.calls.clear()
    for name in (names[0], names[-1]):
        await bench.ensure(intent(name))
    assert bench.api.take_requests() == [
        f"apply ConfigMap {names[0]}",
        f"peek ConfigMap {names[0]}",
        f"peek ConfigMap {names[-1]}",
    ]


@pytest.mark.parametrize(
    ("there", "verdict"),
    [((), Verdict.REJECTED), (((CONFIG_MAP, owned_object(OTHER)),), Verdict.FOREIGN)],
)
async def test_after_a_rejected_create_the_object_is_read(
    there: tuple[tuple[Resource, Object], ...], verdict: Verdict
) -> None:
    """A webhook may reject the request before the server compares versions."""
    bench = Bench(FakeApi().with_objects(*there))
    bench.caches[CONFIG_MAP].says()
    bench.api.refuse("apply ConfigMap c", api_error(422))
    assert (await bench.ensure()).verdict is verdict
    assert bench.api.take_requests() == ["apply ConfigMap c", "peek ConfigMap c"]


@pytest.mark.parametrize("there", [False, True])
async def test_a_forbidden_create_is_raised_unless_the_object_exists(there: bool) -> None:
    bench = Bench(FakeApi().with_objects(*([(CONFIG_MAP, owned_object(OTHER))] if there else [])))
    bench.caches[CONFIG_MAP].says()
    bench.api.refuse("apply ConfigMap c", api_error(403))
    if there:
        assert (await bench.ensure()).verdict is Verdict.FOREIGN
    else:
        with pytest.raises(Forbidden):
            await bench.ensure()
    assert bench.api.take_requests() == ["apply ConfigMap c", "peek ConfigMap c"]


async def test_a_create_without_response_is_raised_without_a_read() -> None:
    class Busy(FakeApi):
        async def apply(self, *args: Any, **options: Any) -> ApplyResult:
            raise Transient("no answer")

    bench = Bench(Busy())
    with pytest.raises(Transient, match="no answer"):
        await bench.ensure()
    assert bench.api.take_requests() == []
