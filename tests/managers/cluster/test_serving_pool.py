"""A cluster whose voters have a revision: only the names of the pool differ."""

import json
from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.desired import Desired
from contracts.records.resolved import PoolSpec, Resolved
from contracts.records.upgrade import Release
from managers.cluster.adminops.restored_servers import expected_servers
from managers.cluster.jobs.template import servers_of
from managers.cluster.plan.steps import merge_plans
from managers.identity.plan import plan as identity
from managers.membership.decide import ExpectedMembers, evaluate_members
from managers.workload.scale.leftover_pvcs import claim_at
from runtime.builtin_kinds import ROLE
from tests import gen
from tests.gen.worlds import running
from tests.managers.membership.observed import answers, members

REVISION, OTHER = "0123456789abcdef", "fedcba9876543210"
NEWER = ServerPool("x", REVISION)
PLAIN = gen.cluster().initialized()
WISHES: dict[str, dict[str, Any]] = {
    "three servers": {},
    "one server": {"replicas": 1},
    "five servers, with read replicas": {"replicas": 5, "readReplicas": {"replicas": 2}},
    "a maintenance": {"maintenance": {"enabled": True}},
    "hibernation": {"hibernate": True},
}


def on(revision: str, **spec: Any) -> gen.Cluster:
    return PLAIN.with_spec(**spec).with_status(blueGreen={"blueRevision": revision})


def fold_steps(cluster: gen.Cluster, revision: str) -> tuple[Resolved, Desired]:
    world = running(cluster)
    pods = (pod.of(revision) for pod in world.pods)
    live = world.stateful_set
    world = world.with_pods(*pods)
    if live is not None:
        world = replace(world, stateful_set=live.of(revision))
    meant = gen.resolved(cluster, world)
    return meant, merge_plans(meant, world.facts())


def text(desired: Desired) -> str:
    return json.dumps([intent.body for intent in desired.intents], sort_keys=True)


def as_plain(text: str) -> str:
    """The text with the names of a pool without a revision."""
    named = text.replace(f"{NEWER.stateful_set}-config", "x-config").replace(f"-{REVISION}", "")
    return named.replace(f', "{labels.REVISION}": "{REVISION}"', "")


def without_digests(text: str) -> str:
    """Two digests in the pod template include the name of the file and its hosts."""
    document = json.loads(text)
    for body in document:
        template = body.get("spec", {}).get("template")
        if template is not None:
            for mark in (labels.TEMPLATE_HASH, labels.RELOAD_HASH):
                template["metadata"]["annotations"].pop(mark)
    return json.dumps(document, sort_keys=True)


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
def test_objects_differ_only_by_the_names_of_the_pool(wish: dict[str, Any]) -> None:
    _, first = fold_steps(on("", **wish), "")
    meant, other = fold_steps(on(REVISION, **wish), REVISION)
    assert meant.voter_pool == NEWER
    assert REVISION not in text(first)
    assert without_digests(as_plain(text(other))) == without_digests(text(first))


def test_a_new_server_joins_the_pods_of_its_own_pool() -> None:
    meant, _ = fold_steps(on(REVISION), REVISION)
    for ordinal in range(3):
        assert f"https://{NEWER.pod_dns(gen.NAMESPACE, ordinal)}:8200" in meant.config_text


def test_its_volumes_are_found_by_their_names() -> None:
    facts = gen.world().with_claims(0).facts()
    assert claim_at(facts, ServerPool("x"), 0) is not None
    assert claim_at(facts, NEWER, 0) is None


class TestWhoMayLead:
    def test_jobs_connect_to_the_serving_pool(self) -> None:
        servers = servers_of(on(REVISION).read())
        assert servers == tuple(NEWER.pod(ordinal) for ordinal in range(3))

    def test_jobs_connect_to_both_pools_while_there_are_two(self) -> None:
        cluster = PLAIN.with_status(blueGreen={"greenRevision": OTHER}).read()
        second = ServerPool("x", OTHER)
        first = tuple(f"x-{ordinal}" for ordinal in range(3))
        assert servers_of(cluster) == first + tuple(second.pod(ordinal) for ordinal in range(3))

    def test_a_leader_of_either_pool_is_found(self) -> None:
        leader = gen.pod(1).of(OTHER).ready(leading=True).facts()
        facts = gen.world().with_pods(gen.pod(0).ready()).facts()
        both = replace(facts, green=replace(facts.green, pods=(leader,)))
        assert facts.leaders == ()
        assert both.leaders == (leader,)


def test_after_a_restore_the_servers_of_the_pool_are_restarted() -> None:
    expected, voters = expected_servers(on(REVISION).read(), "x")
    assert tuple(expected) == tuple(NEWER.pod(ordinal) for ordinal in range(3))
    assert voters == frozenset(expected)


def test_a_voter_without_membership_is_reported_with_its_volume() -> None:
    lost = NEWER.pod(2)
    here = {NEWER.pod(n): "id" for n in range(3)}
    status, _ = evaluate_members(
        answers(members(2), here), ExpectedMembers("x", 3, 0, REVISION), None, gen.NOW
    )
    assert lost in gen.present(status.last_error).message
    # These include no pod of the first pool.
    strangers = {f"x-{n}": "id" for n in range(3)}
    quiet, _ = evaluate_members(
        answers(members(2), strangers), ExpectedMembers("x", 3, 0, REVISION), None, gen.NOW
    )
    assert quiet.last_error is None


class TestRights:
    def names(self, green: PoolSpec | None = None, *pods: gen.Pod) -> list[str]:
        facts = gen.world().facts()
        new_facts = replace(facts, green=replace(facts.green, pods=tuple(p.facts() for p in pods)))
        plan = identity(replace(gen.resolved(PLAIN), green=green), new_facts)
        (role,) = (intent.body for intent in plan.intents if intent.resource == ROLE)
        resource_names: list[str] = role["rules"][0]["resourceNames"]
        return resource_names

    def test_green_pods_have_rights_before_they_are_created(self) -> None:
        green = PoolSpec(OTHER, Release("2.5.0"), 2)
        second = ServerPool("x", OTHER)
        assert self.names(green) == [*self.names(), second.pod(0), second.pod(1)]

    def test_green_pods_keep_their_rights_while_one_runs(self) -> None:
        left = gen.pod(4).of(OTHER)
        assert self.names(None, left) == [*self.names(), ServerPool("x", OTHER).pod(4)]
