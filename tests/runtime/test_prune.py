"""runtime.apply.apply.

Objects that are deleted because a complete plan does not contain them, and objects that never are.
"""

import pytest

from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi, api_error
from tests.runtime.apply_bench import KEY, MARKS, OTHER, OWNER, Bench, owned_object

# name: (the live object, whether it is deleted)
PRUNING: dict[str, tuple[Object, bool]] = {
    "an object that is not planned is deleted": (owned_object(), True),
    "an object of another owner is kept": (owned_object(OTHER), False),
    "an object without controller is kept": (
        owned_object(ownerReferences=[], annotations={MARKS.owner_uid: "uid-1"}),
        False,
    ),
    "a terminating object is not deleted again": (
        owned_object(deletionTimestamp="2030-01-01T00:00:00Z"),
        False,
    ),
}


@pytest.mark.parametrize(("there", "goes"), PRUNING.values(), ids=PRUNING.keys())
async def test_pruning(there: Object, goes: bool) -> None:
    bench = Bench(FakeApi().with_objects((CONFIG_MAP, there)))
    gone = await bench.owned.prune(OWNER, [CONFIG_MAP], keep=())
    assert gone == ((KEY,) if goes else ())
    assert bench.api.take_requests() == (["delete ConfigMap c"] if goes else [])


async def test_pruning_keeps_planned_objects_and_other_kinds() -> None:
    bench = Bench(
        FakeApi().with_objects((CONFIG_MAP, owned_object()), (SERVICE, owned_object(name="s")))
    )
    assert await bench.owned.prune(OWNER, [CONFIG_MAP], keep={(CONFIG_MAP, KEY)}) == ()
    assert await bench.owned.prune(OWNER, [], keep=()) == ()
    assert bench.api.take_requests() == []


@pytest.mark.parametrize("code", [404, 409])
async def test_pruning_ignores_concurrent_deletes(code: int) -> None:
    bench = Bench(
        FakeApi().with_objects((CONFIG_MAP, owned_object()), (CONFIG_MAP, owned_object(name="d")))
    )
    bench.api.refuse("delete ConfigMap c", api_error(code))
    assert await bench.owned.prune(OWNER, [CONFIG_MAP], keep=()) == (ObjectKey("ns", "d"),)
