"""managers.restore.reconcile: the lifecycle of a restore, with a crash at every write."""

import itertools
from contextlib import suppress
from typing import Any

import pytest

from contracts.api.group import CLUSTERS, RESTORES
from contracts.jobs.env import RestoreEnv
from contracts.naming import labels
from managers.operation_lock.client import OperationLocks
from managers.operation_lock.decide import LockRequest
from managers.restore.inputs import CONVERGENCE
from managers.restore.reconcile import FINALIZER
from runtime.builtin_kinds import JOB, NETWORK_POLICY, ROLE, ROLE_BINDING
from runtime.controller.finalizer import Superseded
from runtime.errors import Conflict, TransportError
from runtime.outcome import Blocked, Done, Wait
from runtime.types import uid_of
from tests import gen
from tests.managers.cluster.dying_operator import OneWritePerLife
from tests.managers.restore.bench import CLUSTER, JOB_KEY, RESTORE, Bench, Mirror, ProcessKilled
from tests.managers.restore.situations import UID

CREATES_JOB = "create Job restore-monday"


async def finish(bench: Bench) -> None:
    """Let the job send the snapshot, and reconcile until the restore is complete."""
    await bench.claim()
    await bench.report("Succeeded", message="done")
    for _ in range(3):
        await bench.look()


async def started() -> Bench:
    bench = Bench()
    await bench.look()
    return bench


async def test_a_restore_from_its_beginning_to_its_end() -> None:
    bench = Bench()
    assert isinstance(await bench.look(), Wait)
    assert FINALIZER in bench.live["metadata"]["finalizers"]
    assert (bench.status["phase"], bench.stage) == ("Running", "Created")
    execution = bench.status["execution"]
    assert execution["jobUID"] == uid_of(gen.present(bench.job))
    assert execution["targetUID"] == "uid-x"
    assert bench.lock is not None
    assert bench.lock["holder"] == "openbaorestore/monday"
    assert execution["lockEpoch"] == bench.lock["epoch"]

    writes = list(bench.api.writes)
    for _ in range(5):
        await bench.look()
    assert bench.api.writes == writes, "while it waits"

    await finish(bench)
    await _check_completed(bench)
    bench.api.calls.clear()
    assert isinstance(await bench.look(), Done)
    assert bench.api.take_requests() == [], "once it has ended"


async def _check_completed(bench: Bench) -> None:
    assert bench.status["phase"] == "Completed"
    assert (bench.reason(), bench.reason("RecoveryReleased")) == (
        "RestoreSucceeded",
        "RecoveryReleased",
    )
    assert bench.lock is None
    assert bench.job is not None
    assert bench.cluster_status["restore"]["uid"] == UID
    assert "restartCompletedAt" in bench.cluster_status["restore"]
    assert bench.job["spec"]["ttlSecondsAfterFinished"] == 3600
    for resource in (ROLE, ROLE_BINDING, NETWORK_POLICY):
        assert not bench.api.of(resource)


async def test_the_servers_are_restarted_only_when_all_have_the_data() -> None:
    bench = await started()
    bench.servers.index = 6
    await finish(bench)
    assert bench.stage == "Recovering"
    assert "have the data of the leader x-0: x-0" in bench.status["message"]
    assert "restore" not in bench.cluster_status, "no restart is requested yet"
    assert bench.lock is not None
    bench.servers.index = 7
    await bench.look()
    await _check_completed(bench)


async def test_a_server_without_the_data_is_reported_and_a_user_can_resume() -> None:
    bench = await started()
    bench.servers.index = 6
    await finish(bench)
    await bench.clock.advance(CONVERGENCE.total_seconds())
    assert isinstance(await bench.look(), Blocked)
    assert bench.reason() == "RecoveryBlocked"
    assert f"{UID}/Resume" in bench.status["message"]
    bench.annotate(**{labels.RESTORE_ACKNOWLEDGE: f"{UID}/Resume"})
    await bench.look()
    await _check_completed(bench)


async def test_a_restore_deleted_during_replication_stays_until_all_have_the_data() -> None:
    bench = await started()
    bench.servers.index = 6
    await finish(bench)
    assert isinstance(await deleted(bench), Wait)
    assert bench.lock is not None
    bench.servers.index = 7
    await deleted(bench)
    assert bench.cluster_status["restore"]["uid"] == UID
    assert bench.lock is None


async def completed(kill: "tuple[str, int] | None") -> Bench:
    """Run a whole restore. `kill`: before or after which write the process is killed once."""
    bench = Bench()
    if kill is not None:
        setattr(bench.api, f"kill_{kill[0]}", kill[1])
    reported = False
    for _ in range(12):
        try:
            await bench.look()
        except ProcessKilled:
            continue
        if bench.stage == "Created" and not reported:
            reported = True
            await bench.claim()
            await bench.report("Succeeded")
    return bench


