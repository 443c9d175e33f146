"""No deadline expires while a cluster is paused: each one restarts when the cluster resumes.

The deadlines that are counted from a stored time are the rows of `DEADLINES`. A pause drops two
more from the status: the start of a rollout, and the start of an operation. Deadlines of Kubernetes
continue: a pause stops neither Jobs nor kubelets.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.backup import Backup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import FinishedRestoreTest, RestoreTestStatus
from contracts.pause import counted_from, is_paused, pause_acknowledged, resumed_at
from contracts.rfc3339 import rfc3339
from managers.backup.schedule_plan import overdue
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.restore.actions import environment
from managers.restore.guards import (
    bootstrap_late,
    preparation_late,
    recovery_blocked,
    servers_sealed,
)
from managers.restore.inputs import PREPARATION, RecoveryVerdict, RestoreFacts, SnapshotSource
from managers.restore.observe import RestoreObservation
from managers.restore_test.condition import backup_proven
from managers.restore_test.state_machine import decide
from managers.workload.plan import ROLLING_OUT
from managers.workload.rollout.reload import ReloadTarget, split
from managers.workload.scale.hibernate import WAKE_PATIENCE_SECONDS, waking_since
from managers.workload.storage.resize import needs_restart_for_resize
from runtime.outcome import Done, Wait
from tests import gen
from tests.managers.backup.bench import STORE, scheduled
from tests.managers.jobs.statuses import ACTIVE
from tests.managers.restore import situations as restoring
from tests.managers.restore.bench import EXECUTOR
from tests.managers.restore.cases_before import FRESH, MADE, VALIDATING
from tests.managers.restore_test import situations as proving
from tests.managers.workload.rollout.reloads import NEW, POD
from tests.managers.workload.volume_worlds import pods_created_at, waiting, world

NOW = gen.NOW
WEEK = timedelta(days=7)
"""Longer than every deadline, and shorter than a pause may be."""
Late = Callable[[datetime | None], bool]
"""Whether a deadline has passed by now that began a week ago, by when a pause ended."""


def job_does_not_start(resumed: datetime | None) -> bool:
    return replace(ACTIVE, created_at=NOW - WEEK).unstarted(NOW, resumed)


def snapshot_is_overdue(resumed: datetime | None) -> bool:
    wish = Backup.model_validate({"schedule": "0 3 * * *", "target": STORE})
    waits = OpenBaoBackup.from_object(scheduled(NOW - WEEK))
    return overdue(wish, [waits], NOW, resumed).since is not None


def pod_of_a_test_does_not_start(resumed: datetime | None) -> bool:
    begun = proving.run(uid="job-1")
    job = replace(proving.job(), ready=False, created_at=NOW - WEEK)
    situation = proving.situation(proving.backup(test=begun), now=NOW, job=job, resumed=resumed)
    return decide(situation).transition.action == "cancel"


def proof_is_outdated(resumed: datetime | None) -> bool:
    last = FinishedRestoreTest(run="r", outcome="Passed", reason="Restored", finished_at=NOW - WEEK)
    known = RestoreTestStatus(
        last=last, schedule="0 5 * * *", next_scheduled_test=NOW - WEEK
    ).to_object()
    wish = {"schedule": "0 3 * * *", "target": STORE, "restoreTest": {"schedule": "0 5 * * *"}}
    cluster = gen.cluster(backup=wish).with_status(backup={"restoreTest": known})
    update = backup_proven(_resume(cluster, resumed).read(), NOW)
    return update is not None and update.reason == "RestoreTestStale"


def servers_do_not_wake(resumed: datetime | None) -> bool:
    woken = {"type": "Hibernated", "status": "False", "reason": "Waking", "message": ""}
    since = {**woken, "lastTransitionTime": rfc3339(NOW - WEEK)}
    cluster = _resume(gen.cluster().initialized().with_status(conditions=[since]), resumed)
    began = waking_since(cluster.read(), NOW)
    return began is not None and (NOW - began).total_seconds() >= WAKE_PATIENCE_SECONDS


def server_does_not_read_its_files(resumed: datetime | None) -> bool:
    facts = POD.reloading(NEW, asked=int((NOW - WEEK).timestamp())).facts()
    observed = replace(gen.world().facts(), pods=(facts,), resumed_at=resumed)
    return bool(split(observed, (facts,), ReloadTarget(NEW, "c1"), "image").to_replace)


def file_system_does_not_grow(resumed: datetime | None) -> bool:
    there = world(waiting(0, NOW - WEEK))
    pods = pods_created_at(there, NOW - 2 * WEEK)
    return bool(needs_restart_for_resize(replace(there.facts(), pods=pods, resumed_at=resumed)))


def _restoring(resumed: datetime | None, stage: str, **execution: Any) -> RestoreFacts:
    """A restore in a phase, a week after all stored times."""
    return restoring.facts(
        {**restoring.at(stage), "execution": restoring.receipts(stage, **execution)},
        replace(restoring.LOCKED, resumed=_at_the_time_of_restores(resumed)),
        now=restoring.NOW + WEEK,
    )


def _at_the_time_of_restores(resumed: datetime | None) -> datetime | None:
    """The examples about restores have their own current time."""
    return None if resumed is None else restoring.NOW + WEEK + (resumed - NOW)


def restore_is_prepared_for_too_long(resumed: datetime | None) -> bool:
    return preparation_late(_restoring(resumed, "Prepared")) is not None


def fresh_cluster_does_not_come(resumed: datetime | None) -> bool:
    target = replace(MADE, available=False, resumed=_at_the_time_of_restores(resumed))
    later = restoring.NOW + WEEK
    return bootstrap_late(restoring.facts(VALIDATING, target, FRESH, now=later)) is not None


def members_do_not_agree(resumed: datetime | None) -> bool:
    facts = _restoring(resumed, "Recovering", terminalObservedAt=rfc3339(restoring.NOW))
    recovery = RecoveryVerdict("MembersDiffer", "one is lost")
    return recovery_blocked(replace(facts, recovery=recovery)) is not None


def servers_stay_sealed(resumed: datetime | None) -> bool:
    facts = _restoring(resumed, "Recovering", terminalObservedAt=rfc3339(restoring.NOW))
    return servers_sealed(replace(facts, recovery=RecoveryVerdict("Sealed", "x-0 is"))) is not None


DEADLINES: tuple[Late, ...] = (
    job_does_not_start,
    snapshot_is_overdue,
    pod_of_a_test_does_not_start,
    proof_is_outdated,
    servers_do_not_wake,
    server_does_not_read_its_files,
    file_system_does_not_grow,
    restore_is_prepared_for_too_long,
    fresh_cluster_does_not_come,
    members_do_not_agree,
    servers_stay_sealed,
)


def _resume(cluster: gen.Cluster, at: datetime | None) -> gen.Cluster:
    return cluster if at is None else cluster.with_status(resumedAt=rfc3339(at))


@pytest.mark.parametrize("late", DEADLINES, ids=lambda case: case.__name__)
def test_a_deadline_restarts_when_a_pause_ends(late: Late) -> None:
    assert late(None), "without a pause it has passed"
    assert not late(NOW), "the deadline was not exhausted"
    assert late(NOW - WEEK), "and after the pause it counts again"


def test_a_job_after_a_pause_has_its_full_deadline() -> None:
    """The Job of a restore has a deadline."""
    facts = _restoring(NOW, "Committed")
    assert isinstance(facts.source, SnapshotSource)
    observation = RestoreObservation(restoring.restore_object(), facts, None, EXECUTOR)
    env = environment(observation, facts.source)
    assert env.deadline == rfc3339(restoring.NOW + WEEK + PREPARATION)


# --- the two that the pause drops -----------------------------------------------------------------

ROLLED = (
    gen.cluster(replicas=3)
    .initialized("2.3.0")
    .with_status(
        workload={"rollingSince": rfc3339(NOW - WEEK)},
        operation={"kind": "Rolling", "startedAt": rfc3339(NOW - WEEK)},
    )
)
ROLLS = Wait(ROLLING_OUT, "x-2 is replaced")


def _after(cluster: gen.Cluster, outcome: Done | Wait) -> gen.Cluster:
    read = cluster.read()
    status = compute(ReconcileResult(read, gen.running(cluster).facts(), outcome))
    return cluster.with_status(**status.to_object())


def test_a_paused_rollout_is_not_reported_as_stuck() -> None:
    assert _after(ROLLED, ROLLS).read().status.workload == ROLLED.read().status.workload
    paused = compute(
        ReconcileResult(ROLLED.with_spec(paused=True).read(), gen.running(ROLLED).facts(), Done())
    )
    assert paused.workload is None
    resumed = ROLLED.with_status(**{**paused.to_object(), "workload": {}})
    assert gen.present(_after(resumed, ROLLS).read().status.workload).rolling_since == NOW


def test_a_pause_removes_the_step_start_of_an_upgrade() -> None:
    since = rfc3339(NOW - WEEK)
    upgrade = {
        "id": "u1", "phase": "Rolling", "targetVersion": "2.4.0", "fromVersion": "2.3.0",
        "stepStartedAt": since, "startedAt": since, "completedPods": [2],
    }  # fmt: skip
    cluster = ROLLED.with_status(upgrade=upgrade).with_spec(paused=True)
    paused = gen.present(
        compute(ReconcileResult(cluster.read(), gen.running(ROLLED).facts(), Done())).upgrade
    )
    assert paused.step_started_at is None
    assert (paused.phase, paused.completed_pods) == ("Rolling", (2,))


# --- when a pause ended ---------------------------------------------------------------------------

PAUSED = [{"type": "Paused", "status": "True", "reason": "Paused", "message": ""}]

# sentence: (cluster, when the last pause ended)
ENDS: dict[str, tuple[gen.Cluster, datetime | None]] = {
    "it was never paused": (gen.cluster(), None),
    "paused without a condition": (gen.cluster(paused=True), NOW),
    "it is paused": (gen.cluster(paused=True).with_status(conditions=PAUSED), NOW),
    "it resumes at this moment": (gen.cluster().with_status(conditions=PAUSED), NOW),
    "it resumed": (_resume(gen.cluster(), NOW - WEEK), NOW - WEEK),
    "it is paused again": (_resume(gen.cluster(paused=True), NOW - WEEK), NOW),
}


@pytest.mark.parametrize(("cluster", "expected"), ENDS.values(), ids=ENDS)
def test_when_the_last_pause_ended(cluster: gen.Cluster, expected: datetime | None) -> None:
    assert resumed_at(cluster.read(), NOW) == expected


def test_without_a_cluster_there_was_no_pause() -> None:
    assert resumed_at(None, NOW) is None
    assert counted_from(NOW, None) == NOW


def _with_request(cluster: gen.Cluster, at: datetime) -> OpenBaoCluster:
    observed = gen.running(cluster).at(at).facts()
    status = compute(ReconcileResult(cluster.read(), observed, Done()))
    return cluster.with_status(**status.to_object()).read()


def test_the_end_of_a_pause_is_written_once() -> None:
    cluster = gen.cluster().initialized()
    assert _with_request(cluster, NOW).status.resumed_at is None
    cluster_in_pause = cluster.with_spec(paused=True).with_status(conditions=PAUSED)
    still = _with_request(cluster_in_pause, NOW + WEEK)
    assert is_paused(still.status)
    assert still.status.resumed_at is None
    after = _with_request(cluster.with_status(conditions=PAUSED), NOW + WEEK)
    assert not is_paused(after.status)
    assert after.status.resumed_at == NOW + WEEK
    later = _with_request(_resume(cluster, NOW + WEEK), NOW + 2 * WEEK)
    assert later.status.resumed_at == NOW + WEEK


def test_a_pause_is_reported_for_the_current_spec() -> None:
    paused = gen.cluster(paused=True).with_status(conditions=PAUSED, observedGeneration=1)
    assert pause_acknowledged(paused.read())
    assert not pause_acknowledged(paused.with_metadata(generation=2).read())
    assert not pause_acknowledged(gen.cluster(paused=True).with_status(observedGeneration=1).read())
