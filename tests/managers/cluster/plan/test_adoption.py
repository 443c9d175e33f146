"""managers.cluster.plan.adoption: what is kept of servers of another operator, and until when."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels, mount_paths
from contracts.pools.voter_pool import ServerPool
from contracts.records.foreign_stateful_set import ForeignStatefulSet
from contracts.records.observed import Observed
from managers.cluster.plan.adoption import (
    OWN,
    adoption_condition,
    adoption_of,
    adoption_refusal,
    with_served_names,
)
from managers.cluster.plan.steps import merge_plans
from managers.cluster.resolve.resolve import resolve
from runtime.builtin_kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, SERVICE, STATEFUL_SET
from runtime.outcome import Blocked, Done
from runtime.types import ObjectKey
from tests import gen

BASE = tuple(sorted(labels.base("x").items()))
FOREIGN = ForeignStatefulSet(
    selector=BASE,
    expressions=False,
    service="x",
    claims=("data",),
    data_path=mount_paths.DATA,
    policy="OrderedReady",
    restart_at="",
    rolling=False,
)
KEPT = ((CONFIG_MAP, ObjectKey("ns", "x-config")), (SERVICE, ObjectKey("ns", "x")))
RUNNING = gen.cluster(runtime={"restartAt": "now"}).initialized()
QUIET = gen.cluster().initialized()


def facts(cluster: gen.Cluster = QUIET, **foreign: Any) -> Observed:
    """A running cluster whose StatefulSet and pods another operator created."""
    observed = gen.running(cluster).facts()
    live = gen.present(observed.stateful_set)
    pods = tuple(replace(pod, labels=BASE, controller=live.uid) for pod in observed.pods)
    immutable_fields = {**live.immutable_fields, "spec.podManagementPolicy": "OrderedReady"}
    stateful_set = replace(
        live, foreign=replace(FOREIGN, **foreign), immutable_fields=immutable_fields
    )
    return replace(observed, stateful_set=stateful_set, pods=pods, foreign_objects=KEPT)


def with_labels(observed: Observed) -> Observed:
    """The same, with pods that carry the labels of this operator."""
    carried = tuple(sorted(ServerPool("x").pod_labels.items()))
    pods = tuple(replace(pod, labels=carried) for pod in observed.pods)
    return replace(observed, pods=pods)


def test_servers_of_this_operator_need_no_adoption() -> None:
    observed = gen.running(QUIET).facts()
    assert adoption_of(QUIET.read(), observed) is OWN
    assert adoption_condition(QUIET.read(), observed) is None


def test_nothing_is_planned_before_a_user_requests_it() -> None:
    observed = facts()
    adoption = adoption_of(QUIET.read(), observed)
    assert (adoption.stage, adoption.effects, adoption.outcome) == ("pending", (), Done())
    desired = merge_plans(gen.resolved(QUIET, gen.running(QUIET)), observed, adoption=adoption)
    assert not desired.workload
    assert not {(intent.resource, intent.key) for intent in desired.intents} & {*KEPT}
    assert not desired.complete, "nothing may be pruned"
    assert STATEFUL_SET not in {intent.resource for intent in desired.intents}
    # The selector of a new object matches the pods as they are.
    services = [intent for intent in desired.intents if intent.resource == SERVICE]
    specs = {intent.key.name: intent.body["spec"] for intent in services}
    assert specs["x-public"]["selector"] == dict(BASE)
    assert specs["x-active"]["selector"] == {**dict(BASE), labels.SERVER_ACTIVE: "true"}


@pytest.mark.parametrize("cluster", [RUNNING, QUIET.with_status(release={"version": "2.3.9"})])
def test_a_request_labels_the_pods_first(cluster: gen.Cluster) -> None:
    adoption = adoption_of(cluster.read(), facts(cluster))
    assert adoption.stage == "labeling"
    assert adoption.holds_servers
    missing = {key for effect in adoption.effects for key, _ in effect.labels}
    assert missing == {labels.COMPONENT, labels.WORKLOAD_POOL}
    assert len(adoption.effects) == 3
    condition = gen.present(adoption_condition(cluster.read(), facts(cluster)))
    assert (condition.status, condition.reason) == ("False", "Adopting")


def test_then_the_statefulset_is_recreated_without_its_pods() -> None:
    observed = with_labels(facts(RUNNING))
    adoption = adoption_of(RUNNING.read(), observed)
    assert adoption.stage == "moving"
    desired = merge_plans(gen.resolved(RUNNING, gen.running(RUNNING)), observed, adoption=adoption)
    assert [intent.resource for intent in desired.workload] == [POD_DISRUPTION_BUDGET]
    names = [effect.name for effect in desired.effects]
    assert "recreate-stateful-set" in names
    assert "replace-pod" not in names


def test_a_restart_that_the_pods_already_have_is_no_request() -> None:
    assert adoption_of(RUNNING.read(), facts(RUNNING, restart_at="now")).stage == "pending"


def test_a_pod_without_controller_gets_no_label() -> None:
    observed = facts(RUNNING)
    strays = tuple(replace(pod, controller="") for pod in observed.pods)
    assert adoption_of(RUNNING.read(), replace(observed, pods=strays)).effects == ()


def test_pods_of_an_older_release_get_the_labels_that_they_lack() -> None:
    observed = facts()
    own = replace(observed, stateful_set=replace(gen.present(observed.stateful_set), foreign=None))
    adoption = adoption_of(QUIET.read(), own)
    assert len(adoption.effects) == 3
    assert adoption.keep == ()
    assert adoption_condition(QUIET.read(), own) is None
    assert adoption_of(QUIET.read(), with_labels(own)) is OWN


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        ({"rolling": True}, "its pods are being replaced"),
        ({"expressions": True}, "matchExpressions"),
        ({"selector": (*BASE, ("team", "a"))}, "requires team"),
        ({"service": "other"}, "spec.serviceName is other"),
        ({"claims": ("store",)}, "no volumeClaimTemplate data"),
        ({"data_path": "/vault"}, "at /vault"),
    ],
)
def test_servers_that_cannot_be_adopted_are_refused(foreign: dict[str, Any], message: str) -> None:
    observed = facts(**foreign)
    refused = gen.expect(Blocked, resolve(QUIET.read(), QUIET.owner(), observed, gen.INSTALLATION))
    assert refused.reason == "AdoptionRefused"
    assert message in refused.message
    condition = gen.present(adoption_condition(QUIET.read(), observed))
    assert (condition.status, condition.message) == ("False", refused.message)


def test_an_incomplete_first_boot_is_refused() -> None:
    cluster = gen.cluster()
    assert "status.initialized" in gen.present(adoption_refusal(cluster.read(), facts())).message


def test_the_condition_names_the_differences_and_the_next_step() -> None:
    condition = gen.present(adoption_condition(QUIET.read(), facts()))
    assert condition.reason == "AdoptionPending"
    for part in (labels.WORKLOAD_POOL, "OrderedReady", "ConfigMap x-config", "restartAt"):
        assert part in condition.message


def test_a_certificate_is_not_renewed_for_a_name_before_the_adoption() -> None:
    observed = facts()
    resolved = gen.resolved(QUIET, gen.running(QUIET))
    wanting = replace(resolved, certificate_names=(*resolved.certificate_names, "new.example"))
    adoption = adoption_of(QUIET.read(), observed)
    held = with_served_names(wanting, adoption, observed)
    assert held.certificate_names == resolved.certificate_names
    assert with_served_names(wanting, OWN, observed) is wanting
    assert with_served_names(wanting, adoption, replace(observed, secrets={})) is wanting
