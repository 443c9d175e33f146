"""When a workload is healthy, and the message if it is not."""

from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.service_spec import Kind
from contracts.datacenter.workload_records import Observation
from managers.datacenter.provider.objects import ObjectRef
from managers.datacenter.provider.readiness import NOT_OBSERVED, applied_digest, evaluate, summarize
from runtime.builtin_kinds import CONFIG_MAP, DEPLOYMENT, SERVICE
from runtime.types import Object, ObjectKey, Resource
from tests.managers.datacenter import bodies

PROGRESSING = {"type": "Progressing", "reason": "ProgressDeadlineExceeded"}
LATE = {**PROGRESSING, "status": "False", "message": "it has timed out"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
AVAILABLE = {"type": "Available", "status": "True"}
READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "message": "a leader is waited for"}


def deployment(replicas: int | None, updated: int, all_pods: int, ready: int) -> dict[str, Any]:
    status = {"updatedReplicas": updated, "replicas": all_pods, "readyReplicas": ready}
    return _live(replicas, **status, availableReplicas=ready)


def stateful_set(replicas: int, updated: int, ready: int, now: str, then: str) -> dict[str, Any]:
    return _live(
        replicas,
        replicas=replicas,
        updatedReplicas=updated,
        readyReplicas=ready,
        currentRevision=now,
        updateRevision=then,
    )


def daemon_set(desired: int, updated: int, available: int) -> dict[str, Any]:
    return _live(
        None,
        desiredNumberScheduled=desired,
        updatedNumberScheduled=updated,
        numberReady=available,
        numberAvailable=available,
    )


def cluster(*conditions: Any, ready: int = 3) -> dict[str, Any]:
    return _live(3, readyReplicas=ready, conditions=list(conditions))


def _live(desired: int | None, /, **status: Any) -> dict[str, Any]:
    spec = {} if desired is None else {"replicas": desired}
    # The API server stores no count of 0.
    present = {field: value for field, value in status.items() if value}
    status = {"observedGeneration": 2, **present}
    return {"metadata": {"generation": 2}, "spec": spec, "status": status}


