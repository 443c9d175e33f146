"""The state of a record, the next action, and the recorded progress."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.datacenter.objects import State
from contracts.datacenter.workload import ServiceState
from contracts.datacenter.workload_records import (
    Failure,
    Observation,
    ServiceProgress,
    ServiceRecord,
)
from contracts.records.event import EventRecord
from managers.datacenter.backoff import RETIRE
from managers.datacenter.lifecycle.state_machine import (
    STATES,
    UNKNOWN_PROVIDER,
    ServiceFacts,
    ServiceVerdict,
    decide_service,
    events_for,
    progress_of,
    requeue_after,
)
from tests.managers.datacenter.bodies import desired_service, record, service

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
SHIPPER = record(desired_service(service("shipper")))
DIGEST = SHIPPER.desired.digest
NOTHING = Observation()
PART = Observation(present=True, message="Deployment fra1-shipper is missing")
OLD = Observation(present=True, digest="old", healthy=True, ready=1, desired=1)
STARTING = Observation(present=True, digest=DIGEST, ready=1, desired=2)
PULLING = replace(STARTING, message="image cannot be pulled")
WELL = Observation(
    present=True,
    digest=DIGEST,
    healthy=True,
    ready=2,
    desired=2,
    provider_ref="Deployment dc-fra1/fra1-shipper",
    service_refs=(("main", "Deployment dc-fra1/fra1-shipper"),),
)
CLOSED = "the datacenter is in Maintenance: its services are not changed"
MAKE = "its objects are being created"
CHANGE = "its objects are being updated"
TAKE = "its objects are being deleted"
BUSY = Failure("Unavailable", "the server is busy", NOW)
BROKEN = ServiceProgress(
    "Failed", "no image", DIGEST, 1, None, Failure("Rejected", "no image", NOW)
)


def failing(after: int = 5, digest: str = DIGEST) -> ServiceProgress:
    """A failure whose next attempt is that many seconds from now."""
    later = NOW + timedelta(seconds=after)
    return ServiceProgress("Failed", "the server is busy", digest, 1, later, BUSY)


def facts(
    observation: Observation | None, progress: ServiceProgress | None = None, **changes: Any
) -> ServiceFacts:
    retiring = changes.pop("retiring", False)
    shipper = replace(SHIPPER, progress=progress or ServiceProgress(), retiring=retiring)
    return ServiceFacts(
        shipper, observation, changes.pop("datacenter_state", "Active"), NOW, **changes
    )


MAINTENANCE: dict[ServiceState, tuple[Any, ...]] = {
    "Pending": (NOTHING,),
    "Provisioning": (OLD,),
    "Failed": (NOTHING, failing(after=0)),
    "Retiring": (WELL,),
}
RUNS = ServiceVerdict("Running", "", "")
CREATES = ServiceVerdict("Provisioning", MAKE, "provision")
UPDATES = ServiceVerdict("Provisioning", CHANGE, "provision")
STARTS = ServiceVerdict("Provisioning", "1 of 2 pods are ready", "")
WAITS = ServiceVerdict("Pending", "waiting for these services to run: vault", "")
FAILS = ServiceVerdict("Failed", "the server is busy", "")
REJECTED = ServiceVerdict("Failed", "no image", "")
DELETES = ServiceVerdict("Retiring", TAKE, "deprovision")
UNKNOWN = replace(BROKEN, failure=Failure(UNKNOWN_PROVIDER, "x", NOW))
VAULT = ("vault",)

CASES: dict[str, tuple[ServiceFacts, ServiceVerdict]] = {
    "nothing exists yet": (facts(NOTHING), CREATES),
    "a dependency is missing": (facts(NOTHING, unmet_dependencies=VAULT), WAITS),
    "two dependencies are missing": (
        facts(NOTHING, unmet_dependencies=("vault", "dns")),
        replace(WAITS, message="waiting for these services to run: vault, dns"),
    ),
    "some objects exist": (facts(PART), UPDATES),
    "some objects exist without a dependency": (facts(PART, unmet_dependencies=VAULT), UPDATES),
    "another body is applied": (facts(OLD), UPDATES),
    "another body is applied without a dependency": (facts(OLD, unmet_dependencies=VAULT), UPDATES),
    "pods start": (facts(STARTING), STARTS),
    "pods report a problem": (facts(PULLING), replace(STARTS, message="image cannot be pulled")),
    "all is healthy": (facts(WELL), RUNS),
    "an attempt failed, and the next is later": (facts(NOTHING, failing()), FAILS),
    "a change failed, and the next attempt is later": (facts(OLD, failing()), FAILS),
    "the next attempt is due": (facts(NOTHING, failing(after=0)), UPDATES),
    "the desired_service changed after a failure": (facts(NOTHING, failing(500, "old")), CREATES),
    "a terminal failure": (facts(NOTHING, BROKEN), REJECTED),
    "a terminal failure of another body": (facts(NOTHING, replace(BROKEN, digest="old")), CREATES),
    "failed, unmet dependency": (facts(NOTHING, failing(after=0), unmet_dependencies=VAULT), WAITS),
    "healthy after a terminal failure": (facts(WELL, BROKEN), RUNS),
    "starting after a terminal failure": (facts(STARTING, BROKEN), STARTS),
    "its provider is known again": (facts(NOTHING, UNKNOWN), CREATES),
    "Draining creates": (facts(NOTHING, datacenter_state="Draining"), CREATES),
    "Maintenance observes": (facts(WELL, datacenter_state="Maintenance"), RUNS),
    **{
        f"Maintenance in {state}": (
            facts(*observed, datacenter_state="Maintenance", retiring=state == "Retiring"),
            ServiceVerdict(state, CLOSED, ""),
        )
        for state, observed in MAINTENANCE.items()
    },
    "retiring": (facts(WELL, retiring=True), DELETES),
    "retiring and never created": (facts(NOTHING, retiring=True), DELETES),
    "retiring with a missing dependency": (
        facts(NOTHING, retiring=True, unmet_dependencies=VAULT),
        DELETES,
    ),
    "retiring after a terminal failure": (facts(PART, BROKEN, retiring=True), DELETES),
    "retiring with dependents": (
        facts(WELL, retiring=True, dependents=("dns", "shop")),
        ServiceVerdict("Retiring", "waiting for the deletion of these services: dns, shop", ""),
    ),
    "not retiring with dependents": (facts(WELL, dependents=("shop",)), RUNS),
    "a deletion failed, and the next attempt is later": (
        facts(WELL, failing(digest=RETIRE), retiring=True),
        replace(FAILS, state="Retiring"),
    ),
    "a failed deletion whose retry is due": (
        facts(WELL, failing(0, RETIRE), retiring=True),
        DELETES,
    ),
    "retiring and deleted": (
        facts(WELL, retiring=True, gone=True),
        ServiceVerdict("Retired", "all of its objects are deleted", "remove"),
    ),
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_the_decision_for_each_state(given: ServiceFacts, expected: ServiceVerdict) -> None:
    assert decide_service(given) == expected
    # The decision does not depend on the stored state.
    for state, since in itertools.product(STATES, (None, NOW)):
        stored = replace(given.record.progress, state=state, running_since=since)
        assert decide_service(replace(given, record=replace(given.record, progress=stored))) == (
            expected
        )
    # Equal facts cause no second change.
    once = record_progress(given)
    again = replace(given, record=replace(given.record, progress=once))
    assert record_progress(again) == once


def test_an_offline_datacenter_keeps_the_last_known_status() -> None:
    for state in STATES:
        service_facts = facts(None, ServiceProgress(state, attempts=3), datacenter_state="Offline")
        verdict = decide_service(service_facts)
        message = (
            "the datacenter is Offline: its services are not observed, and this status may be "
            "outdated"
        )
        assert verdict == ServiceVerdict(state, message, "")
        assert progress_of(service_facts, verdict) == ServiceProgress(state, message, attempts=3)


def record_progress(facts: ServiceFacts) -> ServiceProgress:
    return progress_of(facts, decide_service(facts))


def test_a_running_service_is_recorded_with_its_objects() -> None:
    assert record_progress(facts(WELL)) == ServiceProgress(
        state="Running",
        digest=DIGEST,
        running_since=NOW,
        ready="2/2",
        provider_ref="Deployment dc-fra1/fra1-shipper",
        service_refs=(("main", "Deployment dc-fra1/fra1-shipper"),),
    )


@pytest.mark.parametrize("hours", [1, 1000])
def test_time_alone_changes_no_record(hours: int) -> None:
    for seen, progress in (
        (WELL, ServiceProgress(attempts=4)),
        (STARTING, None),
        (NOTHING, BROKEN),
    ):
        once = record_progress(facts(seen, progress))
        later = replace(facts(seen, once), now=NOW + timedelta(hours=hours))
        assert record_progress(later) == once


# sentence: (facts, the state, digest, attempts and failure that are recorded)
RECORDED: dict[str, tuple[ServiceFacts, tuple[Any, ...]]] = {
    "a new digest clears them": (
        facts(OLD, failing(500, "old")),
        ("Provisioning", DIGEST, 0, None),
    ),
    "another attempt keeps them": (facts(OLD, failing(0)), ("Provisioning", DIGEST, 1, BUSY)),
    "a success clears the failure and keeps the count": (
        facts(WELL, failing()),
        ("Running", DIGEST, 1, None),
    ),
    "a wait does not count as an attempt": (
        facts(OLD, failing(digest="old"), datacenter_state="Maintenance"),
        ("Provisioning", "old", 1, BUSY),
    ),
    "a known provider clears the failure": (
        facts(NOTHING, UNKNOWN, datacenter_state="Maintenance"),
        ("Pending", DIGEST, 0, None),
    ),
}


@pytest.mark.parametrize(("given", "expected"), RECORDED.values(), ids=RECORDED)
def test_which_failure_is_recorded(given: ServiceFacts, expected: tuple[Any, ...]) -> None:
    known = record_progress(given)
    assert (known.state, known.digest, known.attempts, known.failure) == expected
    assert (known.next_retry is None) is (known.failure is None)


@pytest.mark.parametrize(("ran", "attempts"), [(599, 4), (600, 0)])
def test_ten_minutes_of_running_reset_the_attempts(ran: int, attempts: int) -> None:
    since = NOW - timedelta(seconds=ran)
    before = ServiceProgress("Running", digest=DIGEST, attempts=4, running_since=since)
    known = record_progress(facts(STARTING, before))
    assert (known.state, known.attempts, known.running_since) == ("Provisioning", attempts, None)


def test_running_since_changes_only_with_the_digest() -> None:
    since = NOW - timedelta(hours=1)
    before = ServiceProgress("Running", digest=DIGEST, running_since=since)
    assert record_progress(facts(WELL, before)).running_since == since
    assert record_progress(facts(WELL, replace(before, digest="old"))).running_since == NOW


RUNNING = ServiceProgress("Running", digest=DIGEST, running_since=NOW)
STARTED = EventRecord("Normal", "Started", "service shipper is being provisioned")
SUCCEEDED = EventRecord("Normal", "Succeeded", "service shipper is Running")
FAILED = EventRecord("Warning", "Failed", "service shipper: Unavailable: the server is busy")
MORE = replace(failing(), attempts=2)
OTHER = replace(failing(), failure=Failure("QuotaExceeded", "pods", NOW))


@pytest.mark.parametrize(
    ("before", "after", "events_sent"),
    [
        (ServiceProgress(), ServiceProgress("Provisioning", digest=DIGEST), (STARTED,)),
        (ServiceProgress("Provisioning", digest=DIGEST), RUNNING, (SUCCEEDED,)),
        (ServiceProgress("Provisioning", digest=DIGEST), failing(), (FAILED,)),
        (failing(), MORE, ()),
        (
            failing(),
            OTHER,
            (EventRecord("Warning", "Failed", "service shipper: QuotaExceeded: pods"),),
        ),
        (failing(digest="old"), failing(), (FAILED,)),
        (failing(), RUNNING, (SUCCEEDED,)),
        (RUNNING, RUNNING, ()),
        (RUNNING, replace(RUNNING, ready="3/3"), ()),
        (RUNNING, ServiceProgress("Provisioning", digest=DIGEST), ()),
        (RUNNING, ServiceProgress("Provisioning", digest="new"), (STARTED,)),
        (RUNNING, ServiceProgress("Retiring", digest=RETIRE), ()),
        (RUNNING, replace(failing(digest=RETIRE), state="Retiring"), (FAILED,)),
    ],
)
def test_each_transition_causes_one_event(
    before: ServiceProgress, after: ServiceProgress, events_sent: tuple[EventRecord, ...]
) -> None:
    service_record: ServiceRecord = replace(SHIPPER, progress=before)
    assert events_for(service_record, after) == events_sent


@pytest.mark.parametrize(
    ("progress", "datacenter_state", "after"),
    [
        (ServiceProgress("Pending"), "Active", 60.0),
        (ServiceProgress("Provisioning"), "Draining", 30.0),
        (RUNNING, "Active", 600.0),
        (failing(40), "Active", 40.0),
        (failing(0), "Active", 1.0),
        (failing(700), "Active", 600.0),
        (BROKEN, "Active", 600.0),
        (ServiceProgress("Retiring"), "Active", 5.0),
        (replace(failing(40, RETIRE), state="Retiring"), "Active", 40.0),
        (replace(failing(40), state="Provisioning"), "Active", 30.0),
        (ServiceProgress("Provisioning"), "Maintenance", 600.0),
        (failing(40), "Offline", 600.0),
    ],
)
def test_the_requeue_interval(
    progress: ServiceProgress, datacenter_state: State, after: float
) -> None:
    assert requeue_after(progress.state, progress, datacenter_state, NOW) == after
