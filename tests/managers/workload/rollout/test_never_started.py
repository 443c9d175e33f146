"""managers.workload.rollout.never_started and its effect: a first server that never started."""

import pytest

from contracts.records.effects import ReplaceUnstarted
from managers.workload.actions.pods import replace_unstarted as run
from managers.workload.rollout.never_started import replace_unstarted
from runtime.builtin_kinds import POD
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error

NEW = "corrected"
OLD = gen.pod(0).with_template("wrong")
LIVE = gen.stateful_set().first_boot().with_template(NEW)
NOWHERE = OLD.unschedulable("0/1 nodes are available")


def targets(world: gen.World, *, newest: bool = True) -> list[str]:
    return [item.target for item in replace_unstarted(world.facts(), NEW, newest=newest)]


# sentence: (the first pod, whether it is replaced)
PODS: dict[str, tuple[gen.Pod, bool]] = {
    "no node fits": (NOWHERE, True),
    "its image cannot be pulled": (OLD.waiting("ImagePullBackOff", "denied"), True),
    "its image has no name": (OLD.waiting("InvalidImageName"), True),
    "a key of a Secret is missing": (OLD.waiting("CreateContainerConfigError"), True),
    "its container is created": (OLD.waiting("ContainerCreating"), False),
    "it runs": (OLD, False),
    "it crashed once": (OLD.waiting("CrashLoopBackOff").with_restarts(), False),
    "it serves": (OLD.ready(), False),
    "it terminates": (NOWHERE.terminating(), False),
    "it is from the corrected template": (NOWHERE.with_template(NEW), False),
}


@pytest.mark.parametrize(("pod", "goes"), PODS.values(), ids=PODS)
def test_which_pods_are_replaced(pod: gen.Pod, goes: bool) -> None:
    placed = pod if pod.conditions else pod.on("node")
    world = gen.world().with_set(LIVE).with_pods(placed)
    assert targets(world) == (["x-0"] if goes else [])


def test_no_pod_is_replaced_before_the_stateful_set_is_current() -> None:
    world = gen.world().with_pods(NOWHERE)
    assert targets(world.with_set(None)) == []
    assert targets(world.with_set(LIVE.with_stale_status())) == []
    assert targets(world.with_set(LIVE), newest=False) == []


@pytest.mark.parametrize(
    ("pod_labels", "keys", "goes"),
    [
        ({"sealed": "true", "initialized": "true"}, "v1=key", True),
        ({"sealed": "true", "initialized": "true"}, "two=key-2", False),
        ({"sealed": "true", "initialized": "false"}, "v1=key", False),
    ],
)
def test_a_pod_that_cannot_unseal_its_data_is_replaced(
    pod_labels: dict[str, str], keys: str, goes: bool
) -> None:
    pod = OLD.on("node").with_keys(keys).with_server_labels(**pod_labels)
    world = gen.world().with_set(LIVE.with_keys("two=key-2")).with_pods(pod)
    assert targets(world) == (["x-0"] if goes else [])


EFFECT = ReplaceUnstarted("x-0", "uid-x-0")
MEANT = gen.resolved(gen.cluster())


def outside(live: gen.Pod) -> Outside:
    return Outside(FakeApi().with_objects((POD, live.object())))


async def test_the_deletion_has_the_uid_and_the_version_of_the_pod() -> None:
    there = outside(NOWHERE)
    version = there.api.of(POD)[0]["metadata"]["resourceVersion"]
    await run(there.context, MEANT, EFFECT)
    body = there.api.body_of("delete Pod x-0")
    assert (body["uid"], body["version"]) == ("uid-x-0", version)
    assert there.api.of(POD) == []
    ((_, reason, _),) = await there.flush_events()
    assert reason == "PodReplaced"


@pytest.mark.parametrize(
    "live", [OLD, OLD.waiting("CrashLoopBackOff").with_restarts()], ids=["runs", "ran"]
)
async def test_a_pod_that_started_meanwhile_is_kept(live: gen.Pod) -> None:
    there = outside(live)
    await run(there.context, MEANT, EFFECT)
    assert there.api.take_requests() == ["get Pod x-0"]


async def test_a_deleted_pod_is_ignored() -> None:
    there = outside(NOWHERE)
    there.api.refuse("get Pod x-0", api_error(404))
    await run(there.context, MEANT, EFFECT)
    assert len(there.api.of(POD)) == 1
    assert await there.flush_events() == []
