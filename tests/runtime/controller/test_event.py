"""Predicates: which updates are dropped."""

import pytest

from runtime.controller.event import (
    Event,
    Predicate,
    any_of,
    changed_outside_status,
    finalizer_lost,
    finalizers_changed,
    generation_changed,
    labels_or_annotations_changed,
    resource_version_changed,
    resynced,
    terminating,
)
from runtime.types import Object


def thing(**metadata: object) -> Object:
    return {
        "metadata": {
            "namespace": "default",
            "name": "web",
            "generation": 1,
            "resourceVersion": "7",
            **metadata,
        }
    }


def test_t19_predicates_drop_resyncs_except_resynced() -> None:
    resync = Event("update", thing(), thing(), resync=True)
    deaf = (
        generation_changed,
        labels_or_annotations_changed,
        finalizers_changed,
        resource_version_changed,
        changed_outside_status,
    )
    assert not any(predicate(resync) for predicate in deaf)
    assert resynced(resync)
    assert not resynced(Event("update", thing(), thing()))


UPDATES: dict[str, tuple[Predicate, Object, bool]] = {
    "a new generation passes": (generation_changed, thing(generation=2), True),
    "a status is not a new generation": (generation_changed, thing(resourceVersion="8"), False),
    "a label is not a new generation": (generation_changed, thing(labels={"a": "b"}), False),
    "a label passes": (labels_or_annotations_changed, thing(labels={"a": "b"}), True),
    "an annotation passes": (labels_or_annotations_changed, thing(annotations={"a": "b"}), True),
    "a status is not a label": (labels_or_annotations_changed, thing(resourceVersion="8"), False),
    "a finalizer passes": (finalizers_changed, thing(finalizers=["a/b"]), True),
    "a label is not a finalizer": (finalizers_changed, thing(labels={"a": "b"}), False),
    "a finalizer of others is dropped": (finalizer_lost("a/b"), thing(finalizers=["c/d"]), False),
    "an added finalizer is dropped": (finalizer_lost("a/b"), thing(finalizers=["a/b"]), False),
    "a replay is dropped": (resource_version_changed, thing(), False),
    "a new version passes": (resource_version_changed, thing(resourceVersion="8"), True),
    "a status is not a change outside of it": (
        changed_outside_status,
        {**thing(resourceVersion="8", managedFields=[{}]), "status": {"a": 1}},
        False,
    ),
    "a label is a change outside of the status": (
        changed_outside_status, thing(labels={"a": "b"}), True,
    ),
    "data are a change outside of the status": (
        changed_outside_status, {**thing(), "data": {"a": "b"}}, True,
    ),
    "a terminating object passes": (terminating, thing(deletionTimestamp="2030-01-01"), True),
    "an object without deletion is dropped": (terminating, thing(resourceVersion="8"), False),
    "one matching predicate is enough": (
        any_of(generation_changed, finalizers_changed), thing(finalizers=["a/b"]), True,
    ),
    "an event without a matching predicate is dropped": (
        any_of(generation_changed, finalizers_changed), thing(labels={"a": "b"}), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("predicate", "new", "passes"), UPDATES.values(), ids=UPDATES.keys())
def test_t19_update(predicate: Predicate, new: Object, passes: bool) -> None:
    assert predicate(Event("update", new, thing())) is passes


def test_t19_the_removal_of_a_finalizer_passes() -> None:
    held = thing(finalizers=["a/b", "c/d"])
    assert finalizer_lost("a/b")(Event("update", thing(finalizers=["c/d"]), held))
    assert not finalizer_lost("a/b")(Event("update", thing(finalizers=["a/b"]), held))


@pytest.mark.parametrize(
    "predicate",
    [
        generation_changed,
        labels_or_annotations_changed,
        finalizers_changed,
        finalizer_lost("a/b"),
        resource_version_changed,
    ],
)
@pytest.mark.parametrize("obj", [thing(), {"metadata": {}}], ids=["full", "bare"])
def test_t19_adds_and_deletes_always_pass(predicate: Predicate, obj: Object) -> None:
    assert predicate(Event("add", obj, initial=True))
    assert predicate(Event("delete", obj))