def with_status(live: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {**live, "status": {**live["status"], **status}}


DEP: Kind = "Deployment"
STS: Kind = "StatefulSet"
DS: Kind = "DaemonSet"
BAO: Kind = "OpenBaoCluster"
WELL = ""

SETTLED: dict[Kind, tuple[dict[str, Any], int]] = {
    DEP: (deployment(2, 2, 2, 2), 2),
    STS: (stateful_set(3, 3, 3, "a", "a"), 3),
    DS: (daemon_set(4, 4, 4), 4),
    BAO: (cluster(AVAILABLE, READY), 3),
}
BUSY_QUOTA = with_status(deployment(2, 1, 1, 1), conditions=[QUOTA])
LATER = with_status(deployment(1, 1, 1, 1), conditions=[{**LATE, "status": "True"}])
UNAVAILABLE = {**AVAILABLE, "status": "False", "reason": "NotReady"}
NO_STATUS = {"metadata": {"generation": 1}, "spec": {"replicas": 2}}
OLD_POD = "waiting for the termination of pods of the previous spec: 1"
UPDATING = "its controller has not completed the update"

CASES: dict[str, tuple[Kind, dict[str, Any], tuple[int, int], str]] = {
    **{kind: (kind, live, (count, count), WELL) for kind, (live, count) in SETTLED.items()},
    **{
        f"{kind} not observed": (
            kind,
            with_status(live, observedGeneration=1),
            (count, count),
            NOT_OBSERVED,
        )
        for kind, (live, count) in SETTLED.items()
    },
    "deployment without a number": (DEP, deployment(None, 1, 1, 1), (1, 1), WELL),
    "deployment with no replicas": (DEP, deployment(0, 0, 0, 0), (0, 0), WELL),
    "deployment without a status": (DEP, NO_STATUS, (0, 2), NOT_OBSERVED),
    "deployment rolling": (
        DEP,
        deployment(2, 1, 3, 2),
        (2, 2),
        "1 of 2 pods have the current spec",
    ),
    "deployment with old pods": (DEP, deployment(2, 2, 3, 2), (2, 2), OLD_POD),
    "deployment with no replicas and old pods": (DEP, deployment(0, 0, 1, 1), (1, 0), OLD_POD),
    "deployment not available": (DEP, deployment(2, 2, 2, 1), (1, 2), "1 of 2 pods are available"),
    "deployment timed out": (
        DEP,
        with_status(deployment(2, 1, 3, 2), conditions=[LATE]),
        (2, 2),
        "it has timed out",
    ),
    "deployment progressing": (DEP, LATER, (1, 1), WELL),
    "deployment over its quota": (DEP, BUSY_QUOTA, (1, 2), "exceeded quota"),
    "stateful set with no replicas": (STS, stateful_set(0, 0, 0, "a", "a"), (0, 0), WELL),
    "stateful set rolling": (
        STS,
        stateful_set(3, 1, 3, "a", "b"),
        (3, 3),
        "1 of 3 pods have the current spec",
    ),
    "stateful set not ready": (
        STS,
        stateful_set(3, 3, 2, "a", "a"),
        (2, 3),
        "2 of 3 pods are ready",
    ),
    "stateful set not complete": (STS, stateful_set(3, 3, 3, "a", "b"), (3, 3), UPDATING),
    "daemon set without nodes": (DS, daemon_set(0, 0, 0), (0, 0), WELL),
    "daemon set rolling": (DS, daemon_set(4, 3, 4), (4, 4), "3 of 4 pods have the current spec"),
    "daemon set not available": (DS, daemon_set(4, 4, 3), (3, 4), "3 of 4 pods are available"),
    "not ready": (BAO, cluster(AVAILABLE, UNREADY, ready=2), (2, 3), "a leader is waited for"),
    "cluster not available": (BAO, cluster(UNAVAILABLE, READY), (3, 3), "NotReady"),
    "cluster without conditions": (BAO, cluster(ready=0), (0, 3), "condition Ready has no message"),
}


@pytest.mark.parametrize(("kind", "live", "counts", "message"), CASES.values(), ids=CASES)
def test_the_readiness_of_a_workload(
    kind: Kind, live: Object, counts: tuple[int, int], message: str
) -> None:
    ready, desired = counts
    assert evaluate(kind, live) == Observation(
        healthy=not message, ready=ready, desired=desired, message=message
    )


ROW = bodies.record(
    bodies.desired_service(
        bodies.service(
            "shipper",
            depends_on=("openbao:ready",),
            services=(
                {
                    "name": "shipper",
                    "image": bodies.IMAGE,
                    "ports": ({"name": "http", "port": 80},),
                    "config_files": ({"path": "/etc/x", "content": "x"},),
                },
            ),
        )
    )
)
NAME = "fra1-shipper"


def piece(resource: Resource, name: str = NAME, **metadata: Any) -> tuple[ObjectRef, Object]:
    metadata_of_piece = {"name": name, "namespace": "dc-fra1", "generation": 1, **metadata}
    return (resource, ObjectKey("dc-fra1", name)), {"metadata": metadata_of_piece}


def whole(**changes: Any) -> dict[ObjectRef, Object]:
    return dict(
        (
            piece(DEPLOYMENT, annotations={names.DESIRED_HASH: "the-desired_service"}, **changes),
            piece(SERVICE),
            piece(CONFIG_MAP, f"{NAME}-files"),
        )
    )


def without(ref: ObjectRef) -> dict[ObjectRef, Object]:
    return {item: live for item, live in whole().items() if item != ref}


SEEN: dict[str, tuple[dict[ObjectRef, Object], str]] = {
    "all objects": (whole(), "the-desired_service"),
    "all objects and an optional one": (
        whole() | dict([piece(CONFIG_MAP, f"{NAME}-openbao")]),
        "the-desired_service",
    ),
    "nothing": ({}, ""),
    "no workload": (without(piece(DEPLOYMENT)[0]), ""),
    "no service": (without(piece(SERVICE)[0]), ""),
    "no files": (without(piece(CONFIG_MAP, f"{NAME}-files")[0]), ""),
    "a former workload": (whole() | dict([piece(CLUSTERS)]), ""),
    "a terminating object": (whole(deletionTimestamp="2030-01-01T00:00:00Z"), ""),
}


@pytest.mark.parametrize(("objects", "digest"), SEEN.values(), ids=SEEN)
def test_all_objects_must_have_the_same_digest(
    objects: dict[ObjectRef, Object], digest: str
) -> None:
    assert applied_digest(ROW, objects) == digest


def test_every_object_is_listed_with_its_purpose() -> None:
    observation = summarize(ROW, whole(), "d")
    assert observation.provider_ref == "Deployment dc-fra1/fra1-shipper"
    # The container has the name of the service, and is listed once.
    assert observation.service_refs == (
        ("fra1-shipper-files", "ConfigMap dc-fra1/fra1-shipper-files"),
        ("shipper", "Deployment dc-fra1/fra1-shipper"),
    )
    assert (observation.present, observation.digest) == (True, "d")
    assert observation.message == NOT_OBSERVED


@pytest.mark.parametrize(
    ("objects", "present", "message"),
    [
        ({}, False, "Deployment fra1-shipper is missing"),
        (dict([piece(SERVICE)]), True, "Deployment fra1-shipper is missing"),
        (
            dict([piece(DEPLOYMENT, deletionTimestamp="2030-01-01T00:00:00Z")]),
            True,
            "Deployment fra1-shipper is being deleted",
        ),
    ],
)
def test_a_missing_object_is_not_healthy(
    objects: dict[ObjectRef, Object], present: bool, message: str
) -> None:
    observation = summarize(ROW, objects, "d")
    assert (observation.present, observation.digest, observation.healthy) == (present, "", False)
    assert observation.message == message
