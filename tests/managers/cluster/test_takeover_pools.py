"""managers.cluster.plan.green_pool in a reconcile: the other pool, phase by phase."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool, serving_pool, voter_pools
from contracts.records.desired import Desired
from contracts.records.effects import MarkFirst, ReloadPod
from contracts.records.observed import ImageVerdict, Observed, PoolFacts
from contracts.records.resolved import Resolved
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.cluster.plan.green_pool import files, servers, with_green_pool
from managers.cluster.plan.steps import merge_plans
from managers.cluster.resolve.resolve import resolve
from managers.networking.services import public_service
from managers.upgrade.decide import decide_upgrade
from managers.upgrade.effective_spec import with_accepted_release
from managers.workload.plan import Inputs
from managers.workload.rollout.reload import Files
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.outcome import Done, Wait
from tests import gen
from tests.managers.cluster.image_policy import POLICY
from tests.managers.cluster.upgrade_phases import GREEN, PLAIN, at

SET = ServerPool("x", GREEN)
BEFORE = "fedcba9876543210"
PHASES_WITH_GREEN = ("DeployingGreen", "JoiningMesh", "Syncing", "Promoting", "DemotingBlue")
HERE = replace(gen.INSTALLATION, operator_image="registry.example.com/operator:1")


def world(*, green: bool = True, first: bool = False) -> Observed:
    """Blue serves, and green exists; `first`: the pods of blue are labeled."""
    facts = gen.running(gen.cluster().initialized()).facts()
    pods = tuple(replace(pod, first_set=first) for pod in facts.pods)
    if not green:
        return replace(facts, pods=pods)
    theirs = tuple(gen.pod(number).of(GREEN).ready(version="2.4.1").facts() for number in range(3))
    live = gen.stateful_set().of(GREEN).facts()
    return replace(facts, pods=pods, green=PoolFacts(live, theirs))


def as_green(observed: Observed) -> Observed:
    """The same with green as the serving pool."""
    return replace(
        observed,
        stateful_set=observed.green.stateful_set,
        pods=observed.green.pods,
        claims=observed.green.claims,
        green=PoolFacts(observed.stateful_set, observed.pods, observed.claims),
    )


def meant(cluster: gen.Cluster, observed: Observed) -> Resolved:
    """The resolved spec of a reconcile, with the green pool."""
    read = cluster.read()
    decision = decide_upgrade(read, observed, timedelta(minutes=10))
    resolved = resolve(with_accepted_release(read), cluster.owner(), observed, HERE)
    assert isinstance(resolved, Resolved), resolved
    return with_green_pool(resolved, read, observed, HERE, decision)


def plan_cluster(cluster: gen.Cluster, observed: Observed) -> Desired:
    read = cluster.read()
    return merge_plans(
        meant(cluster, observed), observed, decide_upgrade(read, observed, timedelta(minutes=10))
    )


def object_names(desired: Desired, kind: Any) -> set[str]:
    return {intent.key.name for intent in desired.intents if intent.resource == kind}


def selector(resolved: Resolved) -> dict[str, str]:
    selector: dict[str, str] = public_service(resolved).body["spec"]["selector"]
    return selector


class TestRoles:
    @pytest.mark.parametrize("phase", ["Idle", *PHASES_WITH_GREEN, "RollingBack"])
    def test_blue_is_the_serving_pool_while_a_rollback_is_possible(self, phase: str) -> None:
        assert voter_pools(at(phase).read()) == (ServerPool("x"), SET)

    def test_green_is_the_serving_pool_after_that(self) -> None:
        assert voter_pools(at("Cleanup").read()) == (SET, ServerPool("x"))
        assert serving_pool(at("Cleanup", blueRevision=BEFORE).read()) == SET
        assert voter_pools(at("Syncing", blueRevision=GREEN).read()) == (SET,)


ALONE = replace(as_green(world()), green=PoolFacts())
ONE_POD_LEFT = replace(world(), green=PoolFacts(None, world().green.pods[:1]))
# sentence: (phase, facts, StatefulSets that are planned, ConfigMaps that are kept)
ENDS: dict[str, tuple[str, Observed, set[str], list[str]]] = {
    "the upgrade has not started": ("Idle", world(green=False), {"x"}, []),
    "blue is deleted": ("Cleanup", as_green(world()), {SET.stateful_set}, ["x-config"]),
    "blue is gone": ("Cleanup", ALONE, {SET.stateful_set}, []),
    "green is deleted": ("RollbackCleanup", world(), {"x"}, [SET.config_map]),
    "a pod of green is left": ("RollbackCleanup", ONE_POD_LEFT, {"x"}, [SET.config_map]),
    "green is gone": ("RollbackCleanup", world(green=False), {"x"}, []),
}


@pytest.mark.parametrize(("phase", "observed", "sets", "kept"), ENDS.values(), ids=ENDS)
def test_one_pool_is_planned_before_and_after_the_switch(
    phase: str, observed: Observed, sets: set[str], kept: list[str]
) -> None:
    desired = plan_cluster(at(phase), observed)
    assert object_names(desired, STATEFUL_SET) == sets
    assert [(kind, key.name) for kind, key in desired.retained] == [
        (CONFIG_MAP, name) for name in kept
    ]


class TestGreen:
    @pytest.mark.parametrize("phase", PHASES_WITH_GREEN)
    def test_both_pools_are_planned_during_the_switch(self, phase: str) -> None:
        desired = plan_cluster(at(phase), world())
        # A pool that may have to lead again does not change.
        blue = set() if phase == "DemotingBlue" else {"x"}
        assert object_names(desired, STATEFUL_SET) == blue | {SET.stateful_set}
        assert object_names(desired, CONFIG_MAP) == {"x-config", SET.config_map}

    def test_there_is_no_green_pool_without_an_upgrade(self) -> None:
        cluster, observed = at("Syncing"), world()
        resolved = resolve(with_accepted_release(cluster.read()), cluster.owner(), observed, HERE)
        assert isinstance(resolved, Resolved)
        none = UpgradeDecision(Release("2.4.0"))
        assert with_green_pool(resolved, cluster.read(), observed, HERE, none) is resolved


class TestImage:
    POLICY = PLAIN.with_spec(imageVerification=POLICY)
    BLUE, WANTED = (f"{HERE.image_repository}:{version}" for version in ("2.4.0", "2.4.1"))

    def observe(self, *proven: str, green: bool = False) -> Observed:
        verdicts = {item: ImageVerdict(item, f"{item}@sha256:1", "record") for item in proven}
        return replace(world(green=green), images=verdicts)

    def test_green_is_not_created_before_its_image_is_verified(self) -> None:
        cluster = at("DeployingGreen", self.POLICY)
        resolved = meant(cluster, self.observe(self.BLUE))
        assert resolved.green is not None
        assert not isinstance(resolved.green.images.outcome, Done)
        plan = servers(resolved, self.observe(self.BLUE), Inputs("", Files("")))
        assert plan.intents == ()
        assert plan.outcome == resolved.green.images.outcome
        # Its configuration may exist earlier.
        (config,) = files(resolved, self.observe(self.BLUE)).intents
        assert config.key.name == SET.config_map

    def test_green_runs_the_verified_image(self) -> None:
        observed = self.observe(self.BLUE, self.WANTED)
        (intent,) = servers(
            meant(at("DeployingGreen", self.POLICY), observed), observed, Inputs("", Files(""))
        ).intents
        spec = intent.body["spec"]["template"]["spec"]
        assert spec["containers"][0]["image"] == f"{self.WANTED}@sha256:1"
        assert intent.body["metadata"]["annotations"][labels.IMAGE_VERIFICATION] == "record"


class TestVolumes:
    def size(self, observed: Observed) -> str:
        edited = at("Syncing", PLAIN.with_spec(storage={"size": "2Gi"}))
        (intent,) = servers(meant(edited, observed), observed, Inputs("", Files(""))).intents
        (claim,) = intent.body["spec"]["volumeClaimTemplates"]
        storage: str = claim["spec"]["resources"]["requests"]["storage"]
        return storage

    def test_an_existing_pool_keeps_its_volume_size_and_a_new_pool_has_the_new_size(self) -> None:
        assert self.size(world()) == "1Gi"
        assert self.size(world(green=False)) == "2Gi"


class TestReload:
    def test_green_reloads_changed_files_and_is_never_replaced(self) -> None:
        observed, cluster = world(), at("Syncing")
        resolved = meant(cluster, observed)
        plan = servers(resolved, observed, Inputs("", Files("", "new"), operator_image="image"))
        # Pods of another template do not change either.
        names = {effect.name for effect in plan.effects}
        assert names <= {MarkFirst.name, ReloadPod.name}
        assert {effect.target for effect in plan.effects if effect.name == ReloadPod.name} <= {
            pod.name for pod in observed.green.pods
        }

    def test_without_an_operator_image_green_does_not_reload(self) -> None:
        observed, cluster = world(first=True), at("Syncing")
        plan = servers(meant(cluster, observed), observed, Inputs("", Files("", "new")))
        assert plan.effects == ()
        assert plan.outcome == Done()

    def test_a_reload_is_reported(self) -> None:
        observed = world(first=True)
        resolved = meant(at("Syncing"), observed)
        (intent,) = servers(
            resolved, observed, Inputs("", Files(""), operator_image="image")
        ).intents
        digest = intent.body["spec"]["template"]["metadata"]["annotations"][labels.TEMPLATE_HASH]
        pods = tuple(
            replace(pod, template=digest, reload_hash="old") for pod in observed.green.pods
        )
        observed = replace(observed, green=replace(observed.green, pods=pods))
        plan = servers(resolved, observed, Inputs("", Files(""), operator_image="image"))
        assert [effect.name for effect in plan.effects] == [ReloadPod.name] * 3
        assert isinstance(plan.outcome, Wait)


class TestTraffic:
    @pytest.mark.parametrize("phase", ["Idle", *PHASES_WITH_GREEN[:-1], "RollbackCleanup"])
    def test_clients_use_blue_by_its_label_or_revision(self, phase: str) -> None:
        match_labels = selector(meant(at(phase), world(first=True)))
        assert match_labels == {**labels.servers("x"), labels.FIRST_SET: "true"}
        match_labels = selector(meant(at(phase, blueRevision=BEFORE), world(first=True)))
        assert match_labels == {**labels.servers("x"), labels.REVISION: BEFORE}

    def test_the_selector_is_unchanged_before_a_pod_has_the_label(self) -> None:
        assert selector(meant(at("Idle"), world(green=False))) == labels.servers("x")

    @pytest.mark.parametrize("phase", ["DemotingBlue", "Cleanup"])
    def test_clients_are_sent_to_green(self, phase: str) -> None:
        observed = world(first=True)
        resolved = meant(at(phase), as_green(observed) if phase == "Cleanup" else observed)
        assert selector(resolved) == {**labels.servers("x"), labels.REVISION: GREEN}

    def test_the_selector_matches_all_pools_at_the_end(self) -> None:
        ended = PLAIN.with_status(
            release={"version": "2.4.1"}, blueGreen={"phase": "Idle", "blueRevision": GREEN}
        )
        observed = replace(as_green(world()), green=PoolFacts())
        assert selector(meant(ended, observed)) == labels.servers("x")


class TestMarks:
    def marked(self, cluster: gen.Cluster, observed: Observed) -> list[str]:
        desired = plan_cluster(cluster, observed)
        return [effect.target for effect in desired.effects if effect.name == MarkFirst.name]

    def test_blue_and_recreated_pods_are_labeled_before_green_is_created(self) -> None:
        assert self.marked(at("Idle"), world(green=False)) == ["x-0", "x-1", "x-2"]
        observed = world(first=True)
        pods = (replace(observed.pods[0], first_set=False), *observed.pods[1:])
        assert self.marked(at("Syncing"), replace(observed, pods=pods)) == ["x-0"]
        assert self.marked(at("Syncing", blueRevision=BEFORE), world()) == []
        assert self.marked(at("Cleanup"), as_green(world())) == []
        plain = gen.cluster().initialized()
        assert self.marked(plain, gen.running(plain).facts()) == []