async def test_a_crash_at_any_write_does_not_change_the_result() -> None:
    uninterrupted = await completed(None)
    count = len(uninterrupted.api.writes)
    assert count > 10
    for kill in itertools.product(("before", "after"), range(1, count + 1)):
        bench = await completed(kill)
        assert bench.status.get("phase") == "Completed", (kill, bench.status)
        assert bench.lock is None, kill
        assert bench.api.writes.count(CREATES_JOB) <= 2, kill
        assert len(bench.api.of(JOB)) == 1, kill
        fields = bench.status.keys() - {"conditions"}
        assert fields == uninterrupted.status.keys() - {"conditions"}, kill


@pytest.mark.parametrize("period", [1.0, 90.0], ids=["quick", "back-off"])
async def test_an_operator_with_one_write_per_life_completes_a_restore(period: float) -> None:
    bench, reported = Bench(), False
    operator = OneWritePerLife(bench.api)
    for _ in range(40):
        with suppress(TransportError):
            await bench.look()
        if not operator.crashed:
            break
        operator.restarted()
        await bench.clock.advance(period)
        if bench.stage == "Created" and not reported:
            reported = True
            for write in (bench.claim(), bench.report("Succeeded")):
                with suppress(TransportError):
                    await write
                operator.restarted()
    assert bench.status.get("phase") == "Completed", operator.writes
    assert bench.lock is None
    assert operator.writes.count(CREATES_JOB) == 1


async def test_a_job_that_ends_before_the_claim_fails_the_restore() -> None:
    bench = await started()
    bench.end_job("Failed")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "RestoreFailed")
    assert "before it sent the snapshot" in bench.status["message"]
    assert bench.lock is None


async def test_a_job_that_ends_after_the_claim_leaves_the_restore_unknown() -> None:
    bench = await started()
    await bench.claim()
    bench.end_job("Failed")
    await bench.look()
    await bench.look()
    assert isinstance(await bench.look(), Blocked)
    assert (bench.status["phase"], bench.reason()) == ("Unknown", "RestoreExecutionUnknown")
    assert bench.api.writes.count(CREATES_JOB) == 1
    assert bench.lock is not None, "it keeps the lock until a user decides"
    assert f"{UID}/Resume" in bench.status["message"]


async def unknown() -> Bench:
    bench = await started()
    await bench.claim()
    bench.api.objects.pop((JOB, JOB_KEY))
    await bench.look()
    assert bench.status["phase"] == "Unknown"
    return bench


async def test_a_user_resumes_it() -> None:
    bench = await unknown()
    bench.annotate(**{labels.RESTORE_ACKNOWLEDGE: f"{UID}/Resume"})
    await bench.look()
    assert (bench.status["phase"], bench.status["administratorDisposition"]) == (
        "Completed",
        "Resume",
    )
    assert bench.lock is None


async def test_a_user_abandons_it() -> None:
    bench = await unknown()
    bench.annotate(**{labels.RESTORE_ACKNOWLEDGE: f"{UID}/Abandon"})
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "RestoreAbandoned")
    assert bench.status["administratorDisposition"] == "Abandon"
    assert bench.lock is None
    assert "restore" not in bench.cluster_status


@pytest.mark.parametrize("word", ["other/Resume", f"{UID}/resume", "Resume", f"{UID}/"])
async def test_an_invalid_annotation_decides_nothing_and_is_reported(word: str) -> None:
    bench = await unknown()
    bench.annotate(**{labels.RESTORE_ACKNOWLEDGE: word})
    await bench.look()
    assert bench.status["phase"] == "Unknown"
    assert f"{labels.RESTORE_ACKNOWLEDGE}: {word} is not valid" in bench.status["message"]


async def test_a_late_report_of_the_job_is_accepted() -> None:
    bench = await started()
    await bench.claim()
    bench.end_job("Complete")
    await bench.look()
    assert bench.status["phase"] == "Unknown"
    await bench.report("Succeeded")
    await bench.look()
    assert bench.status["phase"] == "Completed"


async def test_a_claim_and_the_end_of_the_restore_exclude_each_other() -> None:
    """The operator read no claim and decides to end the restore; the job claims in between."""
    bench = await started()
    bench.end_job("Failed")
    bench.api.meanwhile = bench.claim
    assert isinstance(await bench.look(), Wait)
    assert (bench.status["phase"], bench.stage) == ("Running", "Created"), "the write conflicts"
    await bench.look()
    assert bench.status["phase"] == "Unknown"


async def test_a_job_of_an_older_version_of_the_object_cannot_claim() -> None:
    bench = await started()
    stale = bench.live["metadata"]["resourceVersion"]
    bench.end_job("Failed")
    await bench.look()
    body = {
        "apiVersion": bench.live["apiVersion"],
        "kind": bench.live["kind"],
        "metadata": {**RESTORE._asdict(), "uid": UID, "resourceVersion": stale},
        "status": {"submissionClaim": {}},
    }
    with pytest.raises(Conflict):
        await bench.api.apply(
            RESTORES, body, field_manager="job", force=False, subresource="status"
        )


