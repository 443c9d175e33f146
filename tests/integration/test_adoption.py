"""Adoption of the objects of another operator on a real API server.

No server runs: the tests check what the operator writes. e2e/adoption has real servers.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from baoctl.generate.main import ROOT
from baoctl.process.parts import build_manager, build_parts
from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.rig import Rig
from runtime.builtin_kinds import POD, SERVICE, STATEFUL_SET
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.types import Object, ObjectKey, key_of, labels_of, uid_of
from tests.integration.other_operator import NAME, OtherOperator

PATIENCE = 60.0
ODD = {"openbao.org/cluster": NAME, "example.com/odd": "yes"}


@asynccontextmanager
async def operator(rig: Rig, namespace: str) -> AsyncIterator[None]:
    """Run the whole operator in this process, for one namespace."""
    settings = dataclasses.replace(
        from_environment({"KUBECONFIG": str(rig.kubeconfig)}),
        namespaces=(namespace,),
        leader_election=False,
        listen="127.0.0.1",
        port=0,
    )
    parts = await build_parts(settings, SystemClock())
    build = partial(build_controllers, parts)
    manager = build_manager(parts, lambda: build, ())
    running = asyncio.create_task(manager.run())
    try:
        yield
    finally:
        manager.stop()
        await running
        await parts.client.close()
        await parts.lease_client.close()


@dataclasses.dataclass
class Watcher:
    """Polls a cluster."""

    client: Client
    namespace: str
    name: str = NAME

    async def cluster(self) -> Object:
        return await self.client.get(CLUSTERS, ObjectKey(self.namespace, self.name))

    async def pods(self) -> dict[str, str]:
        items = (await self.client.list(POD, self.namespace)).items
        return {key_of(item).name: uid_of(item) for item in items}

    async def until(self, holds: Callable[[Object], bool], goal: str) -> Object:
        clock = SystemClock()
        end = clock.monotonic() + PATIENCE
        while True:
            live = await self.cluster()
            if holds(live):
                return live
            assert clock.monotonic() < end, f"{goal}: {conditions(live)}"
            await clock.sleep(0.1)

    async def services_without_pods(self) -> list[str]:
        """Name the Services that select none of the pods."""
        pods = (await self.client.list(POD, self.namespace)).items
        return [
            item["metadata"]["name"]
            for item in (await self.client.list(SERVICE, self.namespace)).items
            if not any(item["spec"]["selector"].items() <= labels_of(pod).items() for pod in pods)
        ]


def conditions(live: Object) -> dict[str, tuple[str, str, str]]:
    conditions = (live.get("status") or {}).get("conditions") or ()
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in conditions
    }


def says(kind: str, status: str, reason: str) -> Callable[[Object], bool]:
    return lambda live: conditions(live).get(kind, ())[:2] == (status, reason)


@pytest.fixture
def other(control_plane_with_crds: Rig, client: Client, namespace: str) -> OtherOperator:
    return OtherOperator(client, namespace)


async def test_objects_of_another_operator_are_not_changed(
    control_plane_with_crds: Rig, client: Client, namespace: str, other: OtherOperator
) -> None:
    await other.install()
    before = await other.versions()
    see = Watcher(client, namespace)
    async with operator(control_plane_with_crds, namespace):
        live = await see.until(
            says("Adopted", "False", "AdoptionPending"), "condition Adopted is AdoptionPending"
        )
        live = await see.until(
            says("Ready", "True", "AllReplicasReady"), "condition Ready is AllReplicasReady"
        )
        live = await see.until(
            lambda item: "EtcdEncryptionWarning" not in conditions(item),
            "the condition of the other operator is removed",
        )
        assert await see.services_without_pods() == []
    after = await other.versions()
    assert {name: item for name, item in after.items() if name in before} == before
    live_conditions = conditions(live)
    assert "spec.runtime.restartAt" in live_conditions["Adopted"][2]
    assert labels.WORKLOAD_POOL in live_conditions["Adopted"][2]
    assert live_conditions["Stalled"][0] == "False"
    # The status has no fields of the other operator, and is updated.
    assert "EtcdEncryptionWarning" not in live_conditions
    managers = {managed_field["manager"] for managed_field in live["metadata"]["managedFields"]}
    assert not {manager for manager in managers if manager.endswith("-controller")}
    assert "workload" not in live["status"]


async def test_a_requested_restart_adopts_the_servers(
    control_plane_with_crds: Rig, client: Client, namespace: str, other: OtherOperator
) -> None:
    await other.install()
    see = Watcher(client, namespace)
    key = ObjectKey(namespace, NAME)
    pods = {
        item["metadata"]["name"]: uid_of(item) for item in (await client.list(POD, namespace)).items
    }
    former = uid_of(await client.get(STATEFUL_SET, key))
    async with operator(control_plane_with_crds, namespace):
        await see.until(
            says("Adopted", "False", "AdoptionPending"), "condition Adopted is AdoptionPending"
        )
        ops = [{"op": "add", "path": "/spec/runtime", "value": {"restartAt": "now"}}]
        await client.json_patch(CLUSTERS, key, ops)
        clock = SystemClock()
        end = clock.monotonic() + PATIENCE
        while True:
            assert clock.monotonic() < end, conditions(await see.cluster())
            assert await see.services_without_pods() == []
            live = next(iter((await client.list(STATEFUL_SET, namespace)).items), None)
            if live and live["metadata"].get("deletionTimestamp"):
                await other.orphan()
            elif live and uid_of(live) != former:
                break
            await clock.sleep(0.05)
        assert live["spec"]["podManagementPolicy"] == "Parallel"
        selector = live["spec"]["selector"]["matchLabels"]
        assert selector[labels.WORKLOAD_POOL] == labels.VOTER
        there = (await client.list(POD, namespace)).items
        assert await see.pods() == pods
        assert all(selector.items() <= labels_of(item).items() for item in there)
        await see.until(
            lambda item: "Adopted" not in conditions(item), "condition Adopted is removed"
        )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"serviceName": "elsewhere"}, "spec.serviceName is elsewhere"),
        ({"selector": {"matchLabels": ODD}}, "its selector requires example.com/odd"),
    ],
)
async def test_an_impossible_adoption_is_refused_before_the_first_write(
    control_plane_with_crds: Rig,
    client: Client,
    namespace: str,
    other: OtherOperator,
    changes: dict[str, object],
    reason: str,
) -> None:
    await other.install(set_changes=changes)
    before = await other.versions()
    see = Watcher(client, namespace)
    async with operator(control_plane_with_crds, namespace):
        live = await see.until(
            says("Stalled", "True", "AdoptionRefused"), "condition Stalled is AdoptionRefused"
        )
    assert await other.versions() == before
    assert reason in conditions(live)["Adopted"][2]


THREE = ROOT / "tests" / "golden" / "previous-release" / "three"
RUNNING = {
    "itest": {
        "initialized": True,
        "currentVersion": "2.4.0",
        "release": {"version": "2.4.0"},
        "phase": "Running",
    }
}


@pytest.mark.parametrize("without", [(), (labels.COMPONENT,)])
async def test_servers_of_the_previous_release_keep_running(
    control_plane_with_crds: Rig, client: Client, namespace: str, without: tuple[str, ...]
) -> None:
    """A label that the previous release did not have is added in place."""
    files = (THREE / "cluster.yaml", THREE / "children.yaml")
    former = OtherOperator(
        client, namespace, name="three", version="2.4.0", files=files, managers=RUNNING
    )
    await former.install(without=without)
    see = Watcher(client, namespace, "three")
    key, pods = ObjectKey(namespace, "three"), await see.pods()
    before = uid_of(await client.get(STATEFUL_SET, key))
    async with operator(control_plane_with_crds, namespace):
        # The template is of another namespace, so the pods are outdated and wait for a leader.
        await see.until(says("Ready", "False", "RollingOut"), "condition Ready is RollingOut")
        clock = SystemClock()
        end = clock.monotonic() + PATIENCE
        while not all(
            labels.servers("three").items() <= labels_of(item).items()
            for item in (await client.list(POD, namespace)).items
        ):
            assert clock.monotonic() < end, "the pods lack a label"
            await clock.sleep(0.1)
        await see.until(says("Conflict", "False", "NoConflict"), "condition Conflict is NoConflict")
        assert await see.services_without_pods() == []
    assert await see.pods() == pods
    assert uid_of(await client.get(STATEFUL_SET, key)) == before
    assert "Adopted" not in conditions(await see.cluster())
