"""managers.operation_lock.client: one of several requesters wins, whatever they read before."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from contracts.api.group import CLUSTERS
from managers.operation_lock.client import TRIES, OperationLocks
from managers.operation_lock.decide import Acquired, Free, LockConflict, LockRequest
from runtime.clock import yield_to_loop
from runtime.errors import NotFound, TerminalError, Transient, TransportError
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import READS, Call, FakeApi, Outside, StillInformer, api_error

KEY = ObjectKey(gen.NAMESPACE, "x")
UID = "uid-x"
BACKUP = LockRequest("Backup", "openbaobackup/nightly", "Job backup-nightly")
RESTORE = LockRequest("Restore", "openbaorestore/monday")
GET, PATCH = "get OpenBaoCluster x", "patch OpenBaoCluster x"


class Slow(FakeApi):
    """Other clients write between a read and the following write."""

    async def answering(self, call: Call) -> None:
        if call.verb in READS:
            await yield_to_loop()


class Bench:
    def __init__(self, cluster: gen.Cluster | None = None) -> None:
        self.api = Slow()
        self.api.with_objects((CLUSTERS, (cluster or gen.cluster().initialized()).object()))
        self.clock = Outside(self.api).clock
        self.cache = StillInformer(CLUSTERS)

    def process(self) -> OperationLocks:
        """The locks of one process, without any state."""
        return OperationLocks(self.api, self.cache, self.clock)

    @property
    def status(self) -> Object:
        status: Object = self.api.objects[(CLUSTERS, KEY)].get("status") or {}
        return status

    @property
    def lock(self) -> dict[str, Any] | None:
        return self.status.get("operationLock")


async def holding(claim: LockRequest = BACKUP) -> Bench:
    bench = Bench()
    assert isinstance(await bench.process().acquire(KEY, claim, uid=UID), Acquired)
    bench.api.calls.clear()
    return bench


async def test_a_free_lock_is_written_whole() -> None:
    bench = Bench()
    await bench.process().acquire(KEY, BACKUP, uid=UID)
    assert bench.lock == {
        "operation": "Backup",
        "holder": "openbaobackup/nightly",
        "epoch": 1,
        "message": "Job backup-nightly",
        "acquiredAt": "2030-01-01T00:00:00Z",
        "renewedAt": "2030-01-01T00:00:00Z",
    }
    assert bench.status["phase"] == "Running"


async def test_of_two_requesters_of_a_free_lock_one_wins() -> None:
    bench = Bench()
    answers = await asyncio.gather(
        bench.process().acquire(KEY, BACKUP, uid=UID),
        bench.process().acquire(KEY, RESTORE, uid=UID),
    )
    winners = [answer.lock.holder for answer in answers if isinstance(answer, Acquired)]
    losers = [answer.lock.holder for answer in answers if isinstance(answer, LockConflict)]
    assert winners == losers
    assert [gen.present(bench.lock)["holder"]] == winners


async def test_the_loser_reads_the_lock_again() -> None:
    bench = Bench()
    bench.api.refuse(PATCH, api_error(409))
    assert isinstance(await bench.process().acquire(KEY, BACKUP, uid=UID), Acquired)
    assert bench.api.take_requests() == [GET, PATCH, GET, PATCH]


async def test_a_constantly_changing_cluster_is_retried_later() -> None:
    class Restless(FakeApi):
        async def json_patch(self, *args: Any, **more: Any) -> Object:
            raise api_error(409)

    bench = Bench()
    restless = Restless().with_objects((CLUSTERS, gen.cluster().initialized().object()))
    with pytest.raises(Transient, match="kept changing"):
        await OperationLocks(restless, bench.cache, bench.clock).acquire(KEY, BACKUP, uid=UID)
    assert restless.take_requests() == [GET] * TRIES


async def test_a_restarted_operator_recognizes_its_lock() -> None:
    bench = await holding()
    await bench.clock.advance(3600)
    answer = gen.expect(Acquired, await bench.process().acquire(KEY, BACKUP, uid=UID))
    assert answer.overridden is None
    assert answer.lock.epoch == 1
    assert bench.lock is not None
    assert bench.lock["acquiredAt"] == "2030-01-01T00:00:00Z"
    assert bench.lock["renewedAt"] == "2030-01-01T00:00:00Z"


async def test_a_write_without_a_response_is_recognized() -> None:
    bench = Bench()

    class Cut(FakeApi):
        async def json_patch(self, *args: Any, **more: Any) -> Object:
            await FakeApi.json_patch(bench.api, *args, **more)
            raise TransportError("reset")

    cut = Cut()
    cut.objects = bench.api.objects
    with pytest.raises(TransportError):
        await OperationLocks(cut, bench.cache, bench.clock).acquire(KEY, BACKUP, uid=UID)
    assert gen.expect(Acquired, await bench.process().acquire(KEY, BACKUP, uid=UID)).lock.epoch == 1


async def test_a_renewal_within_a_minute_writes_nothing() -> None:
    bench = await holding()
    await bench.clock.advance(59)
    await bench.process().renew(KEY, BACKUP, uid=UID)
    assert bench.api.take_requests() == [GET]


async def test_a_lost_lock_is_not_renewed() -> None:
    bench = await holding(RESTORE)
    assert isinstance(await bench.process().renew(KEY, BACKUP, uid=UID), LockConflict)
    await bench.process().release(KEY, RESTORE.holder, uid=UID)
    assert await bench.process().renew(KEY, BACKUP, uid=UID) == Free()
    assert bench.lock is None


async def test_the_next_holder_has_the_next_epoch_though_the_lock_was_free() -> None:
    bench = await holding()
    assert await bench.process().release(KEY, BACKUP.holder, uid=UID) == Free()
    assert bench.lock is None
    answer = gen.expect(Acquired, await bench.process().acquire(KEY, RESTORE, uid=UID))
    assert answer.lock.epoch == 2


async def test_a_release_by_another_holder_changes_nothing() -> None:
    bench = await holding()
    before = bench.lock
    assert isinstance(await bench.process().release(KEY, RESTORE.holder, uid=UID), LockConflict)
    assert bench.lock == before
    assert bench.api.take_requests() == [GET]


async def test_a_free_lock_is_released_without_a_write() -> None:
    bench = Bench()
    assert await bench.process().release(KEY, BACKUP.holder, uid=UID) == Free()
    assert bench.api.take_requests() == [GET]


async def test_the_lock_of_a_deleted_cluster_is_free() -> None:
    bench = Bench()
    assert await bench.process().release(ObjectKey("ns", "gone"), BACKUP.holder, uid=UID) == Free()
    successor = await holding()
    assert await successor.process().release(KEY, BACKUP.holder, uid="uid-before") == Free()
    assert successor.lock is not None


async def test_force_is_evaluated_for_the_current_lock() -> None:
    bench = await holding()
    requests: list[str] = []

    def force(lock: Any) -> bool:
        requests.append(lock.holder)
        return True

    answer = await bench.process().acquire(KEY, RESTORE, uid=UID, force=force)
    assert requests == [BACKUP.holder]
    assert isinstance(answer, Acquired)
    assert gen.present(answer.overridden).holder == BACKUP.holder
    assert answer.lock.epoch == 2


async def test_a_refused_force_keeps_the_lock() -> None:
    bench = await holding()
    assert isinstance(
        await bench.process().acquire(KEY, RESTORE, uid=UID, force=lambda lock: False), LockConflict
    )


async def test_a_cluster_without_status_gets_one() -> None:
    bench = Bench(gen.cluster())
    assert isinstance(await bench.process().acquire(KEY, BACKUP, uid=UID), Acquired)
    assert bench.lock is not None


async def test_a_new_cluster_of_the_name_is_not_locked() -> None:
    bench = Bench()
    with pytest.raises(Transient, match="no longer has uid"):
        await bench.process().acquire(KEY, BACKUP, uid="uid-of-the-old-one")
    assert bench.lock is None


async def test_without_a_cluster_there_is_no_lock() -> None:
    with pytest.raises(NotFound):
        await Bench().process().acquire(ObjectKey("ns", "gone"), BACKUP, uid=UID)


async def test_an_unreadable_lock_is_not_free() -> None:
    bench = Bench(gen.cluster().initialized().with_status(operationLock={"operation": "Dance"}))
    with pytest.raises(TerminalError, match=r"status\.operationLock of OpenBaoCluster ns/x"):
        await bench.process().acquire(KEY, BACKUP, uid=UID)


async def test_the_cache_is_updated_before_the_watch_event() -> None:
    bench = Bench()
    bench.cache.says(bench.api.of(CLUSTERS)[0])
    await bench.process().acquire(KEY, BACKUP, uid=UID)
    assert gen.present(bench.cache.get(KEY))["status"]["operationLock"]["holder"] == BACKUP.holder


async def test_each_change_of_the_holder_is_logged_and_renewals_are_not() -> None:
    bench = Bench()
    with capture_logs() as logs:
        await bench.process().acquire(KEY, BACKUP, uid=UID)
        await bench.process().renew(KEY, BACKUP, uid=UID)
        await bench.process().acquire(KEY, RESTORE, uid=UID, force=lambda lock: True)
        await bench.process().release(KEY, RESTORE.holder, uid=UID)
    event_types = [(entry["event_type"], entry["holder"], entry["lock_holder"]) for entry in logs]
    assert event_types == [
        ("operation_lock_acquired", BACKUP.holder, BACKUP.holder),
        ("operation_lock_taken_by_force", RESTORE.holder, BACKUP.holder),
        ("operation_lock_released", RESTORE.holder, RESTORE.holder),
    ]
    assert all(entry["audit"] for entry in logs)
