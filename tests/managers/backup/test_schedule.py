"""managers.backup.schedule: one backup per scheduled time and per trigger."""

from datetime import datetime, timedelta

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.naming import labels
from runtime.errors import TransportError
from runtime.outcome import Done
from runtime.testing.clock import EPOCH as NOW
from tests import gen
from tests.gen.api import api_error
from tests.managers.backup.bench import KEY, Bench, by_hand, cluster, restore, scheduled
from tests.managers.upgrade.statuses import ROLLS

FIRST = "x-20300101-030000"
HOUR = 3600.0


async def bench_at_three(bench: Bench | None = None) -> Bench:
    """Return a bench whose schedule was evaluated at midnight, and where it is 03:00 now."""
    bench = bench or Bench()
    await bench.tick()
    await bench.clock.advance(3 * HOUR)
    return bench


def annotated(token: str, **more: str) -> gen.Cluster:
    return cluster().with_metadata(annotations={labels.TRIGGER_BACKUP: token, **more})


def notes(bench: Bench) -> dict[str, str]:
    annotations: dict[str, str] = bench.object(CLUSTERS, "x")["metadata"].get("annotations", {})
    return annotations


# sentence: a cluster whose schedule is suspended
SUSPENDED = {
    "paused": cluster().with_spec(paused=True),
    "hibernated": cluster().with_spec(hibernate=True),
    "not initialized": cluster().with_status(initialized=False),
    "deleted": cluster().with_metadata(deletionTimestamp="2030-01-01T00:00:00Z"),
}


