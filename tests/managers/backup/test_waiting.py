"""managers.backup.reconcile: what a backup waits for, and what it holds meanwhile."""

import pytest

from contracts.api.group import CLUSTERS, RESTORES
from managers.operation_lock.holders import UPGRADE_HOLDER
from runtime.errors import TransportError
from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.backup.bench import Bench, by_hand, cluster, restore
from tests.managers.backup.runs import running
from tests.managers.upgrade.statuses import FAILED, ROLLS

NAME, JOB_NAME = "by-hand", "backup-by-hand"


# sentence: (cluster, phase of a restore into it, the reason of the waiting backup)
FIRST: dict[str, tuple[gen.Cluster | None, str, str]] = {
    "no cluster": (None, "", "ClusterMissing"),
    "a cluster that is deleted": (
        cluster().with_metadata(deletionTimestamp="2030-01-01T00:00:00Z"),
        "",
        "ClusterMissing",
    ),
    "a paused one": (cluster().with_spec(paused=True), "", "Paused"),
    "one without spec.backup": (gen.cluster().initialized(), "", "BackupNotConfigured"),
    "one that is not initialized": (cluster().with_status(initialized=False), "", "NotInitialized"),
    "one that is hibernated": (cluster().with_spec(hibernate=True), "", "Hibernated"),
    "a restore that is being validated": (cluster(), "Validating", "RestorePending"),
    "a restore of unknown outcome": (cluster(), "Unknown", "RestorePending"),
    "a blue/green upgrade": (
        cluster().with_status(blueGreen={"phase": "Syncing", "greenRevision": "00"}),
        "",
        "UpgradePending",
    ),
    "an upgrade": (cluster().with_status(upgrade=ROLLS), "", "UpgradePending"),
}


