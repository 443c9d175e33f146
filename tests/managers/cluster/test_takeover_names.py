"""Reused names: volumes and revisions of an earlier pool, in a complete upgrade."""

from __future__ import annotations

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from runtime.builtin_kinds import PVC
from tests import gen
from tests.managers.cluster.bench import KEY
from tests.managers.cluster.takeover import NEW, Takeover

GREEN = ServerPool("x", revision_of(Release(NEW), 3))


async def test_a_volume_of_an_earlier_cluster_is_never_deleted_and_never_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Takeover(monkeypatch)
    await world.boot()
    name = GREEN.data_claim(0)
    metadata = {
        "name": name,
        "namespace": gen.NAMESPACE,
        "uid": "uid-of-its-own",
        "labels": labels.base("x"),
        "annotations": {labels.OWNER_UID: "uid-of-a-former-cluster"},
    }
    volume = {"metadata": metadata, "spec": {}, "status": {"phase": "Bound"}}
    world.api.with_objects((PVC, volume))
    world.ask_for(version=NEW)
    for _ in range(6):
        await world.turn()
    assert name not in {deleted for deleted, _ in world.deletions}
    assert "greenRevision" not in world.status.get("blueGreen", {})
    assert world.bench.condition("Stalled") == ("True", "BlueGreenHold")
    messages = [c["message"] for c in world.status["conditions"] if c["type"] == "Stalled"]
    assert f"kubectl delete pvc {name}" in messages[0]


async def test_a_reused_release_gets_a_new_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = (f"registry.example.com/{name}:2.4.0" for name in "abc")
    world = Takeover(monkeypatch, image=first)
    await world.boot()
    world.ask_for(image=second)
    await world.settle()
    before = world.status["blueGreen"]["blueRevision"]
    upgrade = world.api.objects[(CLUSTERS, KEY)]["spec"]["upgrade"]
    world.ask_for(image=third, upgrade={**upgrade, "strategy": "RollingUpdate"})
    for _ in range(40):
        await world.turn()
    assert world.status["release"]["image"] == third
    world.forget()
    world.ask_for(image=second, upgrade=upgrade)
    await world.settle()
    assert world.status["release"]["image"] == second
    assert world.status["blueGreen"]["blueRevision"] != before


async def test_no_server_is_replaced_for_a_changed_join_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenBao 2.5.0 to 2.5.4 exit when they reload their files, so pods would be replaced."""
    world = Takeover(monkeypatch)
    await world.boot()
    world.ask_for(version="2.5.1")
    await world.settle()
    assert world.status["currentVersion"] == "2.5.1"
    assert "PodReplaced" not in world.event_reasons
