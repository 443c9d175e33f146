"""Bugs of other operators about pods that this one does not have (docs/known-bugs-not-ours.md)."""

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


@pytest.mark.parametrize("leading", [(), (0, 1)], ids=["no leader label", "two leader labels"])
def test_b02_without_a_known_leader_no_pod_is_replaced(leading: tuple[int, ...]) -> None:
    pods = [gen.pod(n).with_template("old").ready(leading=n in leading) for n in range(3)]
    world = gen.world().with_set(gen.stateful_set()).with_pods(*pods).facts()
    assert next_action(world, world.pods, 3).kind == "rest"


def test_b02_without_a_response_of_the_leader_no_pod_is_replaced() -> None:
    pods = [gen.pod(n).with_template("old").ready(leading=n == 0) for n in range(3)]
    silent = Quorum(error="no answer")
    world = gen.world().with_set(gen.stateful_set()).with_pods(*pods).with_quorum(silent).facts()
    assert next_action(world, world.pods, 3).kind == "hold"


def test_b07_no_selector_of_servers_matches_a_job() -> None:
    job = labels.component("x", "backup")
    budget = gen.present(disruption_budget(gen.resolved(CLUSTER), 3))
    for spec in (set_of(CLUSTER).body["spec"], budget.body["spec"]):
        selector = spec["selector"]["matchLabels"]
        assert not selector.items() <= job.items()
        assert selector.items() <= template()["metadata"]["labels"].items()


def test_b08_the_server_is_process_1_of_its_container() -> None:
    """A wrapper as process 1 would have to forward signals, and wait."""
    pod = template()["spec"]
    (server,) = pod["containers"]
    assert server["command"][:2] == ["bao", "server"]
    assert "args" not in server
    assert "initContainers" not in pod
    assert pod["terminationGracePeriodSeconds"] >= 60


def test_b16_the_order_of_keys_does_not_change_the_digest() -> None:
    def written(*keys: str) -> gen.Cluster:
        metadata = {"labels": {key: "v" for key in keys}, "annotations": {key: "v" for key in keys}}
        return CLUSTER.with_spec(podMetadata=metadata)

    one, other = written("a", "b", "c"), written("c", "a", "b")
    assert set_of(one).digest == set_of(other).digest
    first, second = (gen.resolved(cluster) for cluster in (one, other))
    assert template_digest(first, "t") == template_digest(second, "t")


def test_b33_an_explicit_default_image_changes_nothing() -> None:
    """The digest is of the resolved image, so an explicit default starts no rollout."""
    image = f"{gen.INSTALLATION.image_repository}:{gen.clusters.VERSION}"
    named = CLUSTER.with_spec(image=image)
    assert template_digest(gen.resolved(named), "t") == template_digest(gen.resolved(CLUSTER), "t")


def test_b38_the_update_strategy_has_no_partition() -> None:
    assert set_of(CLUSTER).body["spec"]["updateStrategy"] == {"type": "OnDelete"}
