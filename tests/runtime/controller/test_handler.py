"""Event handlers: the requests of an event."""

from typing import NamedTuple

import pytest

from runtime.controller.event import Event
from runtime.controller.handler import Handler, enqueue_mapped, enqueue_object, enqueue_owner
from runtime.types import Object, Request


def child(name: str, owner: str | None, api_version: str = "shop.example/v1") -> Object:
    references = (
        [{"apiVersion": api_version, "kind": "Shop", "name": owner, "uid": "u", "controller": True}]
        if owner
        else []
    )
    return {"metadata": {"namespace": "ns", "name": name, "ownerReferences": references}}


def by_label(obj: Object) -> list[Request]:
    labels: dict[str, str] = obj["metadata"].get("labels", {})
    return [Request("ns", name) for name in sorted(labels)]


OWNER = enqueue_owner("Shop", "shop.example")


class Case(NamedTuple):
    handler: Handler
    event: Event
    expected: list[str]


CASES: dict[str, Case] = {
    "the object itself": Case(enqueue_object, Event("add", child("a", None)), ["ns/a"]),
    "the object itself, once, on update": Case(
        enqueue_object, Event("update", child("a", None), child("a", None)), ["ns/a"]
    ),
    "the owner": Case(OWNER, Event("delete", child("a", "web")), ["ns/web"]),
    "the owner in another version of its group": Case(
        OWNER, Event("add", child("a", "web", "shop.example/v2beta1")), ["ns/web"]
    ),
    "not an owner of the same kind in another group": Case(
        OWNER, Event("add", child("a", "web", "other.example/v1")), []
    ),
    "not an owner of the core group, which has no slash": Case(
        OWNER, Event("add", child("a", "web", "v1")), []
    ),
    "an owner of the core group when asked for": Case(
        enqueue_owner("Shop", ""), Event("add", child("a", "web", "v1")), ["ns/web"]
    ),
    "no request without an owner": Case(OWNER, Event("add", child("a", None)), []),
    "both owners when the owner changes": Case(
        OWNER, Event("update", child("a", "new"), child("a", "old")), ["ns/old", "ns/new"]
    ),
    "an owner of several references once": Case(
        OWNER, Event("update", child("a", "web"), child("a", "web")), ["ns/web"]
    ),
    "an owner that lives in no namespace": Case(
        enqueue_owner("Shop", "shop.example", namespaced=False),
        Event("add", child("a", "web")),
        ["web"],
    ),
    "the requests of a function for the old and the new state": Case(
        enqueue_mapped(by_label),
        Event(
            "update",
            {"metadata": {"labels": {"b": "", "c": ""}}},
            {"metadata": {"labels": {"a": "", "b": ""}}},
        ),
        ["ns/a", "ns/b", "ns/c"],
    ),
}


@pytest.mark.parametrize(("handler", "event", "expected"), CASES.values(), ids=CASES.keys())
def test_t19_requests(handler: Handler, event: Event, expected: list[str]) -> None:
    assert [str(request) for request in handler(event)] == expected


def test_t19_every_owner_of_the_kind_when_asked_for() -> None:
    obj = child("a", "web")
    reference = obj["metadata"]["ownerReferences"][0]
    others = [("next", "Shop", "shop.example/v2"), ("web", "Mall", "shop.example/v1")]
    obj["metadata"]["ownerReferences"] += [
        {**reference, "name": name, "kind": kind, "apiVersion": version, "controller": False}
        for name, kind, version in others
    ]
    every = enqueue_owner("Shop", "shop.example", controller_only=False)
    assert [str(request) for request in every(Event("add", obj))] == ["ns/web", "ns/next"]
    assert [str(request) for request in OWNER(Event("add", obj))] == ["ns/web"]
