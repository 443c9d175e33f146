"""managers.workload.read_pool: the template and the rollout of read replicas."""

from datetime import timedelta
from typing import Any

import pytest

from contracts.naming import labels, names
from contracts.records.effects import ReloadPod, ReplacePod
from managers.workload.plan import ROLL_PATIENCE
from managers.workload.scale.read_replicas import needs_votes
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.managers.workload.plans import OLD
from tests.managers.workload.read_worlds import (
    ONE,
    TWO,
    digest,
    effect_names,
    knowing,
    plan_read_pool,
    reader,
    reason_of,
    serving,
)


class TestTemplate:
    def spec(self, **wishes: Any) -> dict[str, Any]:
        cluster = OLD.with_spec(
            resources={"requests": {"cpu": "1"}},
            storage={"size": "1Gi", "storageClassName": "slow"},
            readReplicas={"replicas": 2, **wishes},
        )
        (intent,) = plan_read_pool(cluster, serving(0).with_readers(None)).plan.intents
        assert intent.key.name == "x-read"
        spec: dict[str, Any] = intent.body["spec"]
        return spec

    def test_a_read_replica_shares_the_service_and_has_its_own_configuration(self) -> None:
        spec = self.spec()
        assert spec["serviceName"] == names.headless_service("x")
        assert spec["selector"]["matchLabels"] == labels.read_replicas("x")
        template = spec["template"]
        assert labels.servers("x").items() <= template["metadata"]["labels"].items()
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        assert volumes["config"]["configMap"]["name"] == names.read_config_map("x")
        assert "init" not in volumes

    def test_defaults_are_those_of_the_voters(self) -> None:
        spec = self.spec()
        (claim,) = spec["volumeClaimTemplates"]
        assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
        assert claim["spec"]["storageClassName"] == "slow"
        (container,) = spec["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "1"}}

    def test_a_read_replica_may_have_its_own_settings(self) -> None:
        spec = self.spec(
            storage={"size": "2Gi", "storageClassName": "fast"},
            template={
                "resources": {"requests": {"cpu": "2"}},
                "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
                "scheduling": {"nodeSelector": {"disk": "ssd"}},
            },
        )
        (claim,) = spec["volumeClaimTemplates"]
        assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
        assert claim["spec"]["storageClassName"] == "fast"
        metadata, pod = spec["template"]["metadata"], spec["template"]["spec"]
        assert pod["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
        assert (metadata["labels"]["team"], metadata["annotations"]["note"]) == ("a", "b")
        assert metadata["annotations"][labels.UNSEAL_KEYS]
        assert pod["nodeSelector"] == {"disk": "ssd"}

    def test_a_read_replica_joins_without_a_vote(self) -> None:
        meant = gen.resolved(TWO)
        read = gen.present(meant.read)
        assert "retry_join_as_non_voter" in read.config_text
        assert "retry_join_as_non_voter" not in meant.config_text
        assert "initialize" not in read.config_text
        # More replicas restart no pod.
        more = gen.present(gen.resolved(OLD.with_spec(readReplicas={"replicas": 5})).read)
        assert (more.config_text, more.pod) == (read.config_text, read.pod)


OUTDATED = serving(template="old")
NEWEST_SET = gen.present(OUTDATED.read_set)
FIRST, SECOND = (reader(n).with_template("old") for n in range(2))
MEMBERS = knowing("x-read-0", "x-read-1")
# sentence: (cluster, world, effects)
ROLLS = {
    "the highest ordinal is first": (TWO, OUTDATED, ["replace-pod x-read-1"]),
    "the next pod waits for the first": (
        TWO,
        OUTDATED.with_readers(NEWEST_SET, FIRST, reader(1).unready()),
        [],
    ),
    "an outdated unready pod is replaced immediately": (
        TWO,
        OUTDATED.with_readers(NEWEST_SET, FIRST.unready(), SECOND),
        ["replace-pod x-read-0"],
    ),
    "no pod is replaced while one is missing": (TWO, OUTDATED.with_readers(NEWEST_SET, FIRST), []),
    "no pod is replaced before the template is applied": (
        TWO,
        OUTDATED.with_readers(NEWEST_SET.with_template("old"), FIRST, SECOND),
        [],
    ),
    "surplus pods are not replaced": (
        ONE,
        OUTDATED.with_quorum(MEMBERS),
        ["remove-peer x-read-1", "replace-pod x-read-0"],
    ),
    "no pod is replaced in maintenance": (
        TWO.with_spec(maintenance={"enabled": True}),
        OUTDATED,
        [],
    ),
}


@pytest.mark.parametrize(("cluster", "world", "effects"), ROLLS.values(), ids=ROLLS)
def test_which_pods_are_replaced(
    cluster: gen.Cluster, world: gen.World, effects: list[str]
) -> None:
    plan = plan_read_pool(cluster, world)
    assert [f"{name} {target}" for name, target in effect_names(plan)] == effects


class TestRoll:
    def test_voters_wait_for_read_replicas_unless_green_takes_over(self) -> None:
        plan = plan_read_pool(TWO, serving(template="old"))
        assert plan.plan.effects == (ReplacePod("x-read-1", "uid-x-read-1"),)
        assert reason_of(plan) == "RollingOut"
        assert "the read replicas go first" in plan.hold
        held = plan_read_pool(TWO, serving(template="old"), held=True)
        assert (held.plan.effects, held.plan.outcome, held.hold) == ((), Done(), "")

    def test_a_read_replica_with_a_vote_is_not_replaced(self) -> None:
        quorum = knowing("x-read-0", "x-read-1", voting=("x-read-1",))
        outdated = serving(template="old")
        plan = plan_read_pool(TWO, outdated.with_quorum(quorum))
        assert effect_names(plan) == []
        assert gen.expect(Blocked, plan.plan.outcome).reason == "ReadReplicaVotes"
        assert plan.hold == ""
        assert needs_votes(TWO.read().spec, outdated.facts())
        assert not needs_votes(TWO.read().spec, serving().facts())


class TestHold:
    def test_voters_wait_until_the_read_pool_is_ready(self) -> None:
        assert "1 of 2 read replicas are ready" in plan_read_pool(TWO, serving(1, size=2)).hold
        assert plan_read_pool(TWO, serving()).hold == ""

    def test_attack_t20_an_unready_read_replica_does_not_block_voters_forever(self) -> None:
        late = ROLL_PATIENCE + timedelta(seconds=1)
        world = serving(1, size=2).rolling_for(late)
        plan = plan_read_pool(TWO, world)
        assert plan.hold == ""
        assert isinstance(plan.plan.outcome, Wait)
        assert plan.plan.outcome.reason == "RolloutStuck"
        assert "no longer wait for them" in plan.plan.outcome.message

    def test_a_stuck_read_replica_is_named(self) -> None:
        world = serving(1, size=2)
        stuck = world.with_readers(
            world.read_set,
            reader(0),
            gen.read_pod(1).with_template(digest()).unschedulable("no room"),
        )
        outcome = gen.expect(Wait, plan_read_pool(TWO, stuck).plan.outcome)
        assert "x-read-1 waits: Unschedulable: no room" in outcome.message

    def test_ready_read_replicas_are_reloaded_before_the_voters(self) -> None:
        world, lags = serving(), reader(0).with_files("former")
        plan = plan_read_pool(TWO, world.with_readers(world.read_set, lags, reader(1)))
        assert effect_names(plan) == [(ReloadPod.name, "x-read-0")]
        assert plan.hold_reload
        assert plan.hold == ""
        deaf = world.with_readers(world.read_set, lags.unready(), reader(1))
        assert not plan_read_pool(TWO, deaf).hold_reload
