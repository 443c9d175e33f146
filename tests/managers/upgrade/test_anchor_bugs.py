"""Bugs that keep another operator from completing a rolling upgrade of three servers.

Its January source was run on our rig: none of three attempts completed. Each cause has a test:

| bug | cause |
|---|---|
| U-01 | its reconcilers own the same fields of the status and conflict with each other for ever |
| U-02 | the template changes before the partition is set, so Kubernetes rolls a pod unguarded |
| U-03 | Ready is judged without revision or deletionTimestamp, so an old pod counts as upgraded |
| U-04 | a lost write of the status starts the upgrade twice |
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.records.desired import RolloutProgress
from contracts.records.upgrade import StepDownJob
from managers.cluster.plan.steps import merge_plans
from runtime.builtin_kinds import STATEFUL_SET
from runtime.errors import ServerError
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.bench import STATUS
from tests.managers.upgrade.clusters import WITH_BACKUP
from tests.managers.upgrade.life import NEW, UpgradeLife, serving

# --- U-01: who owns what of the status ------------------------------------------------------------


class Owners:
    """The field managers of each status field, over a whole upgrade."""

    def __init__(self, life: UpgradeLife) -> None:
        self.of: dict[tuple[str, ...], set[str]] = {}
        apply, patch = life.api.apply, life.api.json_patch

        async def noting_apply(resource: Any, body: Object, **more: Any) -> Any:
            if resource == CLUSTERS and more.get("subresource") == "status":
                self.note(more["field_manager"], body["status"])
            return await apply(resource, body, **more)

        async def noting_patch(resource: Any, key: ObjectKey, ops: Any, **more: Any) -> Any:
            for op in ops if resource == CLUSTERS and more.get("subresource") == "status" else ():
                steps = tuple(op["path"].strip("/").split("/"))
                if steps[0] == "status" and op["op"] in ("add", "replace", "remove"):
                    self.of.setdefault(steps[1:2], set()).add(more["field_manager"])
            return await patch(resource, key, ops, **more)

        life.api.apply = noting_apply  # type: ignore[method-assign]
        life.api.json_patch = noting_patch  # type: ignore[method-assign]

    def note(self, manager: str, status: Object) -> None:
        for field in status:
            self.of.setdefault((field,), set()).add(manager)


async def test_u01_each_field_of_the_status_has_one_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a whole upgrade, with its lock and its snapshot.

    The writer omits the fields of other reconcilers (adminOps, backup, restore),
    see tests/managers/cluster/apply/test_status_writer.py; the one writer of the lock is
    managers.operation_lock.
    """
    life = await serving(monkeypatch, **WITH_BACKUP)
    owners = Owners(life)
    life.ask_for(version=NEW)
    await life.until("Snapshot")
    await life.on(2)
    life.end_backup("Completed")
    await life.until_idle()
    assert {("release",), ("upgrade",), ("operationLock",)} <= owners.of.keys()
    assert {field: who for field, who in owners.of.items() if len(who) > 1} == {}


async def test_u01_after_an_upgrade_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reconciles without a change write nothing, so no writer reverts another."""
    life = await serving(monkeypatch)
    life.ask_for(version=NEW)
    await life.until_idle()
    await life.until_quiet()
    for _ in range(5):
        await life.on()
        assert life.writes == []


# --- U-02: the template before the partition ------------------------------------------------------


async def test_u02_no_written_statefulset_rolls_out_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    seen: list[Object] = []
    apply = life.api.apply

    async def noting(resource: Any, body: Object, **more: Any) -> Any:
        if resource == STATEFUL_SET:
            seen.append(copy.deepcopy(body["spec"]))
        return await apply(resource, body, **more)

    life.api.apply = noting  # type: ignore[method-assign]
    life.ask_for(version=NEW)
    await life.until_idle()
    assert seen, "the template changed"
    assert {str(spec["updateStrategy"]) for spec in seen} == {"{'type': 'OnDelete'}"}


async def test_u02_the_template_does_not_change_before_the_lock_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until then, neither the template nor a pod changes."""
    life = await serving(monkeypatch)
    before, status = copy.deepcopy(life.template), life.status
    life.ask_for(version=NEW)
    for _ in range(20):
        status = life.status
        await life.on()
        if life.template != before:
            break
        assert life.gone == []
    assert life.template != before
    assert gen.present(status.operation_lock).operation == "Upgrade"


# --- U-03: which pods count as upgraded -----------------------------------------------------------

NEWEST = gen.cluster(replicas=3).initialized()
MADE = gen.running(NEWEST)


def rollout_progress(*changed: gen.Pod) -> RolloutProgress:
    """The progress in the plan, with a current StatefulSet."""
    ordinals = {pod.ordinal for pod in changed}
    there = MADE.with_pods(*(pod for pod in MADE.pods if pod.ordinal not in ordinals), *changed)
    return gen.present(merge_plans(gen.resolved(NEWEST, there), there.facts()).rollout)


