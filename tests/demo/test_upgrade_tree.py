"""e2e.demo_upgrade.tree: the tree of a state of an upgrade."""

from typing import Any

import pytest

from contracts.naming import labels
from e2e.demo.objects import Object
from e2e.demo_upgrade.tree import tree
from tests.demo import shapes

ROLLING: Object = {
    "fromVersion": "2.4.0",
    "targetVersion": "2.4.1",
    "phase": "Rolling",
    "completedPods": [1],
    "pod": "bao-0",
}


def server(name: str, version: str, **marks: str) -> Object:
    pod = shapes.ready_pod(name)
    pod["metadata"]["labels"] |= marks
    containers = [{"name": "openbao", "image": f"localhost:5000/openbao:{version}"}]
    return {**pod, "spec": {"containers": containers}}


def moment(**status: Any) -> Object:
    cluster = shapes.cluster(*status.pop("conditions", ()))
    cluster["spec"] = {"version": "2.4.1", "replicas": 2}
    cluster["status"] |= {"currentVersion": "2.4.0", **status}
    return cluster


def test_the_tree_shows_step_servers_and_job() -> None:
    pods = [server("bao-1", "2.4.1"), server("bao-0", "2.4.0", **{labels.SERVER_ACTIVE: "true"})]
    job = shapes.child("upgrade-bao-x")
    assert tree(moment(upgrade=ROLLING), pods, [job]) == [
        "bao 2.4.0 > 2.4.1  Rolling, 1 of 2 upgraded",
        "|- bao-0  2.4.0  is ready, leader, upgraded next",
        "|- bao-1  2.4.1  is ready",
        "`- Job upgrade-bao-x is running",
    ]


def test_a_failure_replaces_the_step() -> None:
    failed = {**ROLLING, "failure": {"reason": "PodNotReady", "message": "bao-0 is not back"}}
    assert tree(moment(upgrade=failed), [], []) == [
        "bao 2.4.0 > 2.4.1  PodNotReady, 1 of 2 upgraded"
    ]


@pytest.mark.parametrize(
    ("version", "line"), [("2.4.0", "bao 2.4.0: the lock is held"), ("2.4.1", "bao 2.4.1")]
)
def test_the_reason_of_a_delay_is_shown_until_the_upgrade_is_complete(
    version: str, line: str
) -> None:
    waits = shapes.condition("Upgrading", "False", "OperationLockBlocked", "the lock is held")
    assert tree(moment(conditions=[waits], currentVersion=version), [], []) == [line]


@pytest.mark.parametrize(
    ("kind", "words"), [("Complete", "is done"), ("Failed", "failed: too late")]
)
def test_the_result_of_a_job_is_shown(kind: str, words: str) -> None:
    job = shapes.child("upgrade-bao-x")
    job["status"] = {"conditions": [{"type": kind, "status": "True", "message": "too late"}]}
    assert tree(moment(), [], [job])[-1] == f"`- Job upgrade-bao-x {words}"
