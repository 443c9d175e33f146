"""Mistakes of others about pods, and that they are not made here (docs/known-bugs-not-ours.md)."""

import pytest

from contracts.naming import labels
from contracts.records.observed import Quorum
from managers.workload.objects.statefulset import (
    Shape,
    disruption_budget,
    stateful_set,
    template_digest,
)
from managers.workload.rollout.next_pod import next_action
from runtime.apply.intent import Intent
from tests import gen
from tests.managers.workload.objects.templates import template

CLUSTER = gen.cluster().initialized()


def set_of(cluster: gen.Cluster) -> Intent:
    shape = Shape(3, "d", "r", first_boot=False, claim_size="1Gi", claim_class=None)
    return stateful_set(gen.resolved(cluster), shape)


@pytest.mark.parametrize(
    "leading", [(), (0, 1)], ids=["nobody says that it leads", "two say that they lead"]
)
def test_b02_while_it_is_not_known_who_leads_nobody_goes(leading: tuple[int, ...]) -> None:
    pods = [gen.pod(n).with_template("old").ready(leading=n in leading) for n in range(3)]
    world = gen.world().with_set(gen.stateful_set()).with_pods(*pods).facts()
    assert next_action(world, world.pods, 3).kind == "rest"


def test_b02_a_leader_that_does_not_answer_is_no_consent() -> None:
    pods = [gen.pod(n).with_template("old").ready(leading=n == 0) for n in range(3)]
    silent = Quorum(error="no answer")
    world = gen.world().with_set(gen.stateful_set()).with_pods(*pods).with_quorum(silent).facts()
    assert next_action(world, world.pods, 3).kind == "hold"


def test_b07_the_pod_of_a_job_is_no_server() -> None:
    job = labels.component("x", "backup")
    budget = gen.present(disruption_budget(gen.resolved(CLUSTER), 3))
    for spec in (set_of(CLUSTER).body["spec"], budget.body["spec"]):
        selector = spec["selector"]["matchLabels"]
        assert not selector.items() <= job.items()
        assert selector.items() <= template()["metadata"]["labels"].items()


def test_b08_nothing_stands_between_the_kubelet_and_the_server() -> None:
    """A wrapper or a shell as process 1 would have to pass on the signal, and wait."""
    pod = template()["spec"]
    (server,) = pod["containers"]
    assert server["command"][:2] == ["bao", "server"]
    assert "args" not in server
    assert "initContainers" not in pod
    assert pod["terminationGracePeriodSeconds"] >= 60


def test_b16_the_order_in_which_a_person_writes_changes_nothing() -> None:
    def written(*keys: str) -> gen.Cluster:
        metadata = {"labels": {key: "v" for key in keys}, "annotations": {key: "v" for key in keys}}
        return CLUSTER.with_spec(podMetadata=metadata)

    one, other = written("a", "b", "c"), written("c", "a", "b")
    assert set_of(one).digest == set_of(other).digest
    first, second = (gen.resolved(cluster) for cluster in (one, other))
    assert template_digest(first, "t") == template_digest(second, "t")


def test_b33_an_image_that_is_left_out_is_the_one_that_is_meant() -> None:
    """The digest is of what the pods get, so naming the same image rolls nobody."""
    image = f"{gen.INSTALLATION.image_repository}:{gen.clusters.VERSION}"
    named = CLUSTER.with_spec(image=image)
    assert template_digest(gen.resolved(named), "t") == template_digest(gen.resolved(CLUSTER), "t")


def test_b38_the_update_strategy_is_whole_and_has_no_partition() -> None:
    assert set_of(CLUSTER).body["spec"]["updateStrategy"] == {"type": "OnDelete"}
