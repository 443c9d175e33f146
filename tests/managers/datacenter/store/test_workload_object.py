"""The conversion between a record and its object."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.datacenter.objects import InvalidDatacenterError, State
from contracts.datacenter.workload import BootstrapWorkloadStatus
from contracts.datacenter.workload_records import (
    Failure,
    ServiceProgress,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.store.workload_object import (
    body_of,
    progress_from,
    record_of,
    status_of,
    with_current_state,
)
from runtime.types import Object
from tests.managers.datacenter.bodies import datacenter, desired_service, openbao, service

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
THEN = NOW - timedelta(hours=1)
FRA = datacenter()
SHIPPER = desired_service(
    service("shipper", replicas=2), "hook/net", priority=7, redeploy="again-1"
)


def live(progress: ServiceProgress | None = None, **metadata: Any) -> Object:
    """The object of the record as the server stores it."""
    obj = body_of(FRA, SHIPPER)
    obj["metadata"] |= {"uid": "u1", "resourceVersion": "5", "generation": 3, **metadata}
    if progress is not None:
        obj["status"] = status_of(obj, record_of(obj, FRA), progress, THEN).to_object()
    return obj


def test_the_spec_contains_the_desired_service() -> None:
    spec = body_of(FRA, SHIPPER)["spec"]
    assert spec.pop("service") == SHIPPER.service.to_object()
    assert spec == {
        "datacenter": "fra1",
        "namespace": "dc-fra1",
        "provider": "kubernetes",
        "source": {"name": "hook/net", "priority": 7},
        "digest": SHIPPER.digest,
        "redeploy": "again-1",
    }


@pytest.mark.parametrize(
    "value", [SHIPPER, desired_service(openbao("vault"))], ids=lambda case: case.name
)
def test_a_record_survives_a_round_trip(value: Any) -> None:
    obj = body_of(FRA, value)
    obj["metadata"] |= {"uid": "u1", "resourceVersion": "5"}
    assert record_of(obj, FRA) == ServiceRecord("u1", FRA, value, version="5")


def test_without_the_datacenter_a_record_has_its_stored_place() -> None:
    record = record_of(live())
    assert record.datacenter == replace(FRA, region="", zone="", labels={})
    assert not record.retiring
    assert record_of(live(deletionTimestamp="2030-01-01T00:00:00Z")).retiring


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (None, FRA),
        (datacenter("ams1"), FRA),
        (replace(FRA, state="Draining"), replace(FRA, state="Draining")),
        (replace(FRA, region="x", labels={}), replace(FRA, region="x", labels={})),
        (replace(FRA, namespace="x"), FRA),
        (replace(FRA, provider="x"), FRA),
        (replace(FRA, uid="heir"), FRA),
    ],
)
def test_a_provisioned_record_keeps_its_namespace_and_provider(current: Any, expected: Any) -> None:
    assert with_current_state(FRA, current, provisioned=True) == expected
    # A wrong provider can be corrected until an object is created.
    wrong = replace(FRA, provider="x", namespace="x")
    assert with_current_state(FRA, wrong, provisioned=False) == replace(FRA, provider="x")


def test_a_name_that_does_not_fit_its_spec_is_refused() -> None:
    with pytest.raises(InvalidDatacenterError) as refused:
        record_of(live(name="fra1.other"))
    assert str(refused.value) == (
        "metadata.name: must be fra1.shipper, as in its spec; delete it, and the operator creates "
        "another one (got fra1.other)"
    )


@pytest.mark.parametrize("spec", [None, "x", [], {}, {"service": 7}, {"service": {"kind": []}}])
def test_an_unreadable_record_is_refused_unless_it_is_terminating(spec: Any) -> None:
    obj = {**live(), "spec": spec}
    with pytest.raises(InvalidDatacenterError):
        record_of(obj, FRA)
    obj["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    record = record_of(obj, FRA)
    assert (record.id, record.name, record.retiring, record.version) == ("u1", "shipper", True, "5")
    assert record.datacenter == FRA


def test_an_unreadable_terminating_record_keeps_its_deletion_policies() -> None:
    obj = live(deletionTimestamp="2030-01-01T00:00:00Z")
    obj["spec"]["service"] |= {
        "kind": "StatefulSet",
        "deletionPolicy": "Orphan",
        "volumePolicy": "Delete",
        "replicas": "many",
    }
    obj["spec"]["namespace"] = "dc-other"
    record = record_of(obj, FRA)
    body = record.desired.service
    assert (body.kind, body.deletion_policy) == ("StatefulSet", "Orphan")
    assert body.volume_policy == "Delete"
    assert record.datacenter.namespace == "dc-other"
    assert record.desired.source == ServiceSource("hook/net")


def test_a_record_without_a_datacenter_is_refused_even_if_it_is_terminating() -> None:
    obj = {**live(name="Not Ours", labels={}), "spec": {}}
    obj["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    with pytest.raises(InvalidDatacenterError):
        record_of(obj, FRA)


@pytest.mark.parametrize("status", [None, "x", {"state": "Happy"}, {"attempts": -1}, []])
def test_an_unreadable_status_is_empty(status: Any) -> None:
    assert record_of({**live(), "status": status}).progress == ServiceProgress()


NEW = ServiceProgress()
RUNNING = ServiceProgress("Running", digest="d1", running_since=THEN, ready="2/2")
STARTING = ServiceProgress("Provisioning", "1 of 2 pods are ready", "d1", attempts=1)
BUSY = Failure("Unavailable", "the server is busy", THEN)
RETRIED = ServiceProgress("Failed", BUSY.message, "d1", 2, NOW + timedelta(seconds=10), BUSY)
BROKEN = ServiceProgress("Failed", "no image", "d1", 1, None, Failure("Rejected", "no image", THEN))
NO_RIGHT = replace(RETRIED, failure=replace(BUSY, reason="Forbidden"))
RETIRING = replace(RETRIED, state="Retiring", digest="")
PROVISIONING = "False Provisioning"


@pytest.mark.parametrize(
    "progress", [RUNNING, STARTING, RETRIED, BROKEN, RETIRING, ServiceProgress()]
)
def test_progress_survives_a_round_trip(progress: ServiceProgress) -> None:
    status = BootstrapWorkloadStatus.model_validate(live(progress)["status"])
    assert progress_from(status) == progress
    assert status.observed_generation == 3


@pytest.mark.parametrize(
    ("progress", "state", "ready", "stalled", "message"),
    [
        (
            ServiceProgress(),
            "Active",
            "False Pending",
            "False Pending",
            "No object was created yet.",
        ),
        (STARTING, "Active", "False Provisioning", "False Provisioning", "1 of 2 pods are ready"),
        (RUNNING, "Active", "True Running", "False Running", "It is up to date and healthy."),
        (RUNNING, "Offline", "Unknown Offline", "False Running", "It is up to date and healthy."),
        (RETRIED, "Active", "False Unavailable", "False Failed", "the server is busy"),
        (BROKEN, "Active", "False Rejected", "True Rejected", "no image"),
        (NO_RIGHT, "Active", "False Forbidden", "True Forbidden", "the server is busy"),
        (RETIRING, "Active", "False Retiring", "False Retiring", "the server is busy"),
        (
            replace(RETIRING, next_retry=None),
            "Active",
            "False Retiring",
            "True Unavailable",
            "the server is busy",
        ),
        (
            replace(BROKEN, failure=replace(BUSY, reason="no word!")),
            "Active",
            "False Failed",
            "True Failed",
            "no image",
        ),
    ],
)
def test_conditions(
    progress: ServiceProgress, state: State, ready: str, stalled: str, message: str
) -> None:
    record = record_of(live(), replace(FRA, state=state))
    assert {
        condition.type: (f"{condition.status} {condition.reason}", condition.message)
        for condition in status_of(live(), record, progress, NOW).conditions
    } == {"Ready": (ready, message), "Stalled": (stalled, message)}


def test_a_condition_keeps_its_time_while_its_status_is_unchanged() -> None:
    obj = live(STARTING)
    record = record_of(obj, FRA)
    again = status_of(obj, record, replace(STARTING, message="0 of 2 pods are ready"), NOW)
    assert [condition.last_transition_time for condition in again.conditions] == [THEN, THEN]
    ready = status_of(obj, record, RUNNING, NOW)
    assert [condition.last_transition_time for condition in ready.conditions] == [NOW, THEN]


def test_long_values_are_truncated() -> None:
    refs = tuple((f"part{at:03}", "x" * 300) for at in range(70))
    long = ServiceProgress("Running", "m" * 2000, "d1", provider_ref="r" * 300, service_refs=refs)
    obj = live()
    status = status_of(obj, record_of(obj, FRA), long, NOW)
    assert (len(status.message), len(status.provider_ref)) == (1024, 253)
    assert (len(status.service_refs), len(status.service_refs[0].ref)) == (64, 253)
