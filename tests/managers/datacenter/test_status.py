"""managers.datacenter.status: the status of a datacenter."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.datacenter.objects import SOURCES_MAX, DatacenterStatus
from contracts.datacenter.reasons import DATACENTER_REASONS, NO_CONFLICTS, READY, SOURCES_READY
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import ServiceProgress, ServiceRecord, ServiceSource
from contracts.rfc3339 import rfc3339
from managers.datacenter.lifecycle.plan import RecordPlan
from managers.datacenter.lifecycle.service import DatacenterReport, ServiceFailure
from managers.datacenter.sources.merge import MergeResult, NameConflict, SourceReport
from managers.datacenter.status import DatacenterCondition, DatacenterSummary, compute, summarize
from runtime.testing.clock import EPOCH
from runtime.types import Object
from tests.managers.datacenter import bodies

NOW = EPOCH
LATER = NOW + timedelta(minutes=5)
RUNS = DatacenterCondition("True", "AllRunning")
SHIPPER, DNS = bodies.service("shipper"), bodies.service("dns")
LIVE: Object = {
    "metadata": {"name": "fra1", "uid": "uid-fra1", "generation": 3, "resourceVersion": "7"}
}


def record(
    body: BootstrapService, state: str = "Running", message: str = "", **more: Any
) -> ServiceRecord:
    """A record whose last attempt was of the present spec."""
    desired_service = bodies.desired_service(body)
    progress = ServiceProgress(state=state, message=message, digest=desired_service.digest)  # type: ignore[arg-type]  # a word of a test's table
    return replace(bodies.record(desired_service, progress=progress), **more)


def merge_result(*services: BootstrapService, **more: Any) -> MergeResult:
    wishes = tuple(bodies.desired_service(service) for service in services)
    return replace(MergeResult(wishes, (), ()), **more)


def report(
    *records: ServiceRecord, desired: MergeResult | None = None, **more: Any
) -> DatacenterReport:
    """A report of a reconcile with these records; by default all are desired."""
    desired_state = desired or merge_result(*(record.desired.service for record in records))
    return replace(DatacenterReport(desired_state, RecordPlan(), records), **more)


OLD = replace(record(DNS), desired=bodies.desired_service(bodies.service("dns", replicas=2)))
FAILED = record(SHIPPER, "Failed", "Rejected: no image")

# A report of an active datacenter, and its message.
NOT_RUNNING: dict[str, tuple[DatacenterReport, str]] = {
    "one is provisioned": (
        report(record(DNS), record(SHIPPER, "Provisioning", "0 of 1 pods are ready")),
        "shipper: 0 of 1 pods are ready",
    ),
    "one without a message": (report(record(SHIPPER, "Pending")), "shipper: Pending"),
    "one runs with the former spec": (report(OLD), "dns: Running"),
    "one is retiring": (
        report(record(DNS), record(SHIPPER, "Running", retiring=True), desired=merge_result(DNS)),
        "shipper: Running",
    ),
    "one has no record": (
        report(record(DNS), desired=merge_result(DNS, SHIPPER)),
        "shipper: not created yet",
    ),
    "one has no record while another one is surplus": (
        report(record(DNS), record(bodies.service("old")), desired=merge_result(DNS, SHIPPER)),
        "shipper: not created yet",
    ),
    "one could not be written": (
        report(
            record(DNS),
            desired=merge_result(DNS, SHIPPER),
            failures=(ServiceFailure("shipper", "no right"),),
        ),
        "shipper: no right",
    ),
}
CLOSED = RecordPlan(blocked="closed")
REJECTED = DatacenterCondition("False", "ServicesFailed", "shipper: Rejected: no image")
FINDINGS: dict[str, tuple[DatacenterReport, Any, DatacenterCondition]] = {
    **{
        name: (not_running, "Active", DatacenterCondition("False", "ServicesNotRunning", message))
        for name, (not_running, message) in NOT_RUNNING.items()
    },
    "no services": (report(), "Active", RUNS),
    "all run": (report(record(SHIPPER), record(DNS)), "Active", RUNS),
    "one failed": (report(record(DNS, "Pending"), FAILED), "Active", REJECTED),
    "one failed in maintenance": (report(FAILED, planned=CLOSED), "Maintenance", REJECTED),
    "maintenance": (
        report(record(DNS), planned=CLOSED),
        "Maintenance",
        DatacenterCondition("False", "Maintenance", "closed"),
    ),
    "draining with kept services": (
        report(record(DNS), record(SHIPPER), desired=merge_result(DNS), planned=CLOSED),
        "Draining",
        RUNS,
    ),
    "offline": (report(FAILED), "Offline", DatacenterCondition("Unknown", "Offline")),
}


@pytest.mark.parametrize(("report", "state", "ready"), FINDINGS.values(), ids=FINDINGS)
def test_whether_a_datacenter_is_ready(
    report: DatacenterReport, state: Any, ready: DatacenterCondition
) -> None:
    assert summarize(report, state).ready == ready


def test_at_most_five_services_are_named() -> None:
    records = [record(bodies.service(f"s{n}"), "Pending") for n in range(9)]
    assert summarize(report(*records), "Active").ready.message == (
        "s0: Pending; s1: Pending; s2: Pending; s3: Pending; s4: Pending"
    )


def test_an_unknown_reason_is_an_error() -> None:
    with pytest.raises(ValueError, match="'Splendid' is not a reason of a Datacenter"):
        DatacenterCondition("True", "Splendid")


def test_every_reason_has_a_meaning_and_a_next_step() -> None:
    for name, reason in DATACENTER_REASONS.items():
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name)
        assert reason.meaning.endswith(".")
        assert reason.next_step.endswith(".")


# --- the whole status ---------------------------------------------------------------------------


def source(name: str, digest: str = "d1", error: str = "", services: int = 1) -> SourceReport:
    return SourceReport(ServiceSource(name, 5), services, digest, error)


def test_the_counts_of_services() -> None:
    failed, kept = record(bodies.service("a"), "Failed"), record(bodies.service("kept"))
    records = (record(SHIPPER), failed, OLD, kept)
    desired = merge_result(SHIPPER, bodies.service("a"), OLD.desired.service, bodies.service("new"))
    status = compute(LIVE, DatacenterSummary(RUNS, records, desired), NOW)
    assert (status.services, status.running, status.failed, status.summary) == (4, 1, 1, "1/4")
    assert status.observed_generation == 3
    newer = merge_result(bodies.service("shipper", replicas=2))
    assert compute(LIVE, DatacenterSummary(RUNS, (record(SHIPPER),), newer), NOW).summary == "0/1"


def test_three_conditions_are_stated() -> None:
    status = compute(LIVE, DatacenterSummary(RUNS, (), merge_result()), NOW)
    assert [
        (condition.type, condition.status, condition.reason, condition.message)
        for condition in status.conditions
    ] == [
        (READY, "True", "AllRunning", "Every service runs in its desired state"),
        (
            SOURCES_READY,
            "True",
            "AllSourcesReady",
            "Every source of services returned a valid list",
        ),
        (NO_CONFLICTS, "True", "NoConflict", "No two sources declare a service of the same name"),
    ]
    assert {condition.observed_generation for condition in status.conditions} == {3}
    assert {condition.last_transition_time for condition in status.conditions} == {NOW}


def test_failing_sources_and_conflicts_are_named() -> None:
    conflict = NameConflict("shipper", "declared", "set/net")
    desired_state = merge_result(
        sources=(source("declared"), source("hook/a", "", "late")), conflicts=(conflict,)
    )
    _, sources, conflicts = compute(
        LIVE, DatacenterSummary(RUNS, (), desired_state), NOW
    ).conditions
    assert (sources.status, sources.reason) == ("False", "SourceDegraded")
    assert sources.message == "hook/a: late"
    assert (conflicts.status, conflicts.reason) == ("False", "Conflict")
    assert conflicts.message == conflict.message


def with_status(status: DatacenterStatus) -> Object:
    """The datacenter with that status."""
    return {**LIVE, "status": status.to_object()}


def test_unchanged_values_keep_their_time() -> None:
    desired_state = merge_result(sources=(source("declared"), source("hook/a", "")))
    first = compute(LIVE, DatacenterSummary(RUNS, (), desired_state), NOW)
    assert [view.last_good_time for view in first.sources] == [NOW, None]
    assert compute(with_status(first), DatacenterSummary(RUNS, (), desired_state), LATER) == first
    busy = DatacenterCondition("False", "ServicesNotRunning", "x")
    changed = merge_result(sources=(source("declared", "d2"), source("hook/a", "d1")))
    second = compute(with_status(first), DatacenterSummary(busy, (), changed), LATER)
    assert [view.last_good_time for view in second.sources] == [LATER, LATER]
    assert [condition.last_transition_time for condition in second.conditions] == [LATER, NOW, NOW]
    # Another reason with the same status is no transition.
    failed = DatacenterCondition("False", "ServicesFailed", "x")
    third = compute(
        with_status(second), DatacenterSummary(failed, (), changed), LATER + timedelta(minutes=1)
    )
    assert third.conditions[0].last_transition_time == LATER
    assert third.conditions[0].reason == "ServicesFailed"


def test_a_failing_source_keeps_the_time_of_its_last_success() -> None:
    good, failing = (
        DatacenterSummary(RUNS, (), merge_result(sources=(source("hook/a", error=error),)))
        for error in ("", "no route")
    )
    (view,) = compute(with_status(compute(LIVE, good, NOW)), failing, LATER).sources
    assert (view.error, view.last_good, view.last_good_time) == ("no route", "d1", NOW)


def test_a_deletion_keeps_the_status_of_the_sources() -> None:
    failing = merge_result(sources=(source("hook/a", error="no route"),))
    first = compute(LIVE, DatacenterSummary(RUNS, (), failing), NOW)
    leaving = DatacenterCondition("False", "Deleting", "x")
    second = compute(with_status(first), DatacenterSummary(leaving, (record(SHIPPER),)), LATER)
    assert second.sources == first.sources
    assert second.conditions[1:] == first.conditions[1:]
    assert second.summary == "1/1"
    # A new datacenter has no earlier status.
    assert [
        condition.type for condition in compute(LIVE, DatacenterSummary(leaving), NOW).conditions
    ] == [READY]


def test_foreign_texts_are_truncated_and_sanitized() -> None:
    bad = source("hook/a", error="a\x00b" + "x" * 5000)
    many = tuple(source(f"hook/{n:03}") for n in range(1, SOURCES_MAX + 3))
    invalid = DatacenterCondition("False", "InvalidSpec", "c\nd")
    summary = DatacenterSummary(invalid, (), merge_result(sources=(bad, *many)))
    status = compute(LIVE, summary, NOW.replace(microsecond=7))
    DatacenterStatus.model_validate(status.to_object())
    assert "\x00" not in status.sources[0].error
    assert "\n" not in status.conditions[0].message
    assert [view.name for view in status.sources[1:]] == [
        report.source.name for report in many[: SOURCES_MAX - 1]
    ]
    # Times are whole seconds.
    assert status.conditions[0].last_transition_time == NOW
    assert status.to_object()["sources"][1]["lastGoodTime"] == rfc3339(NOW)


@pytest.mark.parametrize("status", ["nonsense", {"conditions": 7}, {"sources": [{"name": 1}]}])
def test_an_unreadable_status_is_replaced(status: Any) -> None:
    live = {**LIVE, "status": status}
    account = DatacenterSummary(RUNS, (), merge_result(sources=(source("a"),)))
    assert compute(live, account, NOW) == compute(LIVE, account, NOW)
