"""managers.upgrade.bluegreen.facts: the facts about two pools that the table uses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen import (
    BlueGreenFacts,
    PvcObservation,
    job_attempt_key,
    job_name,
    revision_of,
)
from contracts.records.observed import Observed, PoolFacts, PvcFacts, Quorum, RaftServer
from contracts.records.upgrade import (
    BlueGreenObservation,
    HookObservation,
    JobStatus,
    Release,
    SnapshotObservation,
    UpgradeFacts,
    blue_green_under_way,
)
from contracts.records.upgrade_effects import MakeHook, MakeJob
from managers.upgrade.bluegreen.decide import decide_step
from managers.upgrade.bluegreen.facts import (
    CRASHES,
    OFFER_AGAIN,
    PULL_GRACE_PERIOD,
    decides,
    facts_of,
    pools_to_observe,
)
from managers.upgrade.decide import decide_upgrade
from managers.upgrade.effective_spec import accepted_release, frozen_replicas, green_release
from tests import gen

OLD, NEW = Release("2.4.0"), Release("2.5.0")
GREEN = revision_of(NEW, 3)
BEFORE = "fedcba9876543210"
BLUE_GREEN = {"strategy": "BlueGreen", "jwtAuthRole": "upgrader"}
ROLLING = {"phase": "Rolling", "targetVersion": "2.5.0", "fromVersion": "2.4.0"}
RUNNING = (
    gen.cluster(version="2.5.0", upgrade=BLUE_GREEN)
    .initialized()
    .with_status(release={"version": "2.4.0"})
)


def at(phase: str, **status: Any) -> gen.Cluster:
    """A cluster in a phase of its upgrade."""
    pool = {"greenRevision": GREEN, "greenReplicas": 5}
    known = gen.blue_green_status(phase, "2.5.0", **{**pool, **status})
    return RUNNING.with_status(blueGreen={k: v for k, v in known.items() if v is not None})


def facts(cluster: gen.Cluster, observed: Observed | None = None) -> BlueGreenFacts:
    return facts_of(cluster.read(), observed or gen.world().facts(), OLD)


def pool(*pods: gen.Pod, revision: str = GREEN, **more: Any) -> PoolFacts:
    """An observed pool."""
    live = gen.stateful_set().of(revision).with_replicas(len(pods)).facts()
    return PoolFacts(live, tuple(pod.facts() for pod in pods), **more)


def green_pod(ordinal: int = 0) -> gen.Pod:
    return gen.pod(ordinal).of(GREEN).ready(version="2.5.0")


# sentence: (cluster, goes on, decides)
LIVES: dict[str, tuple[gen.Cluster, bool, bool]] = {
    "never upgraded blue/green": (gen.cluster().initialized(), False, False),
    "requested": (RUNNING, False, True),
    "requested during a rolling upgrade": (RUNNING.with_status(upgrade=ROLLING), False, False),
    "begun": (at("Idle"), True, True),
    "started with another strategy requested since": (
        at("Syncing").with_spec(upgrade=None),
        True,
        True,
    ),
    "the last phase without green": (
        at("RestoringReadReplicas", greenRevision=None).with_spec(upgrade=None),
        True,
        True,
    ),
    "completed with another strategy requested since": (
        at("Idle", greenRevision=None, blueRevision=BEFORE).with_spec(upgrade=None),
        False,
        False,
    ),
    "in break glass": (
        RUNNING.with_spec(upgrade=None).with_status(breakGlass={"active": True, "nonce": "n"}),
        False,
        True,
    ),
    "after break glass": (
        RUNNING.with_spec(upgrade=None).with_status(breakGlass={"active": False}),
        False,
        False,
    ),
}


@pytest.mark.parametrize(("cluster", "on", "decided"), LIVES.values(), ids=LIVES)
def test_which_clusters_are_decided_by_the_table(
    cluster: gen.Cluster, on: bool, decided: bool
) -> None:
    assert (blue_green_under_way(cluster.read().status.blue_green), decides(cluster.read())) == (
        on,
        decided,
    )


# sentence: (cluster, revisions in sight)
SIGHTS: dict[str, tuple[gen.Cluster, tuple[str, ...]]] = {
    "one pool": (gen.cluster().initialized(), ("",)),
    "the next pool before the start": (RUNNING, ("", GREEN)),
    "no next pool with another strategy": (RUNNING.with_spec(upgrade=None), ("",)),
    "no next pool without a new version": (RUNNING.with_spec(version="2.4.0"), ("",)),
    "both": (at("Syncing"), ("", GREEN)),
    "both after a spec change": (at("Syncing").with_spec(version="2.6.0"), ("", GREEN)),
    "green first once it serves": (at("Cleanup"), (GREEN, "")),
    "blue first during a rollback": (at("RollingBack"), ("", GREEN)),
    "one in the last phase": (
        at("RestoringReadReplicas", greenRevision=None, blueRevision=GREEN),
        (GREEN,),
    ),
    "the next pool never has the revision of the serving pool": (
        at("Idle", greenRevision=None, blueRevision=GREEN),
        (GREEN, revision_of(NEW, 3, GREEN)),
    ),
    "an invalid revision": (at("Idle", greenRevision=None, blueRevision="../x"), ("", GREEN)),
}


HOOK: dict[str, str] = {
    "operationID": "op",
    "greenRevision": GREEN,
    "specHash": "hash",
    "stage": "Prepared",
    "jobName": "the-hook",
}


@pytest.mark.parametrize(("cluster", "wanted"), SIGHTS.values(), ids=SIGHTS)
def test_which_pools_are_observed(cluster: gen.Cluster, wanted: tuple[str, ...]) -> None:
    assert pools_to_observe(cluster.read()) == tuple(ServerPool("x", item) for item in wanted)


@pytest.mark.parametrize(
    ("phase", "replicas"),
    [("Idle", 3), ("DeployingGreen", 3), ("DemotingBlue", 3), ("RollingBack", 3), ("Cleanup", 5)],
)
def test_the_replicas_of_both_pools_are_frozen(phase: str, replicas: int) -> None:
    cluster = at(phase).with_spec(replicas=7).read()
    assert frozen_replicas(cluster) == replicas
    assert green_release(cluster) == NEW


def test_the_image_of_green_is_part_of_its_release() -> None:
    assert facts(at("Syncing", greenImage="a/b:2.5.0")).target == Release("2.5.0", "a/b:2.5.0")


def test_nothing_is_frozen_without_a_green_pool() -> None:
    for cluster in (RUNNING, at("Idle", greenRevision=None), gen.cluster()):
        assert frozen_replicas(cluster.read()) is None
        assert green_release(cluster.read()) is None


class TestSets:
    def both(self) -> Observed:
        """A blue pool of three servers and a green pool of two."""
        blue = pool(*(gen.pod(n).ready() for n in range(3)), revision="")
        green_facts = gen.world().facts()
        return replace(
            green_facts,
            stateful_set=blue.stateful_set,
            pods=blue.pods,
            green=pool(green_pod(0), green_pod(1)),
        )

    def test_blue_serves_until_the_point_of_no_return_and_green_afterwards(self) -> None:
        observed = self.both()
        green_facts = facts(at("DemotingBlue"), observed)
        assert (green_facts.blue.pods, green_facts.green.pods) == (3, 2)
        assert green_facts.blue.uid != green_facts.green.uid
        turned = replace(
            observed,
            stateful_set=observed.green.stateful_set,
            pods=observed.green.pods,
            green=PoolFacts(observed.stateful_set, observed.pods),
        )
        after = facts(at("Cleanup"), turned)
        assert (green_facts.blue, green_facts.green) == (after.blue, after.green)

    def test_an_unobserved_pool_is_empty(self) -> None:
        green_facts = facts(RUNNING.with_spec(version="2.4.0"), self.both())
        assert (green_facts.green.uid, green_facts.green.pods) == ("", 0)

    # sentence: (pod of green, is it reckoned with)
    SERVING: dict[str, tuple[gen.Pod, bool]] = {  # noqa: RUF012  a constant
        "it serves": (green_pod(), True),
        "it is not ready": (green_pod().unready(), False),
        "it is sealed": (green_pod().with_server_labels(sealed="true"), False),
        "it has an invalid seal label": (
            green_pod().with_server_labels(sealed="perhaps"),
            False,
        ),
        "it is of another version": (green_pod().with_server_labels(version="2.4.0"), False),
        "it ends": (green_pod().terminating(), False),
    }

    @pytest.mark.parametrize(("pod", "counts"), SERVING.values(), ids=SERVING)
    def test_which_servers_count(self, pod: gen.Pod, counts: bool) -> None:
        green_facts = facts(at("Syncing"), replace(gen.world().facts(), green=pool(pod)))
        assert (green_facts.green.ready, green_facts.green.pods) == (int(counts), 1)

    def test_blue_servers_of_any_version_count(self) -> None:
        green_facts = gen.world().with_pods(gen.pod(0).ready(version="2.3.0")).facts()
        assert facts(at("RollingBack"), green_facts).blue.ready == 1

    def test_terminating_volumes_are_ignored(self) -> None:
        claims = (PvcFacts("a", "1", "uid-x", False), PvcFacts("b", "2", "uid-x", True))
        new_facts = replace(gen.world().facts(), green=pool(green_pod(), claims=claims))
        assert facts(at("Syncing"), new_facts).green.claims == (PvcObservation("a", "1"),)


class TestFailure:
    def message_of(self, pod: gen.Pod) -> str:
        return facts(at("Syncing"), replace(gen.world().facts(), green=pool(pod))).green.failure

    # sentence: (pod, why it cannot run)
    MOMENTS: dict[str, tuple[gen.Pod, str]] = {  # noqa: RUF012  a constant
        "it runs": (green_pod(), ""),
        "it crashed twice": (
            gen.pod().of(GREEN).with_restarts(CRASHES - 1).waiting("CrashLoopBackOff"),
            "",
        ),
        "it crashes repeatedly": (
            gen.pod().of(GREEN).with_restarts(CRASHES, code=7).waiting("CrashLoopBackOff"),
            "exit code 7",
        ),
        "it crashed often and runs": (green_pod().with_restarts(9), ""),
        "its image is being pulled": (
            gen.pod().of(GREEN).born(PULL_GRACE_PERIOD / 2).waiting("ErrImagePull"),
            "",
        ),
        "its image cannot be pulled": (
            gen.pod().of(GREEN).born(PULL_GRACE_PERIOD).waiting("ErrImagePull"),
            "cannot be pulled",
        ),
        "a pod without a creation time": (gen.pod().of(GREEN).waiting("ImagePullBackOff"), ""),
        "it is unschedulable": (
            gen.pod().of(GREEN).born(timedelta(hours=1)).unschedulable("no room"),
            "",
        ),
    }

    @pytest.mark.parametrize(("pod", "wanted"), MOMENTS.values(), ids=MOMENTS)
    def test_which_pods_can_never_run(self, pod: gen.Pod, wanted: str) -> None:
        text = self.message_of(pod)
        assert wanted in text
        assert bool(text) == bool(wanted)

    def test_one_failure_has_a_stable_message(self) -> None:
        """Otherwise each of the two alternating reasons of Kubernetes is a status write."""
        late = gen.pod().of(GREEN).born(PULL_GRACE_PERIOD)
        words = {
            self.message_of(late.waiting(word)) for word in ("ErrImagePull", "ImagePullBackOff")
        }
        assert len(words) == 1


class TestMembership:
    BLUE, OF_GREEN = ServerPool("x"), ServerPool("x", GREEN)

    def observe(self, leader: str = "x-1", **quorum: Any) -> Observed:
        servers = (
            *(RaftServer(self.BLUE.pod(n), voter=True, healthy=True) for n in range(3)),
            RaftServer(self.OF_GREEN.pod(0), voter=False, healthy=True),
            RaftServer(self.OF_GREEN.pod(1), voter=True, healthy=True),
            RaftServer("x-read-0", voter=False, healthy=True),
        )
        named = tuple(replace(server, leader=server.node_id == leader) for server in servers)
        pods = (gen.pod(1).ready(leading=True).facts(),)
        return replace(
            gen.world().facts(), pods=pods, quorum=Quorum(**{"servers": named, **quorum})
        )

    def test_members_are_counted_by_pool(self) -> None:
        membership = gen.present(facts(at("Promoting"), self.observe()).membership)
        assert (membership.leader, membership.blue_voters, membership.blue_peers) == ("blue", 3, 3)
        assert (membership.green_voters, membership.green_peers) == (1, 2)

    def test_the_leader_comes_from_raft_and_not_from_labels(self) -> None:
        green_facts = facts(at("DemotingBlue"), self.observe(self.OF_GREEN.pod(1)))
        assert gen.present(green_facts.membership).leader == "green"

    @pytest.mark.parametrize("leader", ["x-read-0", ""])
    def test_the_leader_may_be_in_neither_pool_or_unknown(self, leader: str) -> None:
        green_facts = facts(at("Promoting"), self.observe(leader))
        assert gen.present(green_facts.membership).leader is None

    def test_without_a_response_the_members_are_unknown(self) -> None:
        for seen in (self.observe(error="no answer"), replace(self.observe(), quorum=None)):
            assert facts(at("Promoting"), seen).membership is None


class TestLookedUp:
    def test_the_observation_is_copied_to_the_facts(self) -> None:
        second = BlueGreenObservation(
            job=JobStatus("job", "Active"),
            former_job="former",
            hook=HookObservation("uid", "Active"),
            snapshot=SnapshotObservation("snap", "Completed"),
            traffic=GREEN,
            nonce="n" * 32,
        )
        new_facts = replace(gen.world().facts(), upgrade=UpgradeFacts(blue_green=second))
        green_facts = facts(at("Syncing"), new_facts)
        assert (green_facts.job, green_facts.former_job, green_facts.hook) == (
            second.job,
            "former",
            second.hook,
        )
        assert (green_facts.snapshot, green_facts.traffic) == (second.snapshot, GREEN)
        assert green_facts.nonce == second.nonce

    @pytest.mark.parametrize("effect", [MakeJob.name, MakeHook.name])
    def test_a_refusal_applies_until_it_is_retried(self, effect: str) -> None:
        world = gen.world()
        hook = {"validationHook": HOOK} if effect == MakeHook.name else {}
        cluster = at("Syncing", **hook)
        name = HOOK["jobName"] if hook else job_name(cluster.read())
        for ago, again in ((timedelta(), False), (OFFER_AGAIN, True)):
            tried = world.with_attempt(job_attempt_key(effect, name), "uid-x", ago, "no")
            green_facts = facts(cluster, tried.facts())
            refused = (
                green_facts.job_refusal if effect == MakeJob.name else green_facts.hook_refusal
            )
            assert (refused, green_facts.retry_allowed) == ("no", again)

    def test_refusals_of_another_job_or_cluster_are_ignored(self) -> None:
        mine = job_attempt_key(MakeJob.name, job_name(at("Syncing").read()))
        for effect, uid in ((job_attempt_key(MakeJob.name, "another"), "uid-x"), (mine, "uid-y")):
            green_facts = gen.world().with_attempt(effect, uid, refused="no").facts()
            assert facts(at("Syncing"), green_facts).job_refusal == ""

    def test_preflight_checks_run_only_before_the_start(self) -> None:
        assert facts(RUNNING).obstacle is not None
        assert facts(at("Idle")).obstacle is not None
        assert facts(at("Syncing")).obstacle is None
        # A refusal is judged for what was begun.
        assert facts(RUNNING.with_spec(version="2.3.0")).refusal is not None
        assert facts(at("Idle").with_spec(version="2.3.0")).refusal is None


class TestReadReplicas:
    END = at("RestoringReadReplicas", greenRevision=None, blueRevision=GREEN)

    def is_settled(self, *pods: gen.Pod, wanted: int | None = 1) -> bool:
        cluster = self.END.with_spec(readReplicas={"replicas": wanted} if wanted else None).read()
        new_facts = replace(
            gen.world().facts(), read=PoolFacts(None, tuple(pod.facts() for pod in pods))
        )
        return facts_of(cluster, new_facts, NEW).read_replicas_upgraded

    def test_all_read_replicas_have_followed(self) -> None:
        assert self.is_settled(gen.read_pod(0).ready(version="2.5.0"))
        assert not self.is_settled(gen.read_pod(0).ready(version="2.4.0"))
        assert not self.is_settled(gen.read_pod(0).ready(version="2.5.0").unready())
        assert not self.is_settled()
        assert not self.is_settled(*(gen.read_pod(n).ready(version="2.5.0") for n in range(2)))
        assert self.is_settled(wanted=None), "there is nothing to wait for"


def test_a_reconcile_uses_the_decision_of_the_table() -> None:
    cluster: OpenBaoCluster = at("Syncing").read()
    observed = gen.world().facts()
    course = decide_upgrade(cluster, observed, timedelta(minutes=10))
    assert course.is_blue_green
    assert course.release == accepted_release(cluster)
    assert course.upgrade is None
    assert course.finding is not None
    assert replace(course, finding=None) == decide_step(facts_of(cluster, observed, course.release))
