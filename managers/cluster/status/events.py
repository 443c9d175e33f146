"""Which changes of a status are told as events: transitions, never states. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.api.meta import Condition
from contracts.records.event import EventRecord

# Condition type -> the status that is good news, and that nobody needs to be told of before it
# was ever otherwise. Types that are not here would only repeat these.
GOOD: Mapping[str, str] = {
    "OpenBaoInitialized": "True",
    "Available": "True",
    "Degraded": "False",
    "Conflict": "False",
    "RaftMembershipReady": "True",
    "ImageVerified": "True",
    "StorageConfigured": "True",
    "APIServerNetworkReady": "True",
    "ServiceAccountReady": "True",
    "BackupHealthy": "True",
}
# What the spec asks for and takes a while: told when it is so, and its end by Available.
REQUESTED_BY_SPEC = frozenset({"Hibernated", "PodsFenced"})
# A cluster that is being made is not yet any of these, and that is no news either.
TAKE_TIME = frozenset({"OpenBaoInitialized", "Available", "RaftMembershipReady"})
# Of course they become good, once there is something to look at.
ROUTINE = frozenset({"StorageConfigured", "APIServerNetworkReady", "BackupHealthy"})

# How the end of bad news is told.
OVER: Mapping[str, str] = {
    "BackupHealthy": "Snapshots are stored again",
    "Degraded": "What was degraded works again",
    "Conflict": "Nobody else's object stands in the way any more",
}


def notes(before: Sequence[Condition], after: Sequence[Condition]) -> tuple[EventRecord, ...]:
    """Tell the conditions that flipped; "Unknown" is never news."""
    old = {condition.type: condition.status for condition in before}
    events = []
    for condition in after:
        good = GOOD.get(condition.type)
        previous = old.get(condition.type)
        if (
            condition.type in REQUESTED_BY_SPEC
            and condition.status == "True"
            and previous != "True"
        ):
            events.append(EventRecord("Normal", condition.reason, condition.message))
        if good is None or condition.status in (previous, "Unknown"):
            continue
        is_good = condition.status == good
        never_was_good = previous is None or (previous == "Unknown" and condition.type in TAKE_TIME)
        expected = is_good != (condition.type in TAKE_TIME)
        routine = is_good and condition.type in ROUTINE and previous in (None, "Unknown")
        if routine or (never_was_good and expected):
            continue
        text = OVER.get(condition.type, condition.message) if is_good else condition.message
        events.append(EventRecord("Normal" if is_good else "Warning", condition.reason, text))
    return tuple(events)
