"""runtime.apply.managed_fields: only the fields of former managers are taken over."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.apply.managed_fields import BEFORE_FIRST_APPLY, Entry, Fields, union, upgrade
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import ApplyResult
from runtime.errors import Transient
from runtime.types import Object, Resource
from runtime.verdict import Verdict
from tests.gen.api import FakeApi
from tests.runtime.apply_bench import KEY, Bench, intent

LEGACY = ("kubectl-create", "old-operator")


def entry(manager: str, operation: str, *fields: str, **more: Any) -> Entry:
    managed_field = {"manager": manager, "operation": operation, "apiVersion": "v1"}
    spec: Fields = {f"f:{field}": {} for field in fields}
    return {**managed_field, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": spec}, **more}


def live(*entries: Entry) -> Object:
    return {"metadata": {"name": "c", "resourceVersion": "7", "managedFields": list(entries)}}


OURS = entry("me", "Apply", "a")
THEIRS = entry("somebody", "Update", "z")
THEIR_APPLY = entry("old-operator", "Apply", "z")
STATUS = entry("old-operator", "Update", "s", subresource="status")

# name: (entries before, entries after; None if there is nothing to do)
TABLE: dict[str, tuple[list[Entry], list[Entry] | None]] = {
    "ours alone": ([OURS], None),
    "no managers": ([], None),
    "another manager keeps its fields": ([OURS, THEIRS], None),
    "an apply of a former manager is not upgraded": ([OURS, THEIR_APPLY], None),
    "the status of a former manager is not upgraded": ([OURS, STATUS], None),
    "the fields of a former manager are united with ours": (
        [OURS, entry("old-operator", "Update", "a", "b"), THEIRS],
        [entry("me", "Apply", "a", "b"), THEIRS],
    ),
    "fields of several former managers are united": (
        [entry("old-operator", "Update", "b"), OURS, entry("kubectl-create", "Update", "c")],
        [entry("me", "Apply", "a", "b", "c")],
    ),
    "without our entry the newest entry becomes ours": (
        [
            entry("old-operator", "Update", "b", time="2030-01-01T00:00:00Z"),
            entry("old-operator", "Update", "c", time="2030-01-02T00:00:00Z"),
        ],
        [entry("me", "Apply", "b", "c", time="2030-01-02T00:00:00Z")],
    ),
    "paths of another version are dropped": (
        [OURS, entry("old-operator", "Update", "b", apiVersion="v1beta1")],
        [OURS],
    ),
    "our status entry is not united": (
        [entry("me", "Apply", "s", subresource="status"), entry("old-operator", "Update", "b")],
        [entry("me", "Apply", "s", subresource="status"), entry("me", "Apply", "b")],
    ),
    "an entry of the server is dropped and not united": (
        [OURS, entry(BEFORE_FIRST_APPLY, "Update", "a", "z")],
        [OURS],
    ),
}


@pytest.mark.parametrize(("before", "after"), TABLE.values(), ids=TABLE.keys())
def test_t27_upgrade(before: list[Entry], after: list[Entry] | None) -> None:
    obj = live(*copy.deepcopy(before))
    ops = upgrade(obj, LEGACY, "me")
    assert obj == live(*before), "the object itself is unchanged"
    if after is None:
        assert ops is None
        return
    # With the version the patch fails after a change in between.
    assert ops == [
        {"op": "replace", "path": "/metadata/managedFields", "value": after},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
    ]
    assert upgrade(live(*after), LEGACY, "me") is None


def test_t27_the_status_is_upgraded_on_its_own() -> None:
    ops = upgrade(live(OURS, STATUS), LEGACY, "me-status", subresource="status")
    assert ops is not None
    assert ops[0]["value"] == [OURS, {**STATUS, "manager": "me-status", "operation": "Apply"}]


def test_t27_an_empty_list_is_sent_as_one_empty_entry() -> None:
    ops = upgrade(live(entry(BEFORE_FIRST_APPLY, "Update", "a")), (), "me")
    assert ops is not None
    assert ops[0]["value"] == [{}]


def test_t27_an_object_without_managers_needs_nothing() -> None:
    assert upgrade({"metadata": {"name": "c"}}, LEGACY, "me") is None


# Sets of paths in two forms: as FieldsV1, and as a plain set of tuples.
STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
SETS = st.sets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=6)


def fields_of(paths: set[tuple[str, ...]]) -> Fields:
    """FieldsV1 of a set of paths, by the rules of structured-merge-diff."""
    fields: Fields = {}
    for first in {path[0] for path in paths}:
        below = fields_of({path[1:] for path in paths if path[0] == first and len(path) > 1})
        itself = (first,) in paths
        fields[first] = {".": {}, **below} if itself and below else below
    return fields


@given(SETS, SETS)
def test_t27_a_union_has_exactly_the_paths_of_both(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    assert union(fields_of(one), fields_of(other)) == fields_of(one | other)


class Kubectl(FakeApi):
    """A server whose responses contain an update by kubectl, until a patch removes it."""

    races = 0

    async def apply(self, resource: Resource, *args: Any, **options: Any) -> ApplyResult:
        response = await super().apply(resource, *args, **options)
        obj = self.objects[(resource, KEY)]
        obj["metadata"].setdefault(
            "managedFields", [OURS, entry("kubectl-create", "Update", "old")]
        )
        return ApplyResult(copy.deepcopy(obj), response.created)

    async def json_patch(self, *args: Any, **options: Any) -> Object:
        if self.races:
            self.races -= 1
            self.with_objects(*((CONFIG_MAP, obj) for obj in self.of(CONFIG_MAP)))
        return await super().json_patch(*args, **options)


async def test_t27_fields_of_kubectl_are_taken_over_once() -> None:
    bench = Bench(Kubectl(), legacy=("kubectl-create",))
    assert (await bench.ensure()).verdict is Verdict.CREATED
    assert bench.api.take_requests() == [
        "apply ConfigMap c",
        "patch ConfigMap c",
        "apply ConfigMap c",
    ]
    kept = bench.api.objects[(CONFIG_MAP, KEY)]["metadata"]["managedFields"]
    assert kept == [entry("me", "Apply", "a", "old")]
    assert (await bench.ensure(intent(k="new"))).verdict is Verdict.UPDATED
    assert bench.api.take_requests() == ["apply ConfigMap c"]


async def test_t27_the_second_apply_is_forced_with_the_uid() -> None:
    bench = Bench(Kubectl(), legacy=("kubectl-create",))
    await bench.ensure()
    first, second = [call for call in bench.api.calls if call.verb == "apply"]
    metadata = {**first.body["metadata"], "uid": "uid-c"}
    del metadata["resourceVersion"]
    assert second.body == {**first.body, "metadata": metadata}
    assert second.force


async def test_t27_other_managers_are_not_changed() -> None:
    bench = Bench(Kubectl())
    await bench.ensure()
    assert bench.api.take_requests() == ["apply ConfigMap c"]


async def test_t27_a_conflict_is_retried_with_the_live_object() -> None:
    api = Kubectl()
    api.races = 2
    bench = Bench(api, legacy=("kubectl-create",))
    assert (await bench.ensure()).verdict is Verdict.CREATED
    assert bench.api.take_requests().count("patch ConfigMap c") == 3


async def test_t27_endless_conflicts_are_an_error() -> None:
    api = Kubectl()
    api.races = 99
    bench = Bench(api, legacy=("kubectl-create",))
    with pytest.raises(Transient, match="ConfigMap ns/c changed repeatedly"):
        await bench.ensure()
    assert bench.api.take_requests().count("patch ConfigMap c") == 3
