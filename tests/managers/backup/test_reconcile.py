"""managers.backup.reconcile: one backup takes one snapshot, also after a crash."""

import pytest

from contracts.api.group import BACKUPS, CLUSTERS
from contracts.conditions.reasons_backup import FAILURES
from runtime.builtin_kinds import JOB, NETWORK_POLICY, ROLE, ROLE_BINDING
from runtime.errors import status_error
from runtime.outcome import Done, Wait
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import api_error
from tests.managers.backup.bench import STORE, Bench, by_hand, cluster
from tests.managers.backup.runs import running

NAME, JOB_NAME = "by-hand", "backup-by-hand"


class TestLifecycle:
    async def test_a_backup_takes_the_lock_and_creates_its_job(self) -> None:
        bench = Bench(None, by_hand())
        await bench.run()
        assert bench.phase() == ("Running", "BackupRunning")
        assert bench.holder == "openbaobackup/by-hand"
        assert bench.jobs == [JOB_NAME]
        status = bench.status()
        assert status["jobUID"] == bench.uid(JOB, JOB_NAME)
        assert (status["clusterUID"], status["lockEpoch"]) == ("uid-x", 1)
        assert status["key"].startswith("prod/ns/x/2030-01-01T00-00-00Z-")

    async def test_the_environment_of_the_job(self) -> None:
        bench = await running()
        (container,) = bench.object(JOB, JOB_NAME)["spec"]["template"]["spec"]["containers"]
        env = {variable["name"]: variable.get("value") for variable in container["env"]}
        assert env["BACKUP_KEY"] == bench.status()["key"]
        assert env["RUN_RESOURCE"] == "openbaobackups"
        assert (env["RUN_NAME"], env["RUN_UID"]) == (NAME, "uid-by-hand")
        assert env["BACKUP_SEAL_FINGERPRINT"].startswith("static:")

    async def test_the_order_of_the_writes(self) -> None:
        bench = Bench(None, by_hand())
        await bench.run()
        writes = bench.writes()
        order = [
            "patch OpenBaoCluster x",
            "apply/status OpenBaoBackup by-hand",
            f"create Role {JOB_NAME}",
            f"create RoleBinding {JOB_NAME}",
            f"create NetworkPolicy {JOB_NAME}",
            f"create Job {JOB_NAME}",
            "apply/status OpenBaoBackup by-hand",
        ]
        assert writes == order

    async def test_only_a_store_without_a_login_opens_the_metadata_of_a_cloud(self) -> None:
        bench = Bench(cluster(target={**STORE, "credentialsSecretRef": {"name": "s"}}), by_hand())
        await bench.run()
        assert bench.jobs == [JOB_NAME]
        assert bench.api.of(NETWORK_POLICY) == []

    async def test_the_report_completes_it(self) -> None:
        bench = await running()
        bench.report()
        assert await bench.run() == Done()
        status = bench.status()
        assert bench.phase() == ("Completed", "BackupCompleted")
        assert status["snapshot"]["key"] == status["key"]
        assert status["snapshot"]["digest"].startswith("sha256:")
        assert status["completedAt"] == "2030-01-01T00:00:00Z"
        assert bench.holder == ""
        assert bench.object(JOB, JOB_NAME)["spec"]["ttlSecondsAfterFinished"] == 3600
        for resource in (ROLE, ROLE_BINDING, NETWORK_POLICY):
            assert bench.api.of(resource) == []
        (condition,) = status["conditions"]
        assert (condition["type"], condition["status"]) == ("Completed", "True")

    async def test_a_finished_backup_causes_no_requests(self) -> None:
        bench = await running()
        bench.report()
        await bench.run()
        bench.api.calls.clear()
        for _ in range(100):
            assert await bench.run() == Done()
        assert bench.api.take_requests() == []

    async def test_a_running_backup_is_read_and_not_written(self) -> None:
        bench = await running()
        for _ in range(100):
            assert gen.expect(Wait, await bench.run()).after == 5.0
        assert bench.writes() == []

    async def test_the_lock_is_renewed_once_a_minute(self) -> None:
        bench = await running()
        bench.change(JOB, JOB_NAME, status={"active": 1, "ready": 1})
        for _ in range(4):
            await bench.clock.advance(30)
            await bench.run()
        assert bench.writes() == ["patch OpenBaoCluster x"] * 2

    async def test_each_phase_causes_one_event(self) -> None:
        bench = await running()
        bench.report()
        await bench.run()
        await bench.run()
        kinds = [(kind, reason) for kind, reason, _ in await bench.outside.flush_events()]
        assert kinds == [("Normal", "BackupStarted"), ("Normal", "BackupCompleted")]


