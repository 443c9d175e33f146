"""The accepted release with a lost or wrong status: the servers are the evidence (M4)."""

import copy
from typing import Any

import pytest

from managers.cluster.observe.status_evidence import RELEASE_ASSUMED, STATUS_CORRECTED
from managers.operation_lock.holders import UPGRADE_HOLDER
from runtime.builtin_kinds import STATEFUL_SET
from tests import gen
from tests.managers.cluster.lost_status import KEY, NEW, OLD, WatchedCluster, healthy, pod_key
from tests.managers.upgrade.clusters import WITH_BACKUP

OLDER = "2.3.9"
LONG_AGO = {"release": {"version": OLDER}, "currentVersion": OLDER, "initialized": True}


def whole(status: Any) -> None:
    """Lose the whole status. The adminops reconciler, which is not here, restores its login."""
    status.clear()
    status["adminOps"] = {"operatorLogin": {"rootTokenSecret": "uid-secret/1"}}


async def test_a_lost_status_upgrades_no_server_without_the_lock(seen: WatchedCluster) -> None:
    seen.write_status(whole)
    seen.life.ask_for(version=NEW)
    await seen.passes(3)
    assert seen.broken == []
    assert gen.present(seen.life.status.operation_lock).holder == UPGRADE_HOLDER
    await seen.passes(60)
    assert (seen.broken, seen.life.status.current_version) == ([], NEW)
    assert seen.life.status.upgrade is None
    assert seen.life.gone == ["x-2", "x-1", "x-0"]


async def test_a_lost_status_does_not_skip_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = await healthy(monkeypatch, **WITH_BACKUP)
    seen.write_status(whole)
    seen.life.ask_for(version=NEW)
    await seen.life.until("Snapshot")
    await seen.passes()
    assert seen.broken == []
    assert (seen.life.gone, seen.life.version) == ([], OLD)
    assert len(seen.life.backups()) == 1


async def test_a_lost_status_allows_no_downgrade(seen: WatchedCluster) -> None:
    seen.write_status(whole)
    seen.life.ask_for(version=OLDER)
    await seen.passes()
    assert (seen.broken, seen.life.version, seen.life.gone) == ([], OLD, [])
    assert seen.life.condition("Upgrading") == ("False", "DowngradeBlocked")
    assert seen.life.condition("Available") == ("True", "AllReplicasReady")


