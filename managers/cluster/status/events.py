"""Events for transitions of conditions, never for states. Pure.

Called by managers.cluster.apply.status_writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.api.meta import Condition
from contracts.records.event import EventRecord

# Condition type -> its good status, which is an event only after another status. Events of the
# other types would only repeat these.
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
# Requested by the spec, and slow: an event when it is True; Available reports the end.
REQUESTED_BY_SPEC = frozenset({"Hibernated", "PodsFenced"})
# A new cluster starts without these, which is no event.
TAKE_TIME = frozenset({"OpenBaoInitialized", "Available", "RaftMembershipReady"})
# These become good as soon as they are observed, which is no event.
ROUTINE = frozenset({"StorageConfigured", "APIServerNetworkReady", "BackupHealthy"})

# The messages when a condition recovers.
RECOVERED: Mapping[str, str] = {
    "BackupHealthy": "Snapshots are stored again",
    "Degraded": "Every degraded component has recovered",
    "Conflict": "No required object has another owner",
}


def condition_events(
    before: Sequence[Condition], after: Sequence[Condition]
) -> tuple[EventRecord, ...]:
    """Return the events of changed conditions; "Unknown" is never one."""
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
        text = RECOVERED.get(condition.type, condition.message) if is_good else condition.message
        events.append(EventRecord("Normal" if is_good else "Warning", condition.reason, text))
    return tuple(events)
