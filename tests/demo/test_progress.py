"""Progress lines, from conditions and pods."""

import pytest

from e2e.demo.objects import Object
from e2e.demo.progress import pod_state, progress
from tests.demo.shapes import cluster, condition, pod, ready_pod

FIRST_BOOT = condition("Ready", "False", "FirstBoot", "the first server starts")
READY = condition("Ready", "True", "AllReplicasReady", "3 of 3")
VOTERS = condition("RaftMembershipReady", "False", "VotersMissing", "1 of 3 are voters")
STARTING = pod("bao-0", state={"waiting": {"reason": "ContainerCreating"}})


@pytest.mark.parametrize(
    ("obj", "pods", "expected"),
    [
        pytest.param(None, [], "the cluster does not exist yet", id="no cluster"),
        pytest.param(
            cluster(), [], "the operator has not reconciled the cluster yet", id="no conditions"
        ),
        pytest.param(
            cluster(READY, generation=2),
            [],
            "the operator has not reconciled the cluster yet",
            id="a status of an older spec",
        ),
        pytest.param(
            cluster(FIRST_BOOT, VOTERS),
            [STARTING],
            "FirstBoot: the first server starts; bao-0 waits: ContainerCreating",
            id="the reason of Ready and the state of the pod",
        ),
        pytest.param(
            cluster(FIRST_BOOT),
            [ready_pod("bao-1"), ready_pod("bao-0")],
            "FirstBoot: the first server starts",
            id="ready pods are omitted",
        ),
        pytest.param(
            cluster(READY, VOTERS), [], "VotersMissing: 1 of 3 are voters", id="another condition"
        ),
        pytest.param(
            cluster(READY), [], "RaftMembershipReady is not known yet", id="a missing condition"
        ),
    ],
)
def test_a_progress_line_shows_the_unmet_condition(
    obj: Object | None, pods: list[Object], expected: str
) -> None:
    assert progress(obj, pods, "RaftMembershipReady") == expected


def test_pods_are_sorted_by_name() -> None:
    line = progress(None, [pod("bao-2"), pod("bao-0")], "Available")
    assert line.endswith("; bao-0 is pending; bao-2 is pending")


def _stopping() -> Object:
    obj = ready_pod("bao-0")
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return obj


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(ready_pod("bao-0"), "is ready", id="ready"),
        pytest.param(_stopping(), "is stopping", id="stopping"),
        pytest.param(pod("bao-0"), "is pending", id="only a phase"),
        pytest.param(
            pod("bao-0", {"type": "PodScheduled", "status": "False", "message": "no\n node"}),
            "waits for a node: no node",
            id="not scheduled, message on one line",
        ),
        pytest.param(
            pod("bao-0", state={"waiting": {"reason": "ErrImagePull", "message": "no such image"}}),
            "waits: ErrImagePull: no such image",
            id="waiting, with a message",
        ),
        pytest.param(pod("bao-0", state={"running": {}}), "runs, not ready yet", id="running"),
        pytest.param(
            pod("bao-0", state={"terminated": {"exitCode": 2}}),
            "has ended with exit code 2",
            id="ended",
        ),
    ],
)
def test_the_state_of_a_pod_is_described(obj: Object, expected: str) -> None:
    assert pod_state(obj) == expected


def test_a_long_message_is_truncated() -> None:
    line = progress(cluster(condition("Ready", "False", "X", "y" * 5000)), [], "Ready")
    assert line.endswith("...")
    assert len(line) < 200