# failure in the report, reason of the backup
CLASSES = [(item, reason) for item, reason in FAILURES.items() if item is not None]


class TestFailures:
    @pytest.mark.parametrize(("failure", "reason"), CLASSES)
    async def test_each_class_has_its_reason(self, failure: str, reason: str) -> None:
        bench = await running()
        bench.report(outcome="Failed", failure=failure, message="why it was")
        await bench.run()
        assert bench.phase() == ("Failed", reason)
        assert (bench.status()["message"], bench.holder) == ("why it was", "")
        _, (kind, event, note) = await bench.outside.flush_events()
        assert (kind, event, note) == ("Warning", "BackupFailed", f"{reason}: why it was")

    async def test_the_report_of_another_job_is_ignored(self) -> None:
        bench = await running()
        bench.report(jobUID="another")
        await bench.run()
        assert bench.phase() == ("Running", "BackupRunning")

    async def test_a_job_that_failed_without_a_report(self) -> None:
        bench = await running()
        bench.end_job(JOB_NAME, "Failed", "DeadlineExceeded")
        await bench.run()
        assert bench.phase() == ("Failed", "JobFailed")
        assert "DeadlineExceeded" in bench.status()["message"]
        assert bench.holder == ""

    async def test_a_deleted_job_leaves_the_outcome_unknown(self) -> None:
        """The operator was down for longer than the Job was kept."""
        bench = await running()
        bench.delete(JOB, JOB_NAME)
        await bench.clock.advance(2 * 3600)
        bench.restart()
        await bench.run()
        assert bench.phase() == ("Unknown", "OutcomeUnknown")
        assert "snapshot" not in bench.status()
        assert bench.holder == ""

    async def test_a_job_that_succeeded_without_a_report(self) -> None:
        bench = await running()
        bench.end_job(JOB_NAME, "Complete")
        await bench.run()
        assert bench.phase() == ("Unknown", "OutcomeUnknown")

    async def test_a_report_that_is_not_in_the_cache_yet_is_read(self) -> None:
        bench = await running()
        bench.sync()
        bench.report()
        bench.end_job(JOB_NAME, "Complete")
        assert await bench.reconcile(ObjectKey(gen.NAMESPACE, NAME)) == Done()
        assert bench.phase() == ("Completed", "BackupCompleted")

    async def test_a_pod_that_never_starts_holds_the_lock_for_ten_minutes(self) -> None:
        bench = Bench(None, by_hand())
        await bench.run()
        born = {**bench.object(JOB, JOB_NAME)["metadata"]}
        bench.change(JOB, JOB_NAME, metadata={**born, "creationTimestamp": "2030-01-01T00:00:00Z"})
        await bench.clock.advance(120)
        await bench.run()
        assert "no running pod yet" in bench.status()["message"]
        await bench.clock.advance(600)
        await bench.run()
        assert (bench.phase(), bench.jobs) == (("Failed", "JobNotStarted"), [])
        assert bench.holder == ""

    async def test_a_pod_that_is_stopped_after_ten_minutes_may_still_report(self) -> None:
        """The deadline of its Job has passed, or it is evicted: it has 30 seconds to report."""
        bench = await running()
        born = {**bench.object(JOB, JOB_NAME)["metadata"]}
        bench.change(JOB, JOB_NAME, metadata={**born, "creationTimestamp": "2030-01-01T00:00:00Z"})
        await bench.clock.advance(1200)
        bench.change(JOB, JOB_NAME, status={"ready": 0, "terminating": 1})
        await bench.run()
        assert bench.phase() == ("Running", "BackupRunning")
        assert "waits for its report" in bench.status()["message"]
        assert (bench.jobs, len(bench.api.of(ROLE))) == ([JOB_NAME], 1)
        bench.report()
        await bench.run()
        assert bench.phase() == ("Completed", "BackupCompleted")

    async def test_a_foreign_job_of_that_name_is_not_changed(self) -> None:
        foreign: Object = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": JOB_NAME, "namespace": gen.NAMESPACE, "uid": "theirs"},
        }
        bench = Bench(None, by_hand())
        bench.api.with_objects((JOB, foreign))
        await bench.run()
        assert bench.phase() == ("Failed", "ForeignObject")
        assert (bench.uid(JOB, JOB_NAME), bench.holder) == ("theirs", "")

    async def test_a_rejected_job_is_not_retried(self) -> None:
        bench = Bench(None, by_hand())
        bench.api.refuse(f"create Job {JOB_NAME}", api_error(422))
        await bench.run()
        assert (bench.phase(), bench.holder) == (("Failed", "JobRefused"), "")

    @pytest.mark.parametrize(("code", "holder"), [(429, ""), (500, "openbaobackup/by-hand")])
    async def test_an_error_of_the_api_server_is_retried(self, code: int, holder: str) -> None:
        """After an error of class 5xx the Job may exist, so the lock is kept."""
        bench = Bench(None, by_hand())
        bench.api.refuse(f"create Job {JOB_NAME}", api_error(code))
        with pytest.raises(Exception, match=f"told to say {code}"):
            await bench.run()
        assert bench.holder == holder
        await bench.run()
        await bench.run()
        assert bench.phase() == ("Running", "BackupRunning")


