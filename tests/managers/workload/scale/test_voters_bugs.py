"""Mistakes of others about the number of servers (docs/known-bugs-not-ours.md)."""

from dataclasses import replace

import pytest

from contracts.records.observed import Observed, Quorum, RaftServer, ServerClientConfig
from managers.workload.scale.leftover_pvcs import is_disposable
from managers.workload.scale.voters import scale
from tests import gen
from tests.gen.pods import Pod

ONE = gen.resolved(gen.cluster(replicas=1).initialized())
FIVE = gen.resolved(gen.cluster(replicas=5).initialized())


def observe(count: int, *members: str, pods: int | None = None) -> Observed:
    world = gen.world().with_set(gen.stateful_set().with_replicas(count)).with_claims(*range(5))
    there: list[Pod] = [gen.pod(n).ready(leading=n == 0) for n in range(pods or count)]
    facts = world.with_pods(*there).facts()
    well = tuple(RaftServer(name, voter=True, healthy=True) for name in members)
    return replace(
        facts, client_config=ServerClientConfig("authority", "name"), quorum=Quorum(well, 1)
    )


def test_b02_a_leader_is_never_removed() -> None:
    world = observe(3, "x-0", "x-1", "x-2")
    pods = tuple(gen.pod(n).ready(leading=n == 2).facts() for n in range(3))
    names = [effect.name for effect in scale(ONE, replace(world, pods=pods)).effects]
    assert names == ["step-down"]


def test_b03_five_servers_never_become_fewer_than_four_in_one_write() -> None:
    """Whatever raft says, and however far somebody else has come."""
    names = [f"x-{n}" for n in range(5)]
    for left in range(1, 6):
        assert scale(ONE, observe(5, *names[:left])).replicas >= 4


def test_b03_the_next_one_waits_until_the_last_is_gone() -> None:
    size = scale(ONE, observe(4, "x-0", "x-1", "x-2", "x-3", pods=5))
    assert (size.replicas, size.effects) == (4, ())


@pytest.mark.parametrize("mark", [True, False], ids=["removed by us", "removed by somebody"])
def test_b04_a_server_that_is_no_member_never_starts_with_its_old_data(mark: bool) -> None:
    facts = observe(3, "x-0", "x-1", "x-2")
    claims = tuple(
        replace(claim, removed_peer=claim.name.removeprefix("data-") if mark else "")
        for claim in facts.claims
    )
    size = scale(FIVE, replace(facts, claims=(*facts.claims[:3], *claims[3:])))
    assert size.replicas == 3
    assert [effect.target for effect in size.effects] == (["data-x-3"] if mark else [])


def test_b04_the_volume_of_a_member_is_never_spent() -> None:
    facts = observe(1, "x-0", "x-1")
    claim = replace(facts.claims[1], removed_peer="x-1")
    assert not is_disposable(ONE, facts, claim, "x-1")
    assert is_disposable(ONE, observe(1, "x-0"), claim, "x-1")
