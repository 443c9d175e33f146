"""managers.cluster.status.events: which transitions are events, and which are not."""

import itertools
from typing import Literal

import pytest

from contracts.api.meta import Condition
from contracts.conditions.condition import TYPES
from contracts.records.event import EventRecord
from managers.cluster.status.events import (
    GOOD,
    RECOVERED,
    REQUESTED_BY_SPEC,
    ROUTINE,
    TAKE_TIME,
    condition_events,
)

Kind = Literal["Normal", "Warning"]
STATUSES = (None, "True", "False", "Unknown")


def state(kind: str, status: str | None) -> tuple[Condition, ...]:
    if status is None:
        return ()
    condition = {"type": kind, "status": status, "reason": "Why", "message": "what is"}
    return (Condition.model_validate(condition),)


# sentence: (condition, status before, status now, kind of event or None)
FLIPS: dict[str, tuple[str, str | None, str, Kind | None]] = {
    "it became available": ("Available", "False", "True", "Normal"),
    "it is available in the first status": ("Available", None, "True", "Normal"),
    "a new cluster is not available yet": ("Available", None, "False", None),
    "it is still not available": ("Available", "False", "False", None),
    "it is no longer available": ("Available", "True", "False", "Warning"),
    "its availability is unknown": ("Available", "True", "Unknown", None),
    "it is available again after a pause": ("Available", "Unknown", "True", "Normal"),
    "a pause ended and it is not available": ("Available", "Unknown", "False", None),
    "a new cluster has no conflict": ("Conflict", None, "False", None),
    "a new cluster has a conflict": ("Conflict", None, "True", "Warning"),
    "a new conflict": ("Conflict", "False", "True", "Warning"),
    "a resolved conflict": ("Conflict", "True", "False", "Normal"),
    "a new cluster is not degraded": ("Degraded", None, "False", None),
    "it is degraded": ("Degraded", "False", "True", "Warning"),
    "it is no longer degraded": ("Degraded", "True", "False", "Normal"),
    "the first server initialized it": ("OpenBaoInitialized", "False", "True", "Normal"),
    "a new cluster has no members": ("RaftMembershipReady", "Unknown", "False", None),
    "all are voters": ("RaftMembershipReady", "Unknown", "True", "Normal"),
    "a voter is missing": ("RaftMembershipReady", "True", "False", "Warning"),
    "a type that repeats another one": ("Ready", "False", "True", None),
    "it is hibernated": ("Hibernated", None, "True", "Normal"),
    "it is hibernated after a delay": ("Hibernated", "False", "True", "Normal"),
    "it is still hibernated": ("Hibernated", "True", "True", None),
    "hibernation starts": ("Hibernated", None, "False", None),
    "its pods are fenced": ("PodsFenced", "False", "True", "Normal"),
    "it stays in maintenance": ("Maintenance", None, "True", None),
    "its volumes cannot match the spec": ("StorageConfigured", "True", "False", "Warning"),
    "its volumes are created": ("StorageConfigured", "Unknown", "True", None),
    "its volumes match the spec again": ("StorageConfigured", "False", "True", "Normal"),
    "its image has no valid signature": ("ImageVerified", "True", "False", "Warning"),
    "the API server is reachable": ("APIServerNetworkReady", None, "True", None),
    "the API server is not reachable": ("APIServerNetworkReady", None, "False", "Warning"),
    "a foreign ServiceAccount has the annotations": ("ServiceAccountReady", None, "True", None),
    "a foreign ServiceAccount lacks annotations": (
        "ServiceAccountReady",
        "True",
        "False",
        "Warning",
    ),
    "a recommendation causes no event": ("ProductionReady", "True", "False", None),
}


@pytest.mark.parametrize(("kind", "was", "now", "told"), FLIPS.values(), ids=FLIPS)
def test_transition(kind: str, was: str | None, now: str, told: Kind | None) -> None:
    text = RECOVERED.get(kind, "what is") if told == "Normal" else "what is"
    expected = () if told is None else (EventRecord(told, "Why", text),)
    assert condition_events(state(kind, was), state(kind, now)) == expected


@pytest.mark.parametrize("kind", [kind.name for kind in TYPES])
def test_no_event_without_a_change_or_for_unknown(kind: str) -> None:
    for was, now in itertools.product(STATUSES, STATUSES):
        records = condition_events(state(kind, was), state(kind, now))
        if was == now or now in (None, "Unknown"):
            assert records == ()
        for note in records:
            assert (note.kind == "Normal") is (now == GOOD.get(kind, "True"))


def test_events_have_the_order_of_the_status() -> None:
    before = state("Available", "True") + state("Degraded", "False")
    after = state("Available", "False") + state("Degraded", "True")
    assert [note.kind for note in condition_events(before, after)] == ["Warning", "Warning"]
    assert condition_events(after, after) == ()


def test_the_tables_name_existing_conditions() -> None:
    names = {kind.name for kind in TYPES}
    assert GOOD.keys() <= names
    assert GOOD.keys() >= TAKE_TIME | ROUTINE
    assert names >= REQUESTED_BY_SPEC
    assert not REQUESTED_BY_SPEC & GOOD.keys()
    polarity = {kind.name: kind.polarity for kind in TYPES}
    for kind, good in GOOD.items():
        assert good == ("True" if polarity[kind] == "good" else "False"), kind