# --- the lock -----------------------------------------------------------------------------------


async def hold(bench: Bench, claim: LockRequest) -> OperationLocks:
    locks = OperationLocks(bench.api, Mirror(bench.api, CLUSTERS), bench.clock)
    await locks.acquire(CLUSTER, claim, uid="uid-x")
    return locks


BACKUP = LockRequest("Backup", "openbaobackup/nightly", "Job backup-nightly")


async def test_it_waits_for_the_lock_and_names_its_holder() -> None:
    bench = Bench()
    locks = await hold(bench, BACKUP)
    assert isinstance(await bench.look(), Wait)
    assert (bench.status["phase"], bench.reason()) == ("Validating", "OperationLockBlocked")
    assert "Backup of openbaobackup/nightly (Job backup-nightly)" in bench.status["message"]
    await locks.release(CLUSTER, BACKUP.holder, uid="uid-x")
    await bench.look()
    assert bench.stage == "Created"


async def test_it_overrides_the_lock_and_reports_that() -> None:
    bench = Bench(force=True, overrideOperationLock=True)
    await hold(bench, BACKUP)
    await bench.look()
    assert bench.stage == "Created"
    assert bench.reason("OperationLockOverride") == "OperationLockOverridden"
    assert gen.present(bench.lock)["holder"] == "openbaorestore/monday"


async def test_a_second_restore_never_overrides_the_lock_of_the_first() -> None:
    bench = Bench(force=True, overrideOperationLock=True)
    await hold(bench, LockRequest("Restore", "openbaorestore/tuesday"))
    assert gen.expect(Wait, await bench.look()).reason == "OperationLockBlocked"


# --- deletion -----------------------------------------------------------------------------------


async def deleted(bench: Bench) -> Any:
    bench.live["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    outcome = None
    for _ in range(3):
        if not bench.live["metadata"].get("finalizers"):
            break
        try:
            outcome = await bench.look()
        except Superseded:
            # The object changed while the finalizer was removed: try again.
            continue
    return outcome


async def test_a_deleted_restore_releases_the_lock() -> None:
    bench = await started()
    await deleted(bench)
    assert bench.live["metadata"]["finalizers"] == []
    assert bench.lock is None
    assert bench.status["phase"] == "Failed", "from now on its job may not claim"


async def test_a_deleted_restore_stays_while_its_job_sends() -> None:
    bench = await started()
    await bench.claim()
    assert isinstance(await deleted(bench), Wait)
    assert bench.lock is not None


# --- validation ---------------------------------------------------------------------------------


async def test_an_uninitialized_cluster_fails_without_force() -> None:
    bench = Bench(gen.cluster())
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "TargetNotInitialized")
    assert bench.lock is None


async def test_a_missing_login_fails_and_releases_the_lock() -> None:
    bench = Bench()
    bench.job_templates.answer = Blocked("AuthenticationRequired", "no role")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "AuthenticationRequired")
    assert bench.lock is None


async def test_another_reason_is_mapped_to_a_reason_of_a_restore() -> None:
    bench = Bench()
    bench.job_templates.answer = Wait("ImageRegistryUnavailable", "no answer", 3.0)
    assert isinstance(await bench.look(), Wait)
    assert bench.reason() == "JobPrerequisiteMissing"


# --- the job ------------------------------------------------------------------------------------


def env_of(bench: Bench) -> RestoreEnv:
    container = gen.present(bench.job)["spec"]["template"]["spec"]["containers"][0]
    environment = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    return RestoreEnv.from_environment(environment)


async def test_the_environment_of_the_job() -> None:
    bench = Bench(jwtAuthRole="mine", source={
        "target": {"provider": "s3", "endpoint": "https://s3.example.com", "bucket": "b"},
        "key": "a/b.snap", "expectedDigest": "sha256:" + "1" * 64, "expectedSize": 7,
    })  # fmt: skip
    await bench.look()
    assert bench.job_templates.overrides.role == "mine"
    env = env_of(bench)
    assert (env.run.uid, env.run.resource, env.key) == (UID, "openbaorestores", "a/b.snap")
    assert (env.expected_digest, env.expected_size) == ("sha256:" + "1" * 64, 7)
    assert env.expected_seal.startswith("static:")
    assert not env.force
    assert env.deadline
    assert gen.present(bench.job)["spec"]["backoffLimit"] == 0
    assert bench.api.of(NETWORK_POLICY)


async def test_with_force_the_seal_is_left_to_the_server() -> None:
    bench = Bench(force=True)
    await bench.look()
    env = env_of(bench)
    assert (env.force, env.expected_seal) == (True, "")
