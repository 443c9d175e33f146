"""managers.backup.schedule: each backup is counted once, and old ones are deleted."""

from typing import Any

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from managers.backup.schedule_plan import COMPLETED_KEPT, FAILED_KEPT
from runtime.errors import TransportError, status_error
from runtime.testing.clock import EPOCH as NOW
from runtime.types import Object
from tests.managers.backup.bench import Bench, by_hand, cluster, restore
from tests.managers.backup.runs import ended


def fresh(name: str, phase: str = "Completed", minute: int = 0, **status: Any) -> Object:
    """Return a finished backup that is not counted."""
    backup = ended(name, phase, minute, **status)
    del backup["status"]["counted"]
    return backup


class TestCounting:
    async def test_a_success_is_recorded(self) -> None:
        bench = Bench(None, by_hand())
        await bench.run()
        bench.report(seconds=2.25, deleted=3)
        await bench.settle()
        record = bench.record
        assert record["lastBackupTime"] == "2030-01-01T00:00:00Z"
        assert record["lastBackupName"] == bench.status()["key"]
        assert (record["lastBackupSize"], record["lastBackupDuration"]) == (4096, "2.250s")
        assert record["latestSnapshot"]["clusterID"] == "c-1"
        assert (record["successfulBackups"], record["consecutiveFailures"]) == (1, 0)
        assert record["lastCounted"] == "uid-by-hand"

    async def test_a_failure_is_counted_once_in_a_hundred_passes(self) -> None:
        bench = Bench(None, fresh("a", "Failed"))
        for _ in range(100):
            await bench.tick()
        assert bench.record["consecutiveFailures"] == 1
        assert bench.record["lastFailureReason"] == "StorageFailed"
        assert bench.record["lastFailureMessage"] == "why"
        assert bench.record["lastFailureTime"] == "2030-01-01T00:00:02Z"

    async def test_an_unknown_outcome_is_not_a_success(self) -> None:
        bench = Bench(None, fresh("a", "Unknown"))
        await bench.tick()
        assert bench.record["consecutiveFailures"] == 1
        assert "lastBackupTime" not in bench.record

    async def test_a_success_clears_the_failures(self) -> None:
        bench = Bench(None, fresh("a", "Failed", 1), fresh("b", "Failed", 2), fresh("c", minute=3))
        await bench.tick()
        assert bench.record["consecutiveFailures"] == 0
        assert not [field for field in bench.record if field.startswith("lastFailure")]

    async def test_they_are_counted_in_order_of_completion(self) -> None:
        bench = Bench(None, fresh("c", "Failed", 3), fresh("a", minute=2), fresh("b", "Failed", 1))
        await bench.tick()
        assert bench.record["consecutiveFailures"] == 1
        assert bench.record["successfulBackups"] == 1

    async def test_a_backup_that_was_counted_but_not_marked_is_marked(self) -> None:
        bench = Bench(None, fresh("a", "Failed"))
        bench.api.refuse("patch OpenBaoBackup a", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.tick()
        bench.restart()
        await bench.tick()
        assert bench.record["consecutiveFailures"] == 1
        assert bench.status("a")["counted"] is True

    async def test_an_earlier_backup_that_appears_after_the_crash_is_counted_second(self) -> None:
        """Its result was written late. Counted first, it would hide that the other is counted."""
        bench = Bench(None, fresh("late", "Failed", 2))
        bench.api.refuse("patch OpenBaoBackup late", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.tick()
        bench.api.with_objects((BACKUPS, fresh("early", "Failed", 1)))
        bench.restart()
        await bench.tick()
        assert bench.record["consecutiveFailures"] == 2

    async def test_backups_before_upgrades_or_of_a_former_cluster_are_not_counted(self) -> None:
        before = fresh("a")
        before["spec"]["origin"] = "PreUpgrade"
        bench = Bench(None, before, fresh("b", "Failed", clusterUID="uid-before"))
        await bench.tick()
        assert "lastCounted" not in bench.record

    async def test_the_field_of_the_restore_tests_is_not_written(self) -> None:
        proof = {"restoreTest": {"lastSuccessTime": "2029-01-01T00:00:00Z"}}
        bench = Bench(cluster().with_status(backup=proof), fresh("a"))
        await bench.tick()
        write = next(c for c in bench.api.calls if str(c) == "apply/status OpenBaoCluster x")
        assert "restoreTest" not in write.body["status"]["backup"]
        assert bench.record["restoreTest"] == proof["restoreTest"]

    async def test_a_concurrent_write_is_not_lost(self) -> None:
        bench = Bench(None, fresh("a"))
        stale = status_error({"code": 409, "reason": "Conflict", "message": "modified"})
        bench.api.refuse("apply/status OpenBaoCluster x", stale)
        await bench.tick()
        assert bench.record["successfulBackups"] == 1

    async def test_the_metrics_count_each_backup_once(self) -> None:
        bench = Bench(None, by_hand())
        await bench.run()
        bench.report(seconds=2.25, deleted=3)
        await bench.settle()
        text = bench.scrape()
        for line in (
            'openbao_backup_success_total{name="x",namespace="ns"} 1.0',
            'openbao_backup_failure_total{name="x",namespace="ns"} 0.0',
            'openbao_backup_retention_deleted_total{name="x",namespace="ns"} 3.0',
            'openbao_backup_last_duration_seconds{name="x",namespace="ns"} 2.25',
            'openbao_backup_last_size_bytes{name="x",namespace="ns"} 4096.0',
            'openbao_backup_consecutive_failures{name="x",namespace="ns"} 0.0',
            'openbao_backup_in_progress{name="x",namespace="ns"} 0.0',
            f'openbao_backup_last_success_timestamp{{name="x",namespace="ns"}} {NOW.timestamp()}',
        ):
            assert _number(line) in map(_number, text.splitlines())

    async def test_the_series_are_dropped_with_their_cluster(self) -> None:
        bench = Bench(None, fresh("a"))
        await bench.tick()
        bench.delete(CLUSTERS, "x")
        await bench.tick()
        assert 'name="x"' not in bench.scrape()


def _number(line: str) -> tuple[str, float] | str:
    series, _, value = line.rpartition(" ")
    try:
        return ",".join(sorted(series.replace("}", "").split("{"))), float(value)
    except ValueError:
        return line


class TestHistory:
    def many(self) -> list[Object]:
        good = [ended(f"good-{n:03}", minute=n) for n in range(COMPLETED_KEPT + 3)]
        bad = [ended(f"bad-{n:03}", "Failed", 500 + n, key="") for n in range(FAILED_KEPT + 2)]
        return good + bad

    async def test_the_oldest_are_deleted(self) -> None:
        bench = Bench(None, *self.many())
        await bench.tick()
        gone = {obj["metadata"]["name"] for obj in self.many()} - set(bench.names())
        assert gone == {"good-000", "good-001", "bad-000", "bad-001"}

    async def test_a_backup_of_a_user_is_kept(self) -> None:
        many = self.many()
        many[0]["metadata"]["labels"] = {}
        bench = Bench(None, *many)
        await bench.tick()
        assert "good-000" in bench.names()

    async def test_snapshots_in_use_are_kept(self) -> None:
        many = self.many()
        many[0]["status"]["proof"] = {"outcome": "Passed", "reason": "RestoreTestPassed"}
        many[1]["status"]["test"] = {
            "run": "r",
            "cause": "Requested",
            "jobName": "test",
            "startedAt": "2030-01-01T00:00:00Z",
        }
        bench = Bench(None, *many)
        bench.api.with_objects((RESTORES, restore(source={"backup": "good-002"})))
        await bench.tick()
        assert {"good-000", "good-001", "good-002"} <= set(bench.names())

    async def test_max_count_snapshots_are_kept(self) -> None:
        bench = Bench(cluster(retention={"maxCount": 100}), *self.many())
        await bench.tick()
        assert "good-000" in bench.names()