# name: the release in the status instead
WRONG: dict[str, dict[str, Any]] = {
    "a newer one": {"release": {"version": "2.9.9"}},
    "an older one": {"release": {"version": OLDER}},
    "as a month ago": LONG_AGO,
    "a month ago, in the middle of an upgrade": {
        **LONG_AGO,
        "upgrade": {
            "id": "0123456789",
            "phase": "Rolling",
            "targetVersion": OLDER,
            "fromVersion": "2.3.0",
        },
    },
    "a prepared upgrade in phase Rolling": {
        "upgrade": {"phase": "Rolling", "targetVersion": "2.9.9", "fromVersion": OLD}
    },
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
async def test_a_release_that_nobody_runs_is_ignored(
    seen: WatchedCluster, values: dict[str, Any]
) -> None:
    seen.edit(values)
    await seen.passes(20)
    assert (seen.broken, seen.life.gone, seen.life.version) == ([], [], OLD)
    status = seen.life.status
    assert (gen.present(status.release).version, status.current_version) == (OLD, OLD)
    assert (status.upgrade, status.operation_lock) == (None, None)


async def halfway(monkeypatch: pytest.MonkeyPatch) -> WatchedCluster:
    """One of three servers has the new version."""
    seen = await healthy(monkeypatch)
    seen.life.ask_for(version=NEW)
    for _ in range(40):
        await seen.life.on()
        if seen.life.gone:
            break
    assert seen.life.gone == ["x-2"]
    return seen


@pytest.mark.parametrize("fields", [(), ("upgrade",), ("upgrade", "release"), ("release",)])
async def test_a_rollout_with_a_lost_status_continues_under_the_lock(
    fields: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = await halfway(monkeypatch)
    seen.lose(*fields)
    await seen.passes(2)
    upgrade, lock = seen.life.status.upgrade, seen.life.status.operation_lock
    assert upgrade is not None
    assert (upgrade.phase, upgrade.from_version, upgrade.target_version) == ("Rolling", OLD, NEW)
    assert gen.present(lock).holder == UPGRADE_HOLDER
    await seen.passes(40)
    assert seen.broken == []
    assert seen.life.gone == ["x-2", "x-1", "x-0"]
    assert (seen.life.status.upgrade, seen.life.status.operation_lock) == (None, None)


async def test_an_old_status_does_not_revert_a_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = await halfway(monkeypatch)
    seen.lose()
    seen.edit({"release": {"version": OLD}, "currentVersion": OLD, "initialized": True})
    await seen.passes(40)
    assert seen.broken == []
    assert seen.life.gone == ["x-2", "x-1", "x-0"]
    assert seen.life.version == NEW


async def test_a_template_of_another_writer_is_not_a_release(seen: WatchedCluster) -> None:
    live = copy.deepcopy(seen.api.objects[(STATEFUL_SET, KEY)])
    live["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/evil:2.9.9"
    seen.api.with_objects((STATEFUL_SET, live))
    seen.lose("release")
    await seen.life.on(3)
    status = seen.life.status
    assert gen.present(status.release).version == OLD


async def test_without_an_image_version_the_label_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = f"example.com/bao@sha256:{'a' * 64}"
    seen = await healthy(monkeypatch, image=digest)
    seen.write_status(whole)
    seen.life.ask_for(version=NEW, image=f"example.com/bao@sha256:{'b' * 64}")
    await seen.life.on()
    status = seen.life.status
    assert status.release is not None
    assert (status.release.version, status.release.image) == (OLD, digest)
    assert status.upgrade is not None
    assert (status.upgrade.from_version, status.upgrade.target_version) == (OLD, NEW)


async def test_another_image_of_the_same_version_is_not_taken_from_a_status(
    seen: WatchedCluster,
) -> None:
    seen.edit({"release": {"version": OLD, "image": f"example.com/evil:{OLD}"}})
    await seen.passes()
    assert seen.life.gone == []
    assert gen.present(seen.life.status.release).image is None


async def test_pods_alone_are_evidence_without_a_stateful_set(seen: WatchedCluster) -> None:
    del seen.api.objects[(STATEFUL_SET, KEY)]
    seen.write_status(whole)
    seen.life.ask_for(version=NEW)
    await seen.life.turn()
    assert seen.life.version == OLD
    assert seen.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"] == 3


async def test_volumes_alone_start_with_the_release_of_the_spec_and_an_event(
    seen: WatchedCluster,
) -> None:
    del seen.api.objects[(STATEFUL_SET, KEY)]
    for ordinal in range(3):
        del seen.api.objects[pod_key(ordinal)]
    seen.write_status(whole)
    await seen.life.turn()
    live = seen.api.objects[(STATEFUL_SET, KEY)]
    # Not another first boot: three servers on their three volumes.
    assert live["spec"]["replicas"] == 3
    assert "init" not in {volume["name"] for volume in live["spec"]["template"]["spec"]["volumes"]}
    assert seen.life.status.initialized
    assert RELEASE_ASSUMED in [reason for _, reason, _ in await seen.life.outside.flush_events()]


async def test_a_correction_is_reported_once(seen: WatchedCluster) -> None:
    seen.edit(LONG_AGO)
    await seen.passes(5)
    events = await seen.life.outside.flush_events()
    (message,) = [message for _, reason, message in events if reason == STATUS_CORRECTED]
    assert f"status.release was {OLDER}, but the StatefulSet and its pods show {OLD}" in message
