"""Fields of former field managers on a real API server: adopted, and removed if not desired."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from runtime.apply.managed_fields import BEFORE_FIRST_APPLY
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.types import Object
from runtime.verdict import Verdict
from tests.integration.owned import MANAGER, MARKS, Bench, run_operator

LEGACY = ("kubectl-create", "old-operator")


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    async with run_operator(credentials, client, namespace) as bench:
        yield bench


def entries(live: Object) -> list[tuple[str, str]]:
    return sorted((e["manager"], e["operation"]) for e in live["metadata"]["managedFields"])


async def create_handed_over(bench: Bench, manager: str) -> Object:
    """Create an object with an update by another manager, and with the adopt annotation."""
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
async def test_t27_unwanted_fields_of_a_former_manager_are_removed(
    bench: Bench, manager: str
) -> None:
    await create_handed_over(bench, manager)
    bench.restart(legacy=LEGACY)
    before = bench.requests
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    # A refused creation, a read, the apply that adopts, the upgrade of managed fields, and the
    # apply that removes fields.
    assert bench.requests == before + 5
    live = await bench.live()
    assert entries(live) == [(MANAGER, "Apply")]
    assert live["data"] == {"k": "v"}
    assert "theirs" not in live["metadata"]["labels"]
    await bench.await_cache(live)
    before = bench.requests
    assert (await bench.ensure(bench.intent(k="new"))).verdict is Verdict.UPDATED
    assert (await bench.ensure(bench.intent(k="new"))).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1


async def test_t27_fields_of_other_managers_are_kept(bench: Bench) -> None:
    await create_handed_over(bench, "somebody")
    bench.restart(legacy=LEGACY)
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    live = await bench.live()
    assert entries(live) == [(MANAGER, "Apply"), ("somebody", "Update")]
    assert live["data"] == {"k": "v", "gone": "x"}


async def test_t27_without_the_upgrade_an_earlier_update_keeps_its_fields(bench: Bench) -> None:
    """The purpose of the upgrade: without it the server keeps the field."""
    await create_handed_over(bench, "old-operator")
    await bench.ensure()
    assert (await bench.live())["data"] == {"k": "v", "gone": "x"}


async def test_t27_lost_managed_fields_are_restored(bench: Bench) -> None:
    """The server assigns all existing fields to one manager, which then keeps our fields."""
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
    await bench.await_cache(made_up.object)
    # A changed intent, so that an apply is sent; `old` is still desired.
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