class TestSchedule:
    async def test_the_first_backup_is_at_the_next_scheduled_time(self) -> None:
        bench = Bench()
        assert gen.expect(Done, await bench.tick()).recheck_after == 600.0
        assert bench.names() == []
        assert bench.record["nextScheduledBackup"] == "2030-01-01T03:00:00Z"
        assert bench.record["schedule"] == "0 3 * * *"
        bench.api.calls.clear()
        for _ in range(100):
            await bench.tick()
        assert bench.api.take_requests() == []
        await bench.clock.advance(3 * HOUR - 42)
        assert gen.expect(Done, await bench.tick()).recheck_after == pytest.approx(42)

    async def test_it_is_created_at_its_time(self) -> None:
        bench = await bench_at_three()
        await bench.tick()
        assert bench.names() == [FIRST]
        result = bench.object(BACKUPS, FIRST)
        assert result["spec"] == {
            "cluster": "x",
            "origin": "Scheduled",
            "scheduledTime": "2030-01-01T03:00:00Z",
        }
        assert result["metadata"]["labels"][labels.BACKUP_TYPE] == "scheduled"
        assert bench.record["nextScheduledBackup"] == "2030-01-02T03:00:00Z"
        assert bench.record["lastAttemptScheduledTime"] == "2030-01-01T03:00:00Z"
        assert bench.record["lastAttemptTime"] == "2030-01-01T03:00:00Z"

    async def test_a_hundred_passes_in_one_window_create_one_job(self) -> None:
        bench = await bench_at_three()
        for _ in range(100):
            await bench.tick()
            await bench.run(FIRST)
        assert bench.names() == [FIRST]
        assert bench.jobs == [f"backup-{FIRST}"]

    async def test_five_missed_windows_create_one_backup(self) -> None:
        bench = await bench_at_three()
        bench.restart()
        await bench.clock.advance(5 * 24 * HOUR)
        for _ in range(3):
            await bench.tick()
        assert bench.names() == [FIRST]
        assert bench.record["nextScheduledBackup"] == "2030-01-07T03:00:00Z"

    async def test_windows_that_pass_while_a_backup_waits_create_no_more(self) -> None:
        bench = await bench_at_three()
        bench.api.with_objects((RESTORES, restore()))
        for _ in range(5):
            await bench.settle()
            await bench.clock.advance(24 * HOUR)
        assert bench.names() == [FIRST]
        bench.change(RESTORES, "monday", status={"phase": "Completed"})
        await bench.settle()
        assert bench.phase(FIRST) == ("Running", "BackupRunning")

    async def test_an_edit_takes_effect_immediately(self) -> None:
        bench = Bench()
        await bench.tick()
        bench.change(CLUSTERS, "x", spec=dict(cluster("30 0 * * *").spec))
        await bench.tick()
        assert bench.record["nextScheduledBackup"] == "2030-01-01T00:30:00Z"
        assert bench.names() == []

    async def test_an_edit_drops_what_was_due_by_the_old_schedule(self) -> None:
        bench = await bench_at_three()
        bench.change(CLUSTERS, "x", spec=dict(cluster("0 4 * * *").spec))
        await bench.tick()
        assert bench.names() == []
        assert bench.record["nextScheduledBackup"] == "2030-01-01T04:00:00Z"

    async def test_a_clock_that_was_years_ahead_does_not_stop_backups(self) -> None:
        bench = Bench()
        bench.clock.set(NOW + timedelta(days=3650))
        await bench.tick()
        bench.clock.set(NOW)
        await bench.tick()
        assert bench.record["nextScheduledBackup"] == "2030-01-01T03:00:00Z"

    async def test_a_clock_that_goes_back_creates_no_second_backup(self) -> None:
        bench = await bench_at_three()
        await bench.settle()
        bench.report(FIRST)
        await bench.settle()
        bench.clock.set(NOW + timedelta(hours=2, minutes=59))
        await bench.settle()
        await bench.clock.advance(120)
        await bench.settle()
        assert bench.names() == [FIRST]

    async def test_a_backup_that_was_created_but_not_recorded_is_found(self) -> None:
        bench = await bench_at_three()
        bench.api.refuse("apply/status OpenBaoCluster x", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.tick()
        bench.restart()
        await bench.tick()
        assert bench.names() == [FIRST]
        assert bench.record["lastAttemptScheduledTime"] == "2030-01-01T03:00:00Z"

    async def test_a_former_leader_with_a_stale_cache_creates_nothing(self) -> None:
        bench = await bench_at_three()
        former = bench.plan
        bench.restart()
        await bench.tick()
        bench.delete(BACKUPS, FIRST)
        await former(KEY)
        assert bench.names() == []

    @pytest.mark.parametrize("sentence", SUSPENDED)
    async def test_no_backup_is_created_for_a_cluster_that_is(self, sentence: str) -> None:
        status = {
            "backup": {"schedule": "0 3 * * *", "nextScheduledBackup": "2029-12-31T03:00:00Z"}
        }
        of = SUSPENDED[sentence]
        bench = Bench(of.with_status(**status))
        await bench.tick()
        assert bench.writes() == []

    async def test_without_spec_backup_nothing_is_due_any_more(self) -> None:
        bench = await bench_at_three()
        spec = {k: v for k, v in cluster().spec.items() if k != "backup"}
        bench.change(CLUSTERS, "x", spec=spec)
        assert await bench.tick() == Done()
        assert bench.names() == []
        assert "nextScheduledBackup" not in bench.record

    async def test_two_scheduled_times_without_a_job_are_overdue(self) -> None:
        bench = await bench_at_three()
        bench.api.with_objects((RESTORES, restore()))
        await bench.settle()
        assert "overdueSince" not in bench.record
        await bench.clock.advance(24 * HOUR)
        await bench.settle()
        assert bench.record["overdueSince"] == "2030-01-01T03:00:00Z"
        bench.change(RESTORES, "monday", status={"phase": "Failed"})
        await bench.settle()
        assert "overdueSince" not in bench.record


class TestTriggers:
    async def test_an_annotation_creates_a_backup_and_is_removed(self) -> None:
        bench = Bench(annotated("before the change"))
        await bench.settle()
        (name,) = bench.names()
        assert name.startswith("x-manual-")
        assert notes(bench) == {labels.BACKUP_TRIGGERED: name}
        result = bench.object(BACKUPS, name)
        assert result["spec"] == {"cluster": "x", "origin": "Manual"}
        assert result["metadata"]["annotations"][labels.BACKUP_TRIGGER] == "before the change"
        assert bench.record["lastHandledManualTrigger"] == "before the change"
        assert bench.phase(name) == ("Running", "BackupRunning")
        events = [reason for _, reason, _ in await bench.outside.flush_events()]
        assert events == ["BackupManualTriggerAccepted", "BackupStarted"]

    async def test_the_same_value_creates_another_backup_after_its_removal(self) -> None:
        bench = Bench(annotated("now"))
        await bench.settle()
        (first,) = bench.names()
        bench.report(first)
        await bench.settle()
        self.trigger(bench, "now")
        await bench.settle()
        assert len(bench.names()) == 2

    async def test_a_trigger_that_was_not_removed_creates_only_one_backup(self) -> None:
        bench = Bench(annotated("now"))
        bench.api.refuse("patch OpenBaoCluster x", TransportError("cut"))
        with pytest.raises(TransportError):
            await bench.tick()
        bench.restart()
        (name,) = bench.names()
        await bench.run(name)
        bench.report(name)
        await bench.run(name)
        await bench.settle()
        assert bench.names() == [name]
        assert notes(bench) == {labels.BACKUP_TRIGGERED: name}

    async def test_during_an_active_job_it_is_dropped_with_an_event(self) -> None:
        bench = Bench(annotated("now"), by_hand())
        await bench.run()
        await bench.tick()
        assert bench.names() == ["by-hand"]
        assert notes(bench) == {}
        assert "lastHandledManualTrigger" not in bench.record
        *_, (kind, reason, note) = await bench.outside.flush_events()
        assert (kind, reason) == ("Warning", "BackupSkipped")
        assert "by-hand has not ended" in note

    async def test_during_an_upgrade_it_waits(self) -> None:
        bench = Bench(annotated("now").with_status(upgrade=ROLLS))
        await bench.settle()
        (name,) = bench.names()
        assert bench.phase(name) == ("Pending", "UpgradePending")
        done = {k: v for k, v in bench.object(CLUSTERS, "x")["status"].items() if k != "upgrade"}
        bench.change(CLUSTERS, "x", status=done)
        await bench.settle()
        assert bench.phase(name) == ("Running", "BackupRunning")

    async def test_without_spec_backup_it_is_dropped_with_an_event(self) -> None:
        trigger = {labels.TRIGGER_BACKUP: "now"}
        bench = Bench(gen.cluster().initialized().with_metadata(annotations=trigger))
        await bench.tick()
        assert notes(bench) == {}
        ((_, reason, note),) = await bench.outside.flush_events()
        assert reason == "BackupSkipped"
        assert "spec.backup is not set" in note

    async def test_a_value_that_was_set_meanwhile_is_kept(self) -> None:
        bench = Bench(annotated("now"))
        bench.sync()
        bench.change(CLUSTERS, "x", metadata=annotated("later").object()["metadata"])
        await bench.plan(KEY)
        assert notes(bench)[labels.TRIGGER_BACKUP] == "later"

    async def test_a_paused_cluster_keeps_it(self) -> None:
        bench = Bench(annotated("now").with_spec(paused=True))
        await bench.tick()
        assert notes(bench) == {labels.TRIGGER_BACKUP: "now"}
        assert bench.writes() == []

    @staticmethod
    def trigger(bench: Bench, token: str) -> None:
        metadata = dict(bench.object(CLUSTERS, "x")["metadata"])
        metadata["annotations"] = {**metadata["annotations"], labels.TRIGGER_BACKUP: token}
        bench.change(CLUSTERS, "x", metadata=metadata)


async def test_a_rejected_write_is_retried() -> None:
    bench = await bench_at_three()
    bench.api.refuse(f"create OpenBaoBackup {FIRST}", api_error(403))
    with pytest.raises(Exception, match="told to say 403"):
        await bench.tick()
    assert bench.record["nextScheduledBackup"] == "2030-01-01T03:00:00Z"
    await bench.tick()
    assert bench.names() == [FIRST]


async def test_an_invalid_schedule_is_ignored() -> None:
    bench = Bench(cluster("0 0 31 2 *"))
    assert await bench.tick() == Done()
    assert bench.writes() == []


def test_the_name_contains_the_scheduled_time() -> None:
    moment = datetime.fromisoformat("2030-03-31T02:30:00+02:00")
    assert scheduled(moment)["metadata"]["name"] == "x-20300331-003000"
