"""managers.backup: a crash at any write, and two processes that both assume leadership."""

from contextlib import suppress

import pytest

from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import JOB, ROLE, ROLE_BINDING
from runtime.errors import ServerError, TransportError
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import READS, Call, FakeApi, api_error
from tests.managers.backup.bench import STORE, Bench, by_hand
from tests.managers.cluster.dying_operator import OneWritePerLife

NAME, JOB_NAME = "by-hand", "backup-by-hand"


class Crash(BaseException):
    """The process was killed."""


class CrashingApi(FakeApi):
    """Kills the process at its nth write: before it, or after it and before the response."""

    def __init__(self, nth: int, *, after: bool) -> None:
        super().__init__()
        self.left = nth
        self.after = after
        self.hit = False

    def _note(self, call: Call) -> None:
        is_write = call.verb not in READS
        self.left -= is_write
        self.hit = is_write and self.left == 0
        if self.hit and not self.after:
            raise Crash
        super()._note(call)

    async def answering(self, call: Call) -> None:
        if self.hit:
            raise Crash


class TimeoutApi(FakeApi):
    """Creates the Job, and answers that it ran out of time, as etcd does."""

    async def answering(self, call: Call) -> None:
        if str(call) == f"create Job {JOB_NAME}":
            raise api_error(500)


WRITES = 16
"""Number of writes of a backup, from its start until it is counted."""


class TestCrashes:
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    @pytest.mark.parametrize("nth", range(1, WRITES + 2))
    async def test_a_crash_around_any_write(self, nth: int, after: bool) -> None:
        api = CrashingApi(nth, after=after)
        bench = Bench(None, by_hand(), api=api)
        reported = False
        crashed = False
        for _ in range(12):
            try:
                await bench.run()
                await bench.tick()
            except Crash:
                crashed = True
                bench.restart()
            if bench.jobs and not reported and bench.status().get("jobUID"):
                bench.report()
                reported = True
        assert crashed is (nth <= WRITES)
        assert [job["metadata"]["name"] for job in api.of(JOB)] == [JOB_NAME]
        creates = [call for call in api.calls if str(call) == f"create Job {JOB_NAME}"]
        assert len(creates) <= 2
        assert bench.phase() == ("Completed", "BackupCompleted")
        assert bench.record["successfulBackups"] == 1
        assert bench.status()["counted"] is True
        assert bench.holder == ""
        assert bench.api.of(ROLE) == bench.api.of(ROLE_BINDING) == []


async def test_two_leaders_create_one_job() -> None:
    """The former leader does not know yet that it lost the Lease, and has a stale cache."""
    bench = Bench(None, by_hand())
    former = bench.reconcile
    bench.restart()
    await bench.run()
    uid = bench.uid(JOB, JOB_NAME)
    await former(ObjectKey(gen.NAMESPACE, NAME))
    assert (bench.uid(JOB, JOB_NAME), bench.status()["jobUID"]) == (uid, uid)


async def test_a_job_whose_creation_failed_for_the_operator_runs_with_the_lock() -> None:
    bench = Bench(None, by_hand(), api=TimeoutApi())
    with pytest.raises(ServerError):
        await bench.run()
    assert (bench.jobs, bench.holder) == ([JOB_NAME], "openbaobackup/by-hand")
    await bench.run()
    assert (bench.phase()[0], bench.holder) == ("Running", "openbaobackup/by-hand")


@pytest.mark.parametrize("prefix", ["", "another", "prod/prod"])
async def test_a_target_that_changed_before_the_job_was_created_causes_a_new_key(
    prefix: str,
) -> None:
    """The Job would reject a key without its prefix, and the backup would fail."""
    bench = Bench(None, by_hand(), api=CrashingApi(2, after=True))
    with pytest.raises(Crash):
        await bench.run()
    assert bench.status()["key"].startswith("prod/")
    target = {**STORE, "pathPrefix": prefix} if prefix else without_prefix()
    spec = bench.object(CLUSTERS, "x")["spec"]
    bench.change(CLUSTERS, "x", spec={**spec, "backup": {**spec["backup"], "target": target}})
    bench.restart()
    assert isinstance(await bench.run(), Wait)
    assert bench.phase() == ("Pending", "TargetChanged")
    assert (bench.jobs, bench.holder) == ([], "")
    await bench.run()
    assert bench.phase() == ("Running", "BackupRunning")
    below = f"{gen.NAMESPACE}/x/"
    assert bench.status()["key"].startswith(f"{prefix}/{below}" if prefix else below)
    assert bench.status()["key"] in str(bench.object(JOB, JOB_NAME))


def without_prefix() -> Object:
    return {field: value for field, value in STORE.items() if field != "pathPrefix"}


@pytest.mark.parametrize("period", [1.0, 90.0], ids=["quick", "back-off"])
async def test_an_operator_with_one_write_per_life_completes_a_backup(period: float) -> None:
    """Not even the renewal of the lock may keep it from the next step."""
    bench = Bench(None, by_hand())
    operator = OneWritePerLife(bench.api)
    for _ in range(40):
        with suppress(TransportError):
            await bench.run()
            await bench.tick()
        if bench.jobs and bench.status().get("jobUID") and not bench.status().get("report"):
            bench.report()
        if not operator.crashed:
            break
        operator.restarted()
        await bench.clock.advance(period)
        bench.restart()
    assert bench.phase() == ("Completed", "BackupCompleted")
    assert operator.writes.count(f"create Job {JOB_NAME}") == 1
    assert bench.record["successfulBackups"] == 1
    assert bench.holder == ""
    assert len(operator.writes) == WRITES