class TestPrecedence:
    @pytest.mark.parametrize("sentence", FIRST)
    async def test_it_waits_for(self, sentence: str) -> None:
        of, phase, reason = FIRST[sentence]
        bench = Bench(of, by_hand())
        if of is None:
            bench.delete(CLUSTERS, "x")
        if phase:
            bench.api.with_objects((RESTORES, restore(phase=phase)))
        for _ in range(100):
            assert isinstance(await bench.run(), Wait | Blocked)
        assert bench.phase() == ("Pending", reason)
        assert (bench.jobs, bench.writes()) == ([], ["apply/status OpenBaoBackup by-hand"])

    @pytest.mark.parametrize("phase", ["", "Pending", "Validating"])
    async def test_it_does_not_wait_for_a_restore_that_waits_for_it(self, phase: str) -> None:
        """A user created the backup and the restore of its snapshot together."""
        bench = Bench(None, by_hand())
        bench.api.with_objects((RESTORES, restore(phase=phase, source={"backup": "by-hand"})))
        await running(bench)

    async def test_it_does_not_wait_for_restores_that_wait_for_each_other(self) -> None:
        """The restore waits for a backup of another cluster, which may wait for this backup."""
        other = by_hand("of-another")
        other["spec"]["cluster"] = "y"
        bench = Bench(None, by_hand(), other)
        bench.api.with_objects((RESTORES, restore(source={"backup": "of-another"})))
        await running(bench)

    async def test_it_waits_for_a_restore_that_replaces_the_data(self) -> None:
        bench = Bench(None, by_hand())
        bench.api.with_objects((RESTORES, restore(phase="Running", source={"backup": "by-hand"})))
        await bench.run()
        assert bench.phase() == ("Pending", "RestorePending")

    async def test_it_starts_when_the_restore_has_ended(self) -> None:
        bench = Bench(None, by_hand())
        bench.api.with_objects((RESTORES, restore()))
        await bench.run()
        bench.change(RESTORES, "monday", status={"phase": "Completed"})
        await running(bench)

    async def test_a_failed_upgrade_does_not_block_backups(self) -> None:
        await running(Bench(cluster().with_status(upgrade=FAILED), by_hand()))

    @pytest.mark.parametrize("requested", ["v2.4.0", "2.3.0", "2.9.9"])
    async def test_a_rollout_without_an_upgrade_does_not_block(self, requested: str) -> None:
        """The same version in another notation, and versions that were rejected."""
        rolling = {"kind": "Rolling", "startedAt": "2030-01-01T00:00:00Z"}
        asking = cluster().with_spec(version=requested)
        await running(
            Bench(asking.with_status(currentVersion="2.4.0", operation=rolling), by_hand())
        )

    async def test_it_waits_for_the_lock_of_another_operation(self) -> None:
        lock = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 4}
        bench = Bench(cluster().with_status(operationLock=lock), by_hand())
        assert isinstance(await bench.run(), Wait)
        assert "openbaorestore/monday" in bench.status()["message"]
        assert bench.phase() == ("Pending", "OperationLockBlocked")
        bench.change(CLUSTERS, "x", status=dict(cluster().status))
        await running(bench)

    async def test_a_backup_without_a_job_releases_the_lock_for_a_restore(self) -> None:
        """The operator crashed between lock and Job, and then a user requested a restore."""
        bench = Bench(None, by_hand())
        bench.api.refuse(f"create Role {JOB_NAME}", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.run()
        assert bench.holder == "openbaobackup/by-hand"
        bench.api.with_objects((RESTORES, restore()))
        bench.restart()
        await bench.run()
        assert bench.phase() == ("Pending", "RestorePending")
        assert "key" not in bench.status()
        assert bench.holder == ""

    async def test_a_running_backup_is_not_interrupted_by_a_restore(self) -> None:
        bench = await running()
        bench.api.with_objects((RESTORES, restore()))
        await bench.run()
        assert bench.phase() == ("Running", "BackupRunning")
        bench.report()
        await bench.run()
        assert (bench.phase(), bench.holder) == (("Completed", "BackupCompleted"), "")

    async def test_an_overridden_lock_is_not_released(self) -> None:
        bench = await running()
        taken = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 2}
        status = bench.object(CLUSTERS, "x")["status"]
        bench.change(CLUSTERS, "x", status={**status, "operationLock": taken})
        bench.report()
        await bench.run()
        assert bench.phase() == ("Completed", "BackupCompleted")
        assert bench.holder == "openbaorestore/monday"

    async def test_without_a_job_template_it_waits_without_the_lock(self) -> None:
        bench = Bench(None, by_hand())
        bench.job_templates.answer = Blocked("JobImageUnknown", "set spec.backup.image")
        await bench.run()
        assert bench.phase() == ("Pending", "JobPrerequisiteMissing")
        assert "JobImageUnknown: set spec.backup.image" in bench.status()["message"]
        assert bench.holder == ""

    async def test_a_pre_upgrade_backup_uses_the_lock_of_the_upgrade(self) -> None:
        before = by_hand()
        before["spec"]["origin"] = "PreUpgrade"
        bench = Bench(None, before)
        await bench.run()
        assert bench.phase() == ("Pending", "UpgradeLockMissing")
        lock = {"operation": "Upgrade", "holder": UPGRADE_HOLDER, "epoch": 3}
        held = cluster().with_status(operationLock=lock, currentVersion="2.3.0")
        bench.change(CLUSTERS, "x", status=dict(held.status))
        await running(bench)
        assert bench.status()["lockEpoch"] == 3
        assert "/pre-upgrade-" in bench.status()["key"]
        bench.report()
        await bench.run()
        assert bench.holder == UPGRADE_HOLDER

    async def test_a_changed_spec_fails(self) -> None:
        bench = Bench(None, by_hand(generation=2))
        await bench.run()
        assert bench.phase() == ("Failed", "InvalidSpec")

    async def test_a_recreated_cluster_fails_the_backup(self) -> None:
        bench = Bench(None, by_hand())
        bench.api.refuse(f"create Role {JOB_NAME}", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.run()
        bench.api.with_objects((CLUSTERS, cluster().with_metadata(uid="uid-of-another").object()))
        bench.restart()
        await bench.run()
        assert (bench.phase(), bench.jobs) == (("Failed", "ClusterMissing"), [])
