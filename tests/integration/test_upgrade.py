"""Fields of former field managers on a real API server: taken over, and removed if not desired."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from runtime.apply.managed_fields import BEFORE_FIRST_APPLY, upgrade
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.errors import Conflict
from runtime.types import Object
from runtime.verdict import Verdict
from tests.integration.owned import MANAGER, MARKS, Bench, operating

LEGACY = ("kubectl-create", "old-operator")


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    async with operating(credentials, client, namespace) as made:
        yield made


def entries(live: Object) -> list[tuple[str, str]]:
    return sorted((e["manager"], e["operation"]) for e in live["metadata"]["managedFields"])


async def handed_over(bench: Bench, manager: str) -> Object:
    """An object that somebody made by an update of old, and gave to us."""
    metadata = {
        "name": "c",
        "namespace": bench.namespace,
        "labels": {"theirs": "x"},
        "annotations": {MARKS.adopt: "corner"},
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return await bench.client.create(
        CONFIG_MAP, {**body, "data": {"k": "old", "gone": "x"}}, field_manager=manager
    )


@pytest.mark.parametrize("manager", LEGACY)
async def test_t27_what_a_former_manager_made_goes_when_it_is_not_wanted(
    bench: Bench, manager: str
) -> None:
    await handed_over(bench, manager)
    bench.restart(legacy=LEGACY)
    before = bench.requests
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    # A refused creation, a look, the apply that tells of it, the upgrade, and the apply that takes
    # away.
    assert bench.requests == before + 5
    live = await bench.live()
    assert entries(live) == [(MANAGER, "Apply")]
    assert live["data"] == {"k": "v"}
    assert "theirs" not in live["metadata"]["labels"]
    await bench.seen(live)
    before = bench.requests
    assert (await bench.ensure(bench.intent(k="new"))).verdict is Verdict.UPDATED
    assert (await bench.ensure(bench.intent(k="new"))).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1


async def test_t27_what_somebody_else_made_stays_theirs(bench: Bench) -> None:
    await handed_over(bench, "somebody")
    bench.restart(legacy=LEGACY)
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    live = await bench.live()
    assert entries(live) == [(MANAGER, "Apply"), ("somebody", "Update")]
    assert live["data"] == {"k": "v", "gone": "x"}


async def test_t27_without_it_an_earlier_update_keeps_its_fields(bench: Bench) -> None:
    """What the upgrade is for: the server alone would keep the field for ever."""
    await handed_over(bench, "old-operator")
    await bench.ensure()
    assert (await bench.live())["data"] == {"k": "v", "gone": "x"}


async def test_t27_a_change_in_between_refuses_the_patch(bench: Bench) -> None:
    old = await handed_over(bench, "old-operator")
    ops = upgrade(old, LEGACY, MANAGER)
    assert ops is not None
    await bench.client.apply(
        CONFIG_MAP,
        {**bench.intent().body, "data": {"theirs": "x"}},
        field_manager="somebody",
        force=True,
    )
    with pytest.raises(Conflict):
        await bench.client.json_patch(CONFIG_MAP, bench.intent().key, ops)


async def test_t27_managers_that_were_lost_are_made_up_for(bench: Bench) -> None:
    """The server takes all that is there for one manager's, which then keeps our fields alive."""
    await bench.ensure(bench.intent(k="v", old="x"))
    lost = await bench.client.json_patch(
        CONFIG_MAP,
        bench.intent().key,
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    )
    assert "managedFields" not in lost["metadata"]
    made_up = await bench.client.apply(
        CONFIG_MAP, bench.intent(k="v", old="x").body, field_manager="probe", force=True
    )
    assert (BEFORE_FIRST_APPLY, "Update") in entries(made_up.object)
    await bench.seen(made_up.object)
    # Another wish, so that there is something to send; `old` is still wanted.
    await bench.ensure(bench.intent(k="new", old="x"))
    live = await bench.live()
    assert entries(live) == [(MANAGER, "Apply"), ("probe", "Apply")]
    await bench.client.apply(
        CONFIG_MAP,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": bench.namespace},
        },
        field_manager="probe",
        force=True,
    )
    await bench.ensure(bench.intent(k="new"))
    assert (await bench.live())["data"] == {"k": "new"}
