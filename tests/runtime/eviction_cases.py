"""Evictions: the same cases for the fake and for a real API server."""

from collections.abc import Awaitable, Callable

import pytest

from runtime.client.client import Client
from runtime.errors import Conflict, EvictionRefused, NotFound
from runtime.types import uid_of
from tests.runtime.evictions import CLOSED, OPEN, is_there, key, make_budget, make_pod

Case = Callable[[Client, str], Awaitable[None]]


async def without_a_budget(client: Client, space: str) -> None:
    pod = await make_pod(client, space, 0)
    await client.evict(key(space, 0), uid=uid_of(pod))
    assert not await is_there(client, space, 0)


async def an_open_budget_is_charged(client: Client, space: str) -> None:
    pods = [await make_pod(client, space, number) for number in range(3)]
    await make_budget(client, space, OPEN)
    await client.evict(key(space, 2), uid=uid_of(pods[2]))
    assert not await is_there(client, space, 2)
    with pytest.raises(EvictionRefused) as refused:
        await client.evict(key(space, 1), uid=uid_of(pods[1]))
    assert refused.value.code == 429
    words = "The disruption budget x does not allow evicting pods currently"
    assert refused.value.budget.startswith(words)
    assert await is_there(client, space, 1)


async def a_closed_budget_reports_how_many_it_needs(client: Client, space: str) -> None:
    pod = await make_pod(client, space, 0)
    await make_budget(client, space, CLOSED)
    with pytest.raises(EvictionRefused) as refused:
        await client.evict(key(space, 0), uid=uid_of(pod))
    words = "The disruption budget x needs 2 healthy pods and has 2 currently"
    assert refused.value.budget == words


async def a_budget_of_an_older_generation_is_closed(client: Client, space: str) -> None:
    """Also one that no controller has observed yet."""
    pod = await make_pod(client, space, 0)
    await make_budget(client, space, OPEN, observed=0)
    with pytest.raises(EvictionRefused) as refused:
        await client.evict(key(space, 0), uid=uid_of(pod))
    assert refused.value.budget == "The disruption budget x is still being processed by the server."
    assert await is_there(client, space, 0)


async def a_closed_budget_holds_an_unready_one_where_others_are_away(
    client: Client, space: str
) -> None:
    pod = await make_pod(client, space, 0, ready=False)
    await make_budget(client, space, {**CLOSED, "currentHealthy": 1})
    with pytest.raises(EvictionRefused):
        await client.evict(key(space, 0), uid=uid_of(pod))


async def a_closed_budget_lets_an_unready_one_go_where_the_others_are_well(
    client: Client, space: str
) -> None:
    pod = await make_pod(client, space, 0, ready=False)
    await make_budget(client, space, CLOSED)
    await client.evict(key(space, 0), uid=uid_of(pod))
    assert not await is_there(client, space, 0)


async def a_pod_that_does_not_run_is_not_counted(client: Client, space: str) -> None:
    pod = await make_pod(client, space, 0, ready=False, phase="Pending")
    await make_budget(client, space, {**CLOSED, "currentHealthy": 0})
    await client.evict(key(space, 0), uid=uid_of(pod))
    assert not await is_there(client, space, 0)


async def two_budgets_permit_no_eviction(client: Client, space: str) -> None:
    pod = await make_pod(client, space, 0)
    for name in ("x", "y"):
        await make_budget(client, space, OPEN, name=name)
    with pytest.raises(EvictionRefused) as refused:
        await client.evict(key(space, 0), uid=uid_of(pod))
    assert "more than one PodDisruptionBudget" in refused.value.budget


async def another_one_of_that_name_stays(client: Client, space: str) -> None:
    await make_pod(client, space, 0)
    with pytest.raises(Conflict):
        await client.evict(key(space, 0), uid="00000000-0000-0000-0000-000000000000")
    assert await is_there(client, space, 0)


async def a_deleted_pod(client: Client, space: str) -> None:
    with pytest.raises(NotFound):
        await client.evict(key(space, 0), uid="u")


CASES: dict[str, Case] = {
    case.__name__.replace("_", " "): case
    for case in (
        without_a_budget,
        an_open_budget_is_charged,
        a_closed_budget_reports_how_many_it_needs,
        a_budget_of_an_older_generation_is_closed,
        a_closed_budget_holds_an_unready_one_where_others_are_away,
        a_closed_budget_lets_an_unready_one_go_where_the_others_are_well,
        a_pod_that_does_not_run_is_not_counted,
        two_budgets_permit_no_eviction,
        another_one_of_that_name_stays,
        a_deleted_pod,
    )
}