async def test_a_deleted_backup_is_not_changed() -> None:
    bench = await running()
    bench.change(
        BACKUPS,
        NAME,
        metadata={**by_hand()["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"},
    )
    assert await bench.run() == Done()
    bench.delete(BACKUPS, NAME)
    assert await bench.run() == Done()
    assert bench.writes() == []


async def test_a_conflict_is_retried_immediately() -> None:
    bench = Bench(None, by_hand())
    stale = status_error({"code": 409, "reason": "Conflict", "message": "modified"})
    bench.api.refuse("apply/status OpenBaoBackup by-hand", stale)
    await running(bench)


async def test_a_new_backup_of_the_same_name_has_its_own_pass() -> None:
    """It may be for a cluster of another shard."""
    bench = Bench(None, by_hand())
    bench.sync()
    other = by_hand()
    other["metadata"]["uid"] = "uid-other"
    bench.api.with_objects((BACKUPS, other))
    stale = status_error({"code": 409, "reason": "Conflict", "message": "modified"})
    bench.api.refuse("apply/status OpenBaoBackup by-hand", stale)
    assert await bench.reconcile(ObjectKey(gen.NAMESPACE, NAME)) == Done(0.0)
    assert (bench.jobs, bench.status()) == ([], {})
    await bench.run()
    assert bench.phase() == ("Running", "BackupRunning")


async def test_a_clock_that_was_ahead_does_not_suspend_the_renewal_of_the_lock() -> None:
    bench = await running()
    bench.change(JOB, JOB_NAME, status={"active": 1, "ready": 1})
    await bench.clock.advance(30)
    cluster = bench.object(CLUSTERS, "x")
    ahead = {**cluster["status"]["operationLock"], "renewedAt": "2031-01-01T00:00:00Z"}
    bench.change(CLUSTERS, "x", status={**cluster["status"], "operationLock": ahead})
    await bench.run()
    renewed = bench.object(CLUSTERS, "x")["status"]["operationLock"]["renewedAt"]
    assert renewed == "2030-01-01T00:00:30Z"


async def test_a_maximum_age_that_overflows_is_no_limit() -> None:
    """The schema accepts it, and an error would keep the lock for ever."""
    bench = Bench(cluster(retention={"maxAge": "99999999999h"}), by_hand())
    await bench.run()
    (container,) = bench.object(JOB, JOB_NAME)["spec"]["template"]["spec"]["containers"]
    env = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert env.get("BACKUP_RETENTION_MAX_AGE_SECONDS", "0") == "0"
