"""managers.workload.actions.fencing: effects on one pod, by UID and with an event."""

import copy

import pytest

from contracts.naming import labels
from contracts.records.effects import FencePod, MarkPod, UngatePod
from managers.context.context import FIELD_MANAGER
from managers.workload.actions.fencing import fence_pod, mark_pod, ungate_pod
from runtime.builtin_kinds import POD
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi, Outside

MEANT = gen.resolved(gen.cluster())
UNGATE = UngatePod("x-2", "uid-x-2")
MARK = MarkPod("x-2", "uid-x-2", maintenance=True)
UNMARK = MarkPod("x-2", "uid-x-2", maintenance=False)


def outside(pod: gen.Pod | None = None) -> Outside:
    return Outside(FakeApi().with_objects((POD, (pod or gen.pod(2).with_gates()).object())))


def live(there: Outside) -> Object:
    (pod,) = there.api.of(POD)
    return pod


async def test_a_fenced_pod_is_deleted_by_uid_with_an_event() -> None:
    there = outside(gen.pod(2).ready())
    await fence_pod(there.context, MEANT, FencePod("x-2", "uid-x-2"))
    assert there.api.body_of("delete Pod x-2")["uid"] == "uid-x-2"
    assert await there.flush_events() == [
        ("Normal", "PodFenced", "Stopped x-2: it is in spec.fencedPods")
    ]


async def test_only_our_scheduling_gate_is_removed() -> None:
    there = outside(gen.pod(2).with_gates("example.org/a", labels.FENCE_GATE, "example.org/b"))
    await ungate_pod(there.context, MEANT, UNGATE)
    gates = live(there)["spec"]["schedulingGates"]
    assert [gate["name"] for gate in gates] == ["example.org/a", "example.org/b"]
    assert await there.flush_events() == [
        ("Normal", "PodReleased", "Released x-2: it is not in spec.fencedPods")
    ]
    assert FIELD_MANAGER == "openbao-operator", "the managed fields have our field manager"


@pytest.mark.parametrize("pod", [gen.pod(2).ready(), gen.pod(2).with_gates("example.org/a")])
async def test_a_removed_gate_needs_no_write(pod: gen.Pod) -> None:
    there = outside(pod)
    await ungate_pod(there.context, MEANT, UNGATE)
    assert there.api.take_requests() == ["get Pod x-2"]


async def test_the_maintenance_annotation_is_added_and_removed() -> None:
    there = outside(gen.pod(2).ready())
    before = copy.deepcopy(live(there))
    await mark_pod(there.context, MEANT, MARK)
    assert live(there)["metadata"]["annotations"][labels.MAINTENANCE] == "true"
    await mark_pod(there.context, MEANT, UNMARK)
    assert live(there)["metadata"]["annotations"] == before["metadata"]["annotations"]