# sentence: (pod 2, the ordinals that count as upgraded)
COUNTED: dict[str, tuple[gen.Pod, tuple[int, ...]]] = {
    "it is new and ready": (MADE.pods[2], (0, 1, 2)),
    "it is ready and outdated": (MADE.pods[2].with_template("before"), (0, 1)),
    "it is new, ready and being deleted": (MADE.pods[2].terminating(), (0, 1)),
    "it is new and not ready": (MADE.pods[2].unready(), (0, 1)),
    "it is ready and has no template hash": (MADE.pods[2].with_template(""), (0, 1)),
}


@pytest.mark.parametrize(("pod", "updated"), COUNTED.values(), ids=COUNTED.keys())
def test_u03_only_a_ready_pod_of_the_newest_template_counts_as_upgraded(
    pod: gen.Pod, updated: tuple[int, ...]
) -> None:
    progress = rollout_progress(pod)
    assert progress.updated == updated
    assert progress.complete is (len(updated) == 3)


def test_u03_no_pod_counts_as_upgraded_with_a_stale_stateful_set_status() -> None:
    """Its revision is that of the former template, independent of the pods."""
    live = gen.present(MADE.stateful_set)
    behind = MADE.with_set(live.with_stale_status())
    progress = gen.present(merge_plans(gen.resolved(NEWEST, behind), behind.facts()).rollout)
    assert (progress.updated, progress.complete) == ((), False)


async def test_u03_the_leader_is_asked_to_step_down_only_when_it_is_the_last_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An early step-down would happen for each pod; here the leader changes once."""
    life = await serving(monkeypatch)
    life.ask_for(version=NEW)
    leaders = [life.leads]
    for _ in range(60):
        await life.on()
        if life.leads != leaders[-1]:
            leaders.append(life.leads)
            assert life.upgrade.completed_pods == (2, 1)
        if life.status.upgrade is None and life.gone:
            break
    assert len(leaders) == 2
    assert life.gone[-1] == leaders[0]


# --- U-04: a write of the status that is lost -----------------------------------------------------


class LossyWrites:
    """Loses one status write: either the request or the response."""

    def __init__(self, life: UpgradeLife, number: int, *, arrives: bool) -> None:
        self.count = 0
        apply = life.api.apply

        async def lossy(resource: Any, body: Object, **more: Any) -> Any:
            is_status = resource == CLUSTERS and more.get("subresource") == "status"
            self.count += is_status
            lost = is_status and self.count == number
            if lost and not arrives:
                raise api_error(500)
            done = await apply(resource, body, **more)
            if lost:
                raise api_error(500)
            return done

        life.api.apply = lossy  # type: ignore[method-assign]


async def _finish(life: UpgradeLife) -> None:
    for _ in range(80):
        try:
            await life.on()
        except ServerError:
            continue
        done = life.status.upgrade is None and life.status.current_version == NEW
        if done and life.status.operation_lock is None:
            return
    raise AssertionError(f"still at {life.status.upgrade}")


@pytest.mark.parametrize("arrives", [False, True], ids=["never arrives", "has no response"])
@pytest.mark.parametrize("number", range(1, 9))
async def test_u04_a_lost_write_of_the_status_restarts_no_pod_twice(
    monkeypatch: pytest.MonkeyPatch, number: int, arrives: bool
) -> None:
    life = await serving(monkeypatch)
    losing = LossyWrites(life, number, arrives=arrives)
    life.ask_for(version=NEW)
    await _finish(life)
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert life.status.operation_lock_epoch == 1, "the lock was taken once"
    await life.until_quiet()
    assert losing.count >= number, "the number of writes of an upgrade"


async def test_u04_nothing_starts_before_the_start_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decision that was not stored has no effect: no template, no pod, no second lock."""
    life = await serving(monkeypatch)
    before = copy.deepcopy(life.template)
    life.ask_for(version=NEW)
    for _ in range(5):
        life.api.refuse(STATUS, api_error(500))
        with pytest.raises(ServerError):
            await life.turn()
        await life.outside.clock.advance(5.0)
    assert life.status.upgrade is None
    assert (life.gone, life.template) == ([], before)
    await _finish(life)
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert life.status.operation_lock_epoch == 1


# --- U-05: a Job of another upgrade ---------------------------------------------------------------


def test_u05_no_upgrade_uses_the_job_of_another() -> None:
    """Jobs exist for an hour: a second upgrade or a retry uses other names."""
    first, second = StepDownJob("x", "0123456789"), StepDownJob("x", "9876543210")
    pods = ("uid-a", "uid-b")
    assert len({operator.job(pod) for operator in (first, second) for pod in pods}) == 4
    assert first.job("uid-a") == StepDownJob("x", "0123456789").job("uid-a")


async def test_u05_each_upgrade_has_its_own_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """So does each retry: test_life.py, test_a_retry_request_is_handled_once."""
    life = await serving(monkeypatch, upgrade={})
    seen = []
    for version in (NEW, "2.4.2"):
        life.ask_for(version=version)
        await life.until("Rolling")
        seen.append(life.upgrade.id)
        await life.until_idle()
    assert seen[0] != seen[1]
