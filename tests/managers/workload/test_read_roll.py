"""managers.workload.read_pool: the template of a read replica, its roll, and who waits for it."""

from datetime import timedelta
from typing import Any

from contracts.naming import labels, names
from contracts.records.effects import ReloadPod, RemovePeer, ReplacePod
from managers.workload.plan import ROLL_PATIENCE
from managers.workload.scale.read_replicas import needs_votes
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.managers.workload.read_worlds import (
    OLD,
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

    def test_it_is_a_server_of_the_same_name_space_with_a_configuration_of_its_own(self) -> None:
        spec = self.spec()
        assert spec["serviceName"] == names.headless_service("x")
        assert spec["selector"]["matchLabels"] == labels.read_replicas("x")
        template = spec["template"]
        assert labels.servers("x").items() <= template["metadata"]["labels"].items()
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        assert volumes["config"]["configMap"]["name"] == names.read_config_map("x")
        assert "init" not in volumes

    def test_what_is_left_out_is_as_for_the_voters(self) -> None:
        spec = self.spec()
        (claim,) = spec["volumeClaimTemplates"]
        assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
        assert claim["spec"]["storageClassName"] == "slow"
        (container,) = spec["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "1"}}

    def test_it_has_wishes_of_its_own(self) -> None:
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

    def test_it_joins_without_a_vote_and_sees_no_first_boot(self) -> None:
        meant = gen.resolved(TWO)
        assert meant.read is not None
        assert "retry_join_as_non_voter = true" in meant.read.config_text
        assert "retry_join_as_non_voter" not in meant.config_text
        assert "initialize" not in meant.read.config_text

    def test_more_replicas_restart_nobody(self) -> None:
        more = gen.resolved(OLD.with_spec(readReplicas={"replicas": 5})).read
        fewer = gen.resolved(TWO).read
        assert more is not None
        assert fewer is not None
        assert (more.config_text, more.pod) == (fewer.config_text, fewer.pod)


class TestRoll:
    def test_the_highest_goes_first_and_one_at_a_time(self) -> None:
        plan = plan_read_pool(TWO, serving(template="old"))
        assert plan.plan.effects == (ReplacePod("x-read-1", "uid-x-read-1"),)
        assert reason_of(plan) == "RollingOut"
        assert "the read replicas go first" in plan.hold

    def test_none_goes_while_a_green_pool_of_voters_takes_over(self) -> None:
        plan = plan_read_pool(TWO, serving(template="old"), held=True)
        assert effect_names(plan) == []
        assert isinstance(plan.plan.outcome, Done)
        assert plan.hold == ""

    def test_the_next_one_waits_until_the_first_is_back(self) -> None:
        world = serving(template="old")
        half = world.with_readers(
            world.read_set, reader(0).with_template("old"), reader(1).unready()
        )
        assert effect_names(plan_read_pool(TWO, half)) == []

    def test_one_that_is_outdated_and_ill_goes_at_once(self) -> None:
        world = serving(template="old")
        ill = world.with_readers(
            world.read_set, reader(0).with_template("old").unready(), reader(1).with_template("old")
        )
        assert effect_names(plan_read_pool(TWO, ill)) == [(ReplacePod.name, "x-read-0")]

    def test_no_pod_is_touched_while_one_is_missing(self) -> None:
        world = serving(template="old")
        less = world.with_readers(world.read_set, reader(0).with_template("old"))
        assert effect_names(plan_read_pool(TWO, less)) == []

    def test_nothing_goes_before_the_template_is_the_newest(self) -> None:
        world = serving(template="old")
        older = world.with_readers(
            gen.present(world.read_set).with_template("old"), *world.read_pods
        )
        assert effect_names(plan_read_pool(TWO, older)) == []

    def test_one_that_votes_is_not_replaced(self) -> None:
        quorum = knowing("x-read-0", "x-read-1", voting=("x-read-1",))
        plan = plan_read_pool(TWO, serving(template="old").with_quorum(quorum))
        assert effect_names(plan) == []
        assert gen.expect(Blocked, plan.plan.outcome).reason == "ReadReplicaVotes"
        assert plan.hold == ""

    def test_the_leader_is_asked_who_votes(self) -> None:
        spec = TWO.read().spec
        assert needs_votes(spec, serving(template="old").facts())
        assert not needs_votes(spec, serving().facts())

    def test_those_that_leave_are_not_replaced_first(self) -> None:
        world = serving(template="old").with_quorum(knowing("x-read-0", "x-read-1"))
        assert effect_names(plan_read_pool(ONE, world)) == [
            (RemovePeer.name, "x-read-1"),
            (ReplacePod.name, "x-read-0"),
        ]

    def test_nothing_is_replaced_in_maintenance(self) -> None:
        resting = TWO.with_spec(maintenance={"enabled": True})
        assert effect_names(plan_read_pool(resting, serving(template="old"))) == []


class TestHold:
    def test_the_voters_wait_for_the_pool_until_it_is_well(self) -> None:
        assert "1 of 2 read replicas are ready" in plan_read_pool(TWO, serving(1, size=2)).hold
        assert plan_read_pool(TWO, serving()).hold == ""

    def test_attack_t20_an_ill_read_replica_does_not_hold_them_for_ever(self) -> None:
        late = ROLL_PATIENCE + timedelta(seconds=1)
        world = serving(1, size=2).rolling_for(late)
        plan = plan_read_pool(TWO, world)
        assert plan.hold == ""
        assert isinstance(plan.plan.outcome, Wait)
        assert plan.plan.outcome.reason == "RolloutStuck"
        assert "no longer wait for them" in plan.plan.outcome.message

    def test_one_that_is_stuck_is_named(self) -> None:
        world = serving(1, size=2)
        stuck = world.with_readers(
            world.read_set,
            reader(0),
            gen.read_pod(1).with_template(digest()).unschedulable("no room"),
        )
        outcome = gen.expect(Wait, plan_read_pool(TWO, stuck).plan.outcome)
        assert "x-read-1 waits: Unschedulable: no room" in outcome.message

    def test_a_reload_goes_through_those_of_the_pool_first_that_can_hear(self) -> None:
        world, lags = serving(), reader(0).with_files("former")
        plan = plan_read_pool(TWO, world.with_readers(world.read_set, lags, reader(1)))
        assert effect_names(plan) == [(ReloadPod.name, "x-read-0")]
        assert plan.hold_reload
        assert plan.hold == ""
        deaf = world.with_readers(world.read_set, lags.unready(), reader(1))
        assert not plan_read_pool(TWO, deaf).hold_reload
