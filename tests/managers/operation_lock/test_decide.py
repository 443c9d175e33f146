"""managers.operation_lock.decide: which requester gets the lock, by the current lock."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_backup import Operation, OperationLock
from managers.operation_lock.decide import (
    PRECEDENCE,
    RENEWAL,
    Acquired,
    Free,
    LockConflict,
    LockRequest,
    acquire,
    check,
    first_in_line,
    release,
    renew,
)
from managers.operation_lock.holders import (
    UPGRADE_HOLDER,
    backup_holder,
    restore_holder,
    restore_in_progress,
)
from runtime.testing.clock import EPOCH as NOW

BACKUP = LockRequest("Backup", backup_holder("nightly"), "Job backup-nightly")
RESTORE = LockRequest("Restore", restore_holder("monday"), "ns/monday")
UPGRADE = LockRequest("Upgrade", UPGRADE_HOLDER, "2.5.0")


def lock_of(claim: LockRequest, epoch: int = 4) -> OperationLock:
    return OperationLock(
        operation=claim.operation,
        holder=claim.holder,
        epoch=epoch,
        message=claim.message,
        acquired_at=NOW,
        renewed_at=NOW,
    )


def acquired_lock(answer: Acquired | LockConflict | Free) -> Acquired:
    assert isinstance(answer, Acquired)
    return answer


class TestAcquiring:
    def test_a_free_lock_is_taken_with_the_next_epoch(self) -> None:
        assert acquired_lock(acquire(None, 7, BACKUP, NOW)) == Acquired(lock_of(BACKUP, 8))

    def test_the_first_lock_ever_has_epoch_1(self) -> None:
        assert acquired_lock(acquire(None, 0, BACKUP, NOW)).lock.epoch == 1

    def test_times_are_cut_to_seconds(self) -> None:
        late = NOW + timedelta(microseconds=999_999)
        assert acquired_lock(acquire(None, 0, BACKUP, late)).lock.acquired_at == NOW

    def test_our_own_lock_stays_as_it_is_whatever_its_age(self) -> None:
        later = NOW + timedelta(hours=1)
        assert acquired_lock(acquire(lock_of(BACKUP), 4, BACKUP, later)).lock == lock_of(BACKUP)

    def test_another_message_is_written_to_our_own_lock(self) -> None:
        other, later = replace(BACKUP, message="again"), NOW + timedelta(hours=1)
        lock = acquired_lock(acquire(lock_of(BACKUP), 4, other, later)).lock
        assert (lock.message, lock.renewed_at, lock.acquired_at) == ("again", later, NOW)

    @pytest.mark.parametrize("other", [UPGRADE, RESTORE])
    def test_the_lock_of_another_holder_is_refused(self, other: LockRequest) -> None:
        assert acquire(lock_of(other), 4, BACKUP, NOW) == LockConflict(lock_of(other))

    def test_another_object_of_the_same_operation_is_another_holder(self) -> None:
        second = LockRequest("Backup", backup_holder("by-hand"))
        assert acquire(lock_of(BACKUP), 4, second, NOW) == LockConflict(lock_of(BACKUP))

    @pytest.mark.parametrize("other", [UPGRADE, BACKUP])
    def test_force_overrides_the_lock_and_names_it(self, other: LockRequest) -> None:
        answer = acquired_lock(acquire(lock_of(other), 4, RESTORE, NOW, force=True))
        assert answer == Acquired(lock_of(RESTORE, 5), overridden=lock_of(other))

    def test_a_restore_is_never_overridden(self) -> None:
        second = LockRequest("Restore", restore_holder("tuesday"))
        assert acquire(lock_of(RESTORE), 4, second, NOW, force=True) == LockConflict(
            lock_of(RESTORE)
        )

    def test_force_on_our_own_lock_overrides_nothing(self) -> None:
        assert (
            acquired_lock(acquire(lock_of(RESTORE), 4, RESTORE, NOW, force=True)).overridden is None
        )

    @pytest.mark.parametrize(("lock", "known"), [(9, 4), (4, 9)])
    def test_the_epoch_never_goes_back(self, lock: int, known: int) -> None:
        answer = acquire(lock_of(BACKUP, lock), known, RESTORE, NOW, force=True)
        assert acquired_lock(answer).lock.epoch == 10

    @pytest.mark.parametrize("holder", ["", "monday"])
    def test_a_request_without_a_valid_holder_is_refused(self, holder: str) -> None:
        with pytest.raises(ValueError, match="is not a holder"):
            LockRequest("Restore", holder)


class TestChecking:
    def test_the_holder_has_it(self) -> None:
        assert check(lock_of(BACKUP), BACKUP) == Acquired(lock_of(BACKUP))

    def test_a_lock_that_is_free_or_of_another_holder_was_lost(self) -> None:
        assert check(None, BACKUP) == Free()
        assert check(lock_of(RESTORE), BACKUP) == LockConflict(lock_of(RESTORE))


class TestRenewing:
    def test_a_lost_lock_is_not_acquired_again(self) -> None:
        assert renew(None, BACKUP, NOW) == Free()
        assert renew(lock_of(RESTORE), BACKUP, NOW) == LockConflict(lock_of(RESTORE))

    def test_it_is_written_once_a_minute(self) -> None:
        soon, due = NOW + RENEWAL - timedelta(seconds=1), NOW + RENEWAL
        assert acquired_lock(renew(lock_of(BACKUP), BACKUP, soon)).lock == lock_of(BACKUP)
        assert acquired_lock(renew(lock_of(BACKUP), BACKUP, due)).lock.renewed_at == due

    def test_another_message_is_written_immediately(self) -> None:
        other = LockRequest(BACKUP.operation, BACKUP.holder, "restarting servers")
        assert (
            acquired_lock(renew(lock_of(BACKUP), other, NOW)).lock.message == "restarting servers"
        )

    def test_a_clock_that_was_set_back_does_not_stop_renewals(self) -> None:
        earlier = NOW - timedelta(days=1)
        assert acquired_lock(renew(lock_of(BACKUP), BACKUP, earlier)).lock.renewed_at == earlier


class TestReleasing:
    def test_the_holder_releases_the_lock(self) -> None:
        assert release(lock_of(BACKUP), BACKUP.holder) == Free()

    def test_another_holder_cannot_release_it(self) -> None:
        assert release(lock_of(BACKUP), RESTORE.holder) == LockConflict(lock_of(BACKUP))

    def test_a_free_lock_stays_free(self) -> None:
        assert release(None, BACKUP.holder) == Free()


# a new operation, the waiting operations, and the one with precedence
LINE: tuple[tuple[Operation, set[Operation], Operation | None], ...] = (
    ("Backup", set(), None),
    ("Backup", {"Upgrade"}, "Upgrade"),
    ("Backup", {"Upgrade", "Restore"}, "Restore"),
    ("Upgrade", {"Backup"}, None),
    ("Upgrade", {"Restore"}, "Restore"),
    ("Restore", {"Backup", "Upgrade"}, None),
)


@pytest.mark.parametrize(("operation", "waiting", "first"), LINE)
def test_restores_go_before_upgrades_and_those_before_backups(
    operation: Operation, waiting: set[Operation], first: Operation | None
) -> None:
    assert first_in_line(operation, waiting) == first


def test_the_same_operation_has_no_precedence() -> None:
    assert [first_in_line(operation, {operation}) for operation in PRECEDENCE] == [None, None, None]


@pytest.mark.parametrize(
    ("claim", "restore", "holder"),
    [
        (BACKUP, {}, ""),
        (RESTORE, {}, RESTORE.holder),
        (RESTORE, {"restore": {"name": "monday"}}, ""),
        (RESTORE, {"restore": {"name": "sunday"}}, RESTORE.holder),
        (
            RESTORE,
            {"restore": {"name": "monday", "restartCompletedAt": "2030-01-01T00:00:00Z"}},
            RESTORE.holder,
        ),
    ],
    ids=["a backup", "it loads", "it restarts servers", "of another name", "of the same name"],
)
def test_a_restore_is_in_progress_until_it_restarts_the_servers(
    claim: LockRequest, restore: dict[str, Any], holder: str
) -> None:
    status = {"operationLock": lock_of(claim).to_object(), **restore}
    assert restore_in_progress(ClusterStatus.lenient(status)) == holder


def test_the_holder_is_named_for_users() -> None:
    assert LockConflict(lock_of(RESTORE)).message == (
        "Restore of openbaorestore/monday holds the operation lock (ns/monday)"
    )
