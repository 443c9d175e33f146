"""Which servers have read the newest files, and which need a new pod for that."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.pools.voter_pool import ServerPool
from contracts.records.effects import ReloadPod
from contracts.records.observed import PodFacts
from managers.cluster.observe.from_objects import pod_facts
from managers.workload.objects.pod import pod_template
from managers.workload.objects.statefulset import template_digest
from managers.workload.plan import Inputs, plan, wants_quorum
from managers.workload.rollout.reload import (
    CONTAINERS_MAX,
    RELOAD_PATIENCE,
    Files,
    ReloadTarget,
    container,
    has_read,
    split,
)
from runtime.outcome import Done, Wait
from tests import gen
from tests.gen.secrets import NOW
from tests.gen.worlds import SERVER_FINGERPRINT
from tests.managers.workload.rollout.reloads import NEW, OLD, POD

BACK = OLD
IMAGE = "registry.example.com/operator:1"
LONG_AGO = int((NOW - RELOAD_PATIENCE).timestamp())
JUST_NOW = int((NOW - RELOAD_PATIENCE + timedelta(seconds=1)).timestamp())


def facts(pod: gen.Pod) -> PodFacts:
    return pod.facts()


# sentence: (pod, digest, whether its server has read it)
READ: dict[str, tuple[gen.Pod, str, bool]] = {
    "the files of its start": (POD, OLD, True),
    "no reload": (POD, NEW, False),
    "a successful reload": (POD.reloading(NEW, 0), NEW, True),
    "a running reload": (POD.reloading(NEW), NEW, False),
    "a failed reload": (POD.reloading(NEW, 1), NEW, False),
    "a reload of another digest": (POD.reloading(NEW, 0), BACK, False),
    "two reloads": (POD.reloading(NEW, 0).reloading(BACK, 0), BACK, True),
    "a successful and a failed reload": (POD.reloading(NEW, 0).reloading(BACK, 1), NEW, True),
    "a pod of an older operator": (POD.with_files(""), OLD, False),
}


@pytest.mark.parametrize(("pod", "digest", "read"), READ.values(), ids=READ)
def test_which_pods_have_read_the_files(pod: gen.Pod, digest: str, read: bool) -> None:
    assert has_read(facts(pod), digest) is read


def serving(pod: gen.Pod, certificate: str) -> PodFacts:
    return replace(pod.facts(), serves=certificate)


# sentence: (pod, its class)
SORTED: dict[str, tuple[PodFacts, str]] = {
    "up to date": (POD.with_files(NEW).facts(), ""),
    "outdated": (POD.facts(), "due"),
    "unready": (POD.unready().facts(), "waiting"),
    "a reload in progress": (POD.reloading(NEW, asked=JUST_NOW).facts(), "waiting"),
    "a reload that never ended": (POD.reloading(NEW, asked=LONG_AGO).facts(), "to_replace"),
    "failed once": (POD.reloading(NEW, 1).facts(), "due"),
    "failed twice": (POD.reloading(NEW, 1).reloading(NEW, 137).facts(), "to_replace"),
    "failed for this and for another digest": (
        POD.reloading(BACK, 1).reloading(NEW, 1).facts(),
        "due",
    ),
    "an older attempt never ended": (POD.reloading(BACK, asked=LONG_AGO).facts(), "due"),
    "it serves the certificate": (serving(POD.with_files(NEW), "c1"), ""),
    "it serves another certificate than that of its start": (
        serving(POD.with_files(NEW), "c0"),
        "due",
    ),
    "it serves an old certificate right after a reload": (
        serving(POD.reloading(NEW, 0, asked=JUST_NOW), "c0"),
        "waiting",
    ),
    "it serves an old certificate long after a reload": (
        serving(POD.reloading(NEW, 0, asked=LONG_AGO), "c0"),
        "to_replace",
    ),
}


@pytest.mark.parametrize(("pod", "where"), SORTED.values(), ids=SORTED)
def test_which_pods_are_reloaded_or_replaced(pod: PodFacts, where: str) -> None:
    world = replace(gen.world().facts(), pods=(pod,))
    split_pods = split(world, world.pods, ReloadTarget(NEW, "c1"), IMAGE)
    sorts = ("due", "waiting", "to_replace")
    assert [kind for kind in sorts if getattr(split_pods, kind)] == ([where] if where else [])


def test_pods_are_replaced_without_the_image_of_the_operator_or_after_a_refusal() -> None:
    world = gen.world().with_pods(POD).facts()
    assert split(world, world.pods, ReloadTarget(NEW, "c1"), "").to_replace == world.pods
    there = gen.world().with_pods(POD.serving(""))
    refused = there.with_attempt(ReloadPod.name, "uid-x-1", refused="forbidden").facts()
    assert split(refused, refused.pods, ReloadTarget(NEW), IMAGE).to_replace == refused.pods


def test_a_pod_is_reloaded_a_limited_number_of_times() -> None:
    pod = POD
    for n in range(CONTAINERS_MAX):
        pod = pod.reloading(NEW if n % 2 else BACK, 0)
    world = gen.world().with_pods(pod).facts()
    assert split(world, world.pods, Files("third").target, IMAGE).to_replace == world.pods


def test_other_ephemeral_containers_are_ignored() -> None:
    pod = POD.object()
    pod["spec"]["ephemeralContainers"] = [
        {"name": "debugger-abcde"},
        {"name": "reload-x-12345678"},
        {"name": "reload-1-nothexxx"},
        {"name": f"reload-3-{NEW[:8]}", "args": ["--asked", "never"]},
    ]
    (pod_fact,) = pod_facts(ServerPool("x"), [pod])
    assert [(reload.number, reload.requested_at) for reload in pod_fact.reloads] == [(3, None)]


def pod_from_template(pod: gen.Pod = POD, files: Files | None = None) -> dict[str, Any]:
    meant = gen.resolved(gen.cluster())
    mounts = pod_template(meant, digest="", reload="", first_boot=False)
    server = mounts["spec"]["containers"][0]["volumeMounts"]
    return container(facts(pod), files or Files("new", "c1", "a"), IMAGE, server, NOW)


def test_the_container_has_no_more_privileges_than_the_server() -> None:
    made = pod_from_template()
    security = made["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["readOnlyRootFilesystem"] is True
    assert "runAsUser" not in security
    mounts = {mount["mountPath"]: mount for mount in made["volumeMounts"]}
    assert set(mounts) == {"/etc/bao/config", "/etc/bao/tls"}
    assert all(mount["readOnly"] for mount in mounts.values())
    assert made["targetContainerName"] == "openbao", (
        "the container shares the process namespace of the server"
    )


def test_the_container_has_the_digest_and_the_request_time() -> None:
    second = pod_from_template(POD.reloading(NEW, 0).reloading(BACK, 0))
    assert second["name"] == f"reload-3-{NEW[:8]}", "a container name that is new in the pod"
    assert second["args"][:2] == ["--asked", str(int(NOW.timestamp()))]
    # The arguments name no file that does not exist.
    assert "--certificate" not in pod_from_template(files=Files("new"))["args"]


# --- the same, in a whole plan

CLUSTER = gen.cluster().initialized()
FILES = Files("text", SERVER_FINGERPRINT, "authority")
INPUTS = Inputs("restart", FILES, IMAGE)


def running(*pods: gen.Pod) -> gen.World:
    digest = template_digest(gen.resolved(CLUSTER), "restart")
    live = gen.stateful_set().with_template(digest).with_files(FILES.digest)
    results = [pod.with_template(digest) for pod in pods]
    return gen.world().with_set(live).with_pods(*results)


def three(files: str) -> tuple[gen.Pod, ...]:
    return tuple(gen.pod(n).with_files(files).ready(leading=n == 0) for n in range(3))


def plan_rollout(world: gen.World, inputs: Inputs = INPUTS) -> Any:
    return plan(gen.resolved(CLUSTER, world), world.facts(), inputs)


def test_a_changed_file_reloads_every_pod() -> None:
    plan = plan_rollout(running(*three("before")))
    assert [effect.name for effect in plan.effects] == [ReloadPod.name] * 3
    assert plan.outcome == Wait("Reloading", "3 of 3 servers reload their files")
    (intent, _) = plan.intents
    annotations = intent.body["spec"]["template"]["metadata"]["annotations"]
    assert annotations["openbao.org/reload-hash"] == FILES.digest


def test_nothing_is_planned_during_and_after_the_reload() -> None:
    busy = [pod.reloading(FILES.digest, asked=int(NOW.timestamp())) for pod in three("before")]
    plan = plan_rollout(running(*busy))
    assert plan.effects == ()
    assert isinstance(plan.outcome, Wait)
    plan = plan_rollout(running(*(pod.reloading(FILES.digest, 0) for pod in three("before"))))
    assert (plan.effects, plan.outcome) == ((), Done())


def test_without_an_operator_image_pods_are_replaced_one_at_a_time() -> None:
    plan = plan_rollout(running(*three("before")), Inputs("restart", FILES))
    assert [(effect.name, effect.target) for effect in plan.effects] == [("replace-pod", "x-2")]
    assert gen.expect(Wait, plan.outcome).reason == "RollingOut"


def test_no_pod_is_replaced_before_the_template_has_the_new_files() -> None:
    """A pod that is created earlier would be outdated again."""
    world = running(*three("before")).with_set(
        gen.stateful_set()
        .with_template(template_digest(gen.resolved(CLUSTER), "restart"))
        .with_files("before")
    )
    assert plan_rollout(world, Inputs("restart", FILES)).effects == ()


def test_a_pod_that_is_replaced_is_not_reloaded_first() -> None:
    plan = plan_rollout(running(*three("before")), Inputs("another", FILES, IMAGE))
    assert ReloadPod.name not in [effect.name for effect in plan.effects]


def test_a_stuck_rollout_does_not_block_reloads() -> None:
    late = running(*three("before")).rolling_for(timedelta(minutes=6))
    plan = plan_rollout(late, Inputs("another", FILES, IMAGE))
    assert [effect.name for effect in plan.effects].count(ReloadPod.name) == 3


# sentence: (world, whether the quorum is read)
ASKED: dict[str, tuple[gen.World, bool]] = {
    "all are up to date": (running(*three(FILES.digest)), False),
    "all reload": (running(*three("before")), False),
    "a pod is outdated": (
        running(*three(FILES.digest)).with_set(
            gen.stateful_set().with_template("newer").with_files(FILES.digest)
        ),
        True,
    ),
    "a pod is outdated and another one starts": (
        running(*three(FILES.digest)[:2], gen.pod(2).with_files(FILES.digest)).with_set(
            gen.stateful_set().with_template("newer").with_files(FILES.digest)
        ),
        True,
    ),
    "there is no StatefulSet": (gen.world(), False),
    "a single server": (
        running(three("x")[0]).with_set(gen.stateful_set().with_replicas(1).with_template("newer")),
        False,
    ),
}


@pytest.mark.parametrize(("world", "is_requested"), ASKED.values(), ids=ASKED)
def test_the_quorum_is_read_before_a_pod_is_replaced(world: gen.World, is_requested: bool) -> None:
    spec = gen.cluster().read().spec
    assert wants_quorum(spec, world.facts(), IMAGE, SERVER_FINGERPRINT) is is_requested
